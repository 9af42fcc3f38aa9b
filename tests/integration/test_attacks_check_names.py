"""Head gives a check's name to another check: objectives and messages refer to checks by name."""

from __future__ import annotations

import pytest
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
SWAPPED = (
    NAMED.replace("name: strict", "name: x")
    .replace("short", "strict")
    .replace("name: x", "name: short")
)
RENAMED = NAMED.replace("strict", "severe")
BASE = contract_files(NAMED, MANY, some_say("no", 40))


@pytest.mark.parametrize(
    "contract", [SWAPPED, NAMED.replace("slo: {checks: {strict", "slo: {checks: {short")]
)
def test_an_objective_follows_its_check_and_not_the_name(judged, contract):
    answered = judged(BASE, {PROMPT_FILE: OTHER, CONTRACT: contract})
    assert (answered.exit_code, answered.reasons()) == (1, {"slo"})
    assert "slo.checks.strict" in answered.text


def test_swapped_names_alone_are_a_weakening(judged):
    answered = judged(BASE, {CONTRACT: SWAPPED}, policy="on_loosening: require_waiver\n")
    assert answered.exit_code == 1
    assert "slo.checks.strict now refers to another check" in answered.text


def test_a_renamed_check_with_its_objective_is_harmless(judged):
    base = contract_files(NAMED, MANY, some_say("no", 0))
    policy = "on_loosening: require_waiver\n"
    answered = judged(base, {CONTRACT: RENAMED, PROMPT_FILE: OTHER}, policy=policy)
    assert (answered.exit_code, answered.verdict) == (0, "pass")
