"""result.json: what other programs rely on."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from support import early_results as early_examples
from support import results as examples

from gatekeeper.gate.results.parts import FixtureFailure
from gatekeeper.gate.results.result import UnderBase
from gatekeeper.reports.formats.result_json import (
    encode,
    render_result,
    result_document,
    result_schema,
)
from gatekeeper.stats.interval import ConfidenceInterval

CALLS = {
    "made": 400,
    "cached": 0,
    "saved": 120,
    "failed": 0,
    "surplus": 0,
    "unrecorded": 0,
    "throttled": 0,
    "prompt_tokens": None,
    "completion_tokens": None,
    "cached_tokens": None,
    "cache_write_tokens": None,
    "reasoning_tokens": None,
    "judge": None,
    "user": None,
}


def _problems(document: Any) -> list[str]:
    return [error.message for error in Draft202012Validator(result_schema()).iter_errors(document)]


def test_the_schema_is_one() -> None:
    Draft202012Validator.check_schema(result_schema())


@pytest.mark.parametrize(
    "name", [name for name in early_examples.EVERY if name not in ("many", "huge")]
)
def test_every_result_is_valid(name: str) -> None:
    assert _problems(json.loads(render_result(early_examples.EVERY[name]))) == []


def test_the_promised_keys() -> None:
    document = result_document(examples.FAIL)
    assert document["schema"] == 1
    assert document["verdict"] == "fail"
    assert document["exit_code"] == 1
    assert document["base"] == {"sha": examples.FAIL.base_sha}
    assert document["calls"] == CALLS
    contract = document["contracts"][0]
    assert contract["reasons"][0]["code"] == "regression"
    assert contract["affected_by"] == [{"path": "prompts/speech-tag.prompty", "change": "modified"}]
    assert contract["head"]["fixtures_passed"] == 30
    assert contract["paired"]["broke"] == 9
    assert contract["slo"][0]["met"] is False
    assert contract["error_budget"]["projected_burn_rate"] == [3.1, 6.8]
    fixture = contract["fixtures"][0]
    assert (fixture["base"], fixture["head"], fixture["change"]) == ("5/5", "1/5", "broke")
    assert fixture["failures"][0]["check"] == "is a tag"


def test_the_statistics_beside_the_verdict() -> None:
    contract = result_document(early_examples.EARLY)["contracts"][0]
    head, paired = contract["head"], contract["paired"]
    assert head["intervals"] == {"wilson": [0.0, 0.299], "jeffreys": [0.0, 0.217]}
    assert head["latency_interval"] == [640.0, 1210.5]
    assert head["cost_interval"] == [0.00002, 0.000023]
    assert (paired["rounds"], paired["unmeasured"], paired["unknown"]) == (0, 0, 91)
    assert (paired["planned_rounds"], paired["margin"]) == (1, 0.05)
    assert (paired["fixtures_needed"], paired["adjusted_p_value"]) == (134, 0.004)
    assert paired["intervals"] == {"newcombe": [-1.0, -0.55], "bootstrap_fixtures": None}
    assert paired["alternative_methods"]["mcnemar_exact"] == 0.002
    assert paired["latency_difference_ms"] == {"value": 310.4, "interval": [120.0, 505.0]}
    assert paired["cost_difference_usd"] == {"value": 0.000004, "interval": None}
    assert _problems(result_document(early_examples.EARLY)) == []


def test_what_the_base_contract_found_is_there_too() -> None:
    contract = early_examples.early_contract()
    assert contract.head
    found = UnderBase(contract.base, contract.head, contract.paired, contract.slo, ())
    document = result_document(examples.result(replace(contract, under_base=found)))
    assert document["contracts"][0]["under_base"]["paired"]["rounds"] == 0
    assert _problems(document) == []


def test_an_output_is_stored_once_however_many_checks_fail_on_it() -> None:
    fixture = examples.fixture(0, "broke")
    long, other = "A wordy answer. " * 50, "Another answer."
    said = [("is a tag", long), ("is short", long), ("is a tag", long), ("is a tag", other)]
    failures = tuple(FixtureFailure("head", check, "no", text) for check, text in said)
    warnings = (FixtureFailure("head", "is polite", "no thanks", long),)
    fixture = replace(fixture, head_output=long, failures=failures, warnings=warnings)
    contract = replace(examples.failing_contract(), fixtures=(fixture,))
    document = result_document(examples.result(contract))
    (found,) = document["contracts"][0]["fixtures"]
    assert found["outputs"] == {"base": ["NN"], "head": [long, other]}
    assert [(f["check"], f["output"], f["samples"]) for f in found["failures"]] == [
        ("is a tag", 0, 2),
        ("is short", 0, 1),
        ("is a tag", 1, 1),
    ]
    assert found["warnings"][0]["output"] == 0
    assert render_result(examples.result(contract)).count(long) == 1
    assert _problems(document) == []


def test_what_is_not_known_is_null() -> None:
    document = result_document(examples.REMOVED)
    contract = document["contracts"][0]
    assert [contract[key] for key in ("base", "head", "paired", "error_budget")] == [None] * 4
    lost = result_document(examples.ERROR)["contracts"][0]["fixtures"][0]
    assert lost["head"] is None
    assert lost["change"] is None
    assert result_document(examples.RUN)["base"] == {"sha": None}


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_no_number_is_other_than_a_number(number: float) -> None:
    contract = examples.failing_contract()
    assert contract.error_budget
    contract = replace(
        contract,
        head=examples.arm(30, 40, success_rate=number, interval=ConfidenceInterval(0, number)),
        error_budget=replace(
            contract.error_budget, burn_rate={"1d": number}, projected_burn_rate=(0.1, number)
        ),
    )
    document = result_document(replace(examples.result(contract), cost_usd=number))
    assert document["cost_usd"] is None
    shown = document["contracts"][0]
    assert shown["head"]["success_rate"] is None
    assert shown["head"]["interval"] is None
    assert shown["error_budget"]["burn_rate"] == {"1d": None}
    assert shown["error_budget"]["projected_burn_rate"] is None
    assert _problems(document) == []


def test_a_time_always_has_a_zone() -> None:
    naive = replace(examples.PASS, started=examples.PASS.started.replace(tzinfo=None))
    started = datetime.fromisoformat(result_document(naive)["started"])
    assert started == examples.PASS.started


@pytest.mark.parametrize(
    "spoil",
    [
        {"verdict": "maybe"},
        {"exit_code": 7},
        {"schema": 2},
        {"calls": {**CALLS, "made": -1}},
        {"cost_usd": "free"},
        {"head": {}},
        {"contracts": [{}]},
    ],
)
def test_the_schema_is_strict_enough(spoil: dict[str, Any]) -> None:
    assert _problems({**result_document(examples.FAIL), **spoil})


def test_every_key_is_required_and_described() -> None:
    document = result_document(examples.FAIL)
    for key in document:
        assert _problems({k: v for k, v in document.items() if k != key}), key
    schema = result_schema()
    assert set(document) == set(schema["properties"])
    properties = set(schema["$defs"]["contract"]["properties"])
    assert set(document["contracts"][0]) == properties - {"folder"}
    project = replace(examples.FAIL.contracts[0], folder="services/mail")
    own = result_document(replace(examples.FAIL, contracts=(project,)))
    assert set(own["contracts"][0]) == properties
    assert not _problems(own)
    for part in ("paired", "head"):
        shown = document["contracts"][0][part]
        definition = schema["$defs"]["arm" if part == "head" else part]
        assert set(shown) == set(definition["properties"]) == set(definition["required"])
    fixture = document["contracts"][0]["fixtures"][0]
    assert set(fixture) == set(schema["$defs"]["fixture"]["properties"])


@given(st.text())
def test_any_text_survives_on_one_line(text: str) -> None:
    line = encode({"output": text})
    assert json.loads(line) == {"output": text}
    assert len(line.splitlines()) == 1
    line.encode()


def test_half_a_surrogate_pair_is_escaped() -> None:
    assert encode("ä\ud800") == '"\\u00e4\\ud800"'
    assert encode("ä") == '"ä"'
