"""A prompt whose outputs start to need repairs: a warning, or a failure if the contract says so."""

from __future__ import annotations

from typing import Any

import pytest
from support.edited_text import edited
from support.proposals import CONTRACT, MANY, NO_SLO, OTHER, PROMPT_FILE, all_say
from support.recorded_repository import PROMPT, contract_files

FENCED = "```\nok\n```"
REPAIRS = "repair: {steps: [strip_markdown_fences, strip_whitespace], max_steps: 2}\n"
EXACT = edited(NO_SLO, "{type: regex, pattern: ok}", "{type: equals, value: ok, strip: false}")
FAIL = "gate: {repairs: fail}\n"


def files(more: str = "") -> dict[str, str]:
    """Every output passes after repairs; under the new prompt each one needs a repair."""
    assert EXACT != NO_SLO
    return contract_files(EXACT + REPAIRS + more, MANY, all_say("ok", PROMPT) | all_say(FENCED))


@pytest.mark.parametrize(("more", "code"), [("", 0), (FAIL, 1)])
def test_outputs_that_start_to_need_repairs(check_of: Any, more: str, code: int) -> None:
    checked = check_of(files(more), {PROMPT_FILE: OTHER})
    assert checked.code == code
    assert ("repairs" in checked.codes()) == bool(code)
    repairs = checked.contract["repairs"]
    assert (repairs["found"], repairs["action"]) == ("worse", "fail" if code else "warn")
    head = repairs["head"]
    assert head["repaired"] == head["answered"] > 0
    assert head["steps"] == {"strip_markdown_fences": head["answered"]}
    assert [depth["pass_rate"] for depth in head["by_depth"]] == [0, 1]
    assert [depth["pass_rate"] for depth in repairs["base"]["by_depth"]] == [1, 1]
    assert "need repairs more often" in checked.comment
    assert "| at most 1 |" in checked.comment


def test_the_base_contract_still_fails_on_it_if_head_lowers_it(check_of: Any) -> None:
    head = {PROMPT_FILE: OTHER, CONTRACT: EXACT + REPAIRS}
    checked = check_of(files(FAIL), head)
    assert checked.code == 1
    assert "repairs" in checked.codes()
    assert any("gate.repairs" in weakened for weakened in checked.contract["weakened"])


@pytest.mark.parametrize(
    ("repair", "field"),
    [
        ("{steps: [lowercase_fields]}", "repair.steps"),
        ("{steps: [], lowercase_fields: [a]}", "repair.lowercase_fields"),
        ("{steps: [lowercase_fields], lowercase_fields: ['a..b']}", "repair.lowercase_fields"),
    ],
)
def test_fields_and_their_step_come_together(check_of: Any, repair: str, field: str) -> None:
    base = contract_files(EXACT + f"repair: {repair}\n", MANY, all_say("ok", PROMPT))
    checked = check_of(base, {PROMPT_FILE: OTHER})
    assert checked.code == 3
    assert field in checked.comment.replace("\\", "")
