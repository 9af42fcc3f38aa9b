"""The policy file, its defaults and its faults."""

from __future__ import annotations

import subprocess
import sys
from typing import ClassVar

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatekeeper.contract.meaning.schemas import policy_schema
from gatekeeper.contract.policies.policy import (
    POLICY_PATH,
    Allow,
    BudgetPolicy,
    Limits,
    NewContracts,
    Policy,
    WaiverPolicy,
    load_policy,
)
from gatekeeper.contract.syntax.schema import conforms
from gatekeeper.contract.values.change import Entry, MemoryRevision
from gatekeeper.errors import ContractError


def load(text: str) -> Policy:
    return load_policy(MemoryRevision({POLICY_PATH: text.encode()}))


def test_no_file_and_an_empty_one_mean_the_defaults() -> None:
    assert load_policy(MemoryRevision({})) == load("# nothing\n") == load("{}") == Policy()


def test_every_key_is_read() -> None:
    policy = load(
        "contracts: c/*.yml\nprompts: [a/**, b]\nrequire_contract: true\non_inconclusive: fail\n"
        "allow: {contract_removal: true, weakening: true}\n"
        "new_contracts: {fixtures: 20.0, success_rate: 0.9}\n"
        "limits: {cost_usd: null, calls: 5.0, minutes: 1, concurrency: 2, requests_per_minute: 9}\n"
        "providers: {openai: litellm, anthropic: native}\n"
        "error_budget: {freeze: false, exempt: [a-*], burn_rate: {7d: 2}}\n"
        "waivers: {permission: admin}\nhistory: branch:h\n"
    )
    assert policy == Policy(
        contracts=("c/*.yml",),
        prompts=("a/**", "b"),
        require_contract=True,
        on_inconclusive="fail",
        allow=Allow(contract_removal=True, weakening=True),
        new_contracts=NewContracts(20, 0.9, floor=True),
        through_litellm=("openai",),
        limits=Limits(None, 5, 1, 2, 9),
        error_budget=BudgetPolicy(False, ("a-*",), {"1d": 2.8, "7d": 2, "window": 1.0}),
        waivers=WaiverPolicy("admin"),
        history="branch:h",
    )
    assert isinstance(policy.limits.calls, int)


@pytest.mark.parametrize("text", ["off", "false", "'off'"])
def test_the_history_can_be_turned_off(text: str) -> None:
    assert load(f"history: {text}\n").history == "off"


@pytest.mark.parametrize(
    ("text", "place", "what"),
    [
        ("limit: {}", "1:1: limit", "did you mean `limits`?"),
        ("require_contract: yes", "1:19: require_contract", '"yes" is not true or false'),
        ("a: 1\nlimits:\n  cost: 1\n", "1:1: a", "unknown key"),
        ("limits:\n  cost_usd: -1\n", "2:13: limits.cost_usd", "not at least 0"),
        ("new_contracts: {success_rate: 90}", "1:31: new_contracts.success_rate", "at most 1"),
        ("new_contracts: {fixtures: -1}", "1:27: new_contracts.fixtures", "not at least 0"),
        ("limits: {minutes: 0}", "1:19: limits.minutes", "not more than 0"),
        ("limits: {concurrency: 1.5}", "1:23: limits.concurrency", "whole number"),
        ("providers: {opena: litellm}", "1:13: providers.opena", "did you mean `openai`?"),
        ("providers: {openai: http}", "1:21: providers.openai", "not one of native, litellm"),
        ("providers: [openai]", "1:12: providers", "is not a mapping"),
        ("prompts: a", "1:10: prompts", "is not a list"),
        ("contracts: ''", "1:12: contracts", "is empty"),
        ("waivers: {permission: root}", "1:23: waivers.permission", "not one of read"),
        ("- a", "1:1:", "is not a mapping"),
        ("a: [", "2:1:", "not YAML"),
    ],
)
def test_faults_have_a_place(text: str, place: str, what: str) -> None:
    with pytest.raises(ContractError) as caught:
        load(text)
    assert str(caught.value).startswith(f"{POLICY_PATH}:{place}")
    assert what in str(caught.value)


def test_a_policy_that_is_no_text() -> None:
    class Link(MemoryRevision):
        entries: ClassVar = {POLICY_PATH: Entry("1", "symlink")}  # type: ignore[assignment]

    with pytest.raises(ContractError, match="symbolic link"):
        load_policy(Link({}))


def test_a_sound_policy_is_read_without_jsonschema() -> None:
    code = (
        "import sys; from gatekeeper.contract.values.change import MemoryRevision as M;"
        "from gatekeeper.contract.policies.policy import *;"
        "load_policy(M({POLICY_PATH: b'limits: {calls: 5}'}));"
        "sys.exit('jsonschema' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


VALUE = (
    st.none()
    | st.booleans()
    | st.integers(-2, 3)
    | st.floats(-1, 2)
    | st.sampled_from(["", "pass", "read"])
    | st.lists(st.sampled_from(["a", "", 1]), max_size=2)
)
SECTIONS = {
    name: st.dictionaries(st.sampled_from([*part.get("properties", {}), "zz"]), VALUE, max_size=2)
    for name, part in policy_schema()["properties"].items()
}


@given(
    st.fixed_dictionaries({}, optional={name: VALUE | part for name, part in SECTIONS.items()})
    | VALUE
)
def test_our_reading_of_the_schema_is_that_of_jsonschema(data: object) -> None:
    assert conforms(data, policy_schema()) == jsonschema.Draft202012Validator(
        policy_schema()
    ).is_valid(data)
