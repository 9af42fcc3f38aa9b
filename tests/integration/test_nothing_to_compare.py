"""A change that leaves every request as it was: the report says so, once, and nothing false."""

from __future__ import annotations

from typing import Any

import pytest
from support.edited_text import edited
from support.proposals import MANY, NO_SLO
from support.recorded_repository import contract_files

CONTRACT_FILE = "contracts/words.yaml"
LENGTH = "checks:\n  - {type: length, max: 99}\n"
STRICT = edited(NO_SLO, "checks:\n", LENGTH) + "gate: {margin: 0.02}\n"
SAME = "every request is the same as before"


@pytest.mark.parametrize(
    "head",
    [
        pytest.param(edited(STRICT, "0.02", "0.2"), id="a larger margin"),
        pytest.param(edited(STRICT, "max: 99}", "max: 99, severity: warn}"), id="a severity"),
    ],
)
def test_the_same_requests_are_no_missing_base_version(check_of: Any, head: str) -> None:
    assert head != STRICT
    found = check_of(contract_files(STRICT, MANY), {CONTRACT_FILE: head})
    open_reasons = [r for r in found.contract["reasons"] if r["verdict"] == "inconclusive"]
    assert (found.code, found.contract["weakened"] != []) == (0, True)
    assert [r["code"] for r in open_reasons] == ["unseen"]
    assert SAME in open_reasons[0]["text"]
    assert not any("no base version" in r["text"] for r in found.contract["reasons"])


def test_a_contract_that_left_its_prompt_for_a_copy_has_a_base_version(check_of: Any) -> None:
    moved = {
        CONTRACT_FILE: edited(NO_SLO, "words.txt", "copy.txt"),
        "prompts/copy.txt": "Say {{ word }}.\n",
    }
    found = check_of(contract_files(NO_SLO, MANY), moved)
    texts = {r["code"]: r["text"] for r in found.contract["reasons"]}
    assert found.contract["verdict"] == "fail"
    assert "no longer tests prompts/words.txt" in texts["removed"]
    assert SAME in texts["unseen"]


def test_an_objective_of_head_alone_leaves_the_base_contract_without_any(check_of: Any) -> None:
    """What the base contract cannot say is then not said of head's contract, so it is named."""
    head = edited(STRICT, "0.02", "0.2") + "slo: {success_rate: 0.5}\n"
    found = check_of(contract_files(STRICT, MANY), {CONTRACT_FILE: head})
    unseen = [r for r in found.contract["reasons"] if r["code"] == "unseen"]
    assert [(r["contract_from"], SAME in r["text"]) for r in unseen] == [("base", True)]
