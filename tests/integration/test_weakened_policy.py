"""A pull request that weakens the policy, or a contract, is named; the base policy may ask for a
person's word."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from support.proposals import CONTRACT, FIXTURES, MANY, NO_SLO, PROMPT_FILE, all_say
from support.recorded_repository import contract_files

from gatekeeper.contract.policies.policy import Policy
from gatekeeper.contract.values.definition import POLICY_NAME
from gatekeeper.contract.weakening.policy_weakening import Weakening
from gatekeeper.gate.decision.verdict import waived, weakened_policy
from gatekeeper.gate.results.result import Waiver

POLICY = ".github/gatekeeper.yml"
BASE = contract_files(NO_SLO, MANY, all_say("ok"))
ASKS = "on_weakening: require_waiver\n"
HEAD = {POLICY: ASKS + "limits: {calls: 5000}\n"}


def test_a_weakened_policy_is_named(run_gate: Any) -> None:
    answered = run_gate(BASE, {POLICY: "limits: {calls: 5000}\n"}, policy="{}\n")
    assert (answered.exit_code, answered.verdict) == (0, "pass")
    assert [found["key"] for found in answered.result["policy_weakened"]] == ["limits.calls"]
    assert "limits.calls" in answered.text


def test_the_base_policy_may_ask_for_a_waiver(run_gate: Any) -> None:
    answered = run_gate(BASE, HEAD, policy=ASKS)
    assert (answered.exit_code, answered.verdict) == (1, "fail")
    assert answered.reasons() == {"policy_weakened"}
    assert POLICY_NAME in answered.text


@pytest.mark.parametrize(
    "looser",
    [
        {CONTRACT: NO_SLO + "gate: {margin: 0.2}\n"},
        {FIXTURES: "id,word\n" + "".join(f"{w},{w}\n" for w in MANY[1:])},
        {CONTRACT: NO_SLO + "gate: {margin: 0.2}\n", PROMPT_FILE: "Please say {{ word }}.\n"},
    ],
)
def test_a_weakening_may_need_one_too(check_of: Any, looser: dict[str, str]) -> None:
    """Weaken first, break after: the first of the two does not pass unseen."""
    assert check_of(BASE | {POLICY: ASKS}, looser).codes() == {"weakened"}


def test_neither_a_tighter_policy_nor_a_tighter_contract_does(check_of: Any) -> None:
    head = {
        POLICY: ASKS + "limits: {calls: 1000}\n",
        CONTRACT: NO_SLO + "gate: {margin: 0.01}\n",
    }
    checked = check_of(BASE | {POLICY: ASKS}, head)
    assert (checked.code, checked.codes(), checked.result["policy_weakened"]) == (0, set(), [])


def test_head_cannot_turn_it_off_for_itself(check_of: Any) -> None:
    checked = check_of(BASE | {POLICY: ASKS}, {POLICY: "limits: {calls: 5000}\n"})
    assert checked.code == 1
    keys = {found["key"] for found in checked.result["policy_weakened"]}
    assert keys == {"on_weakening", "limits.calls"}


def test_a_person_can_waive_it() -> None:
    asks = Policy(on_weakening="require_waiver")
    [found] = weakened_policy((Weakening("limits.calls", "raised"),), asks)
    assert found.verdict == "fail"
    time = datetime(2026, 1, 1, tzinfo=UTC).isoformat()
    waiver = Waiver(POLICY_NAME, "waive", "ann", "a" * 40, "a bigger suite", time)
    assert waived(found, (waiver,)).verdict == "pass"
    other = Waiver("words", "waive", "ann", "a" * 40, "not this", time)
    assert waived(found, (other,)).verdict == "fail"
