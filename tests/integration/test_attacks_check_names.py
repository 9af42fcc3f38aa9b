"""Head gives a check's name to another check: objectives and messages refer to checks by name."""

from __future__ import annotations

import json

import pytest
from support.edited_text import edited
from support.proposals import CONTRACT, MANY, NO_SLO, OTHER, PROMPT_FILE, SAYS_OK, some_say
from support.recorded_repository import contract_files

NAMED = (
    NO_SLO.replace(
        f"  - {SAYS_OK}\n",
        "  - {type: regex, pattern: ok, name: strict, severity: warn}\n"
        "  - {type: length, max: 99, name: short}\n",
    )
    + "slo: {checks: {strict: 0.9}}\n"
)
SWAPPED = edited(NAMED, "name: strict", "name: x", "short", "strict", "name: x", "name: short")
RENAMED = edited(NAMED, "strict", "severe")
BASE = contract_files(NAMED, MANY, some_say("no", 40))


@pytest.mark.parametrize(
    "contract", [SWAPPED, edited(NAMED, "slo: {checks: {strict", "slo: {checks: {short")]
)
def test_an_objective_follows_its_check_and_not_the_name(run_gate, contract):
    answered = run_gate(BASE, {PROMPT_FILE: OTHER, CONTRACT: contract})
    assert (answered.exit_code, answered.reasons()) == (1, {"slo"})
    assert "slo.checks.strict" in answered.text


def test_swapped_names_alone_are_a_weakening(run_gate):
    answered = run_gate(BASE, {CONTRACT: SWAPPED}, policy="on_weakening: require_waiver\n")
    assert answered.exit_code == 1
    assert "slo.checks.strict now refers to another check" in answered.text


def test_a_renamed_check_with_its_objective_is_harmless(run_gate):
    base = contract_files(NAMED, MANY, some_say("no", 0))
    policy = "on_weakening: require_waiver\n"
    answered = run_gate(base, {CONTRACT: RENAMED, PROMPT_FILE: OTHER}, policy=policy)
    assert (answered.exit_code, answered.verdict) == (0, "pass")


# Two checks of one name on a fixture: what the one found could be taken for what the other found.

FOO = {"type": "regex", "pattern": "ok", "name": "foo", "must_pass": True}
LONG = "  - {type: length, max: 99}\n"
OWN_CHECK = edited(NO_SLO, "words.csv", "w.jsonl", f"  - {SAYS_OK}\n", LONG)
ROWS = "".join(
    json.dumps({"id": w, "vars": {"word": w}, "checks": [] if i else [FOO]}) + "\n"
    for i, w in enumerate(MANY)
)
TAKEN = (
    "  - {type: length, max: 98, name: foo}\n"
    "  - {type: length, max: 97, name: foo (of the fixture)}\n"
)


def test_a_check_that_must_pass_is_not_hidden_by_one_of_its_name(run_gate):
    base = contract_files(OWN_CHECK, MANY, some_say("no", 1)) | {"contracts/w.jsonl": ROWS}
    assert run_gate(base, {PROMPT_FILE: OTHER}).reasons() == {"must_pass"}
    head = {PROMPT_FILE: OTHER, CONTRACT: OWN_CHECK.replace(LONG, LONG + TAKEN)}
    answered = run_gate(base, head)
    assert answered.exit_code == 2
    assert (
        "two checks that apply to the fixture `word0` are named `foo (of the fixture)`"
        in answered.text
    )


def test_the_policys_name_is_no_contracts(run_gate):
    base = contract_files(NO_SLO, MANY, some_say("no", 0))
    for name in ("gatekeeper-policy", "Gatekeeper-Policy"):
        answered = run_gate(base, {CONTRACT: edited(NO_SLO, "name: words", f"name: {name}")})
        assert answered.exit_code == 2
        assert "reserved for the policy" in answered.text
