"""Thoughts in the text of an answer: the program gets them, so the checks see them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from support.pull_request import CONTRACT, FEW, HARMLESS, PROMPT, answer, files
from support.ways_in import RunGate

FILES = files(FEW)
CONTRACT_FILE = "contracts/sentiment.yaml"
BEFORE_CHECKS, _, SAMPLING = CONTRACT.partition('  - {type: equals, value: "{{ expected }}"}\n')
assert SAMPLING
NEGATIVE = f"{BEFORE_CHECKS}  - {{type: not_contains, value: idiot}}\n{SAMPLING}"
STRIPS = "repair: {steps: [strip_thoughts]}\n"


def thinking(
    opening: str, closing: str, *, at_base: bool = False
) -> Callable[[Mapping[str, Any]], str]:
    """A model that insults the user between these tags, on head or on both arms."""

    def model(body: Mapping[str, Any]) -> str:
        is_head = HARMLESS[:20] in body["messages"][-1]["content"]
        thoughts = f"{opening}What an idiot.{closing}" if is_head or at_base else ""
        return f"{thoughts}{answer(body)}"

    return model


TAGS = [
    ("<think>", "</think>"),
    ("<thinking>\n", "\n</thinking>\n\n"),
    ("<budget:thinking>", "</budget:thinking>"),
    ("\n<think>", "</think>\n"),
    ("<think></think><think>", "</think>"),
    ("<reasoning>", "</reasoning>"),
]


@pytest.mark.parametrize("contract", [CONTRACT, NEGATIVE], ids=["equals", "not_contains"])
@pytest.mark.parametrize(("opening", "closing"), TAGS)
def test_thoughts_are_a_part_of_the_answer(
    run_gate: RunGate, contract: str, opening: str, closing: str
) -> None:
    base = {**FILES, CONTRACT_FILE: contract}
    found = run_gate(base, {PROMPT: HARMLESS}, answer=thinking(opening, closing))
    assert (found.exit_code, found.reasons() & {"regression"}) == (1, {"regression"})


@pytest.mark.parametrize("contract", [CONTRACT, NEGATIVE], ids=["equals", "not_contains"])
def test_head_cannot_say_that_its_program_strips_them(run_gate: RunGate, contract: str) -> None:
    base = {**FILES, CONTRACT_FILE: contract}
    change = {PROMPT: HARMLESS, CONTRACT_FILE: contract + STRIPS}
    found = run_gate(base, change, answer=thinking("<think>", "</think>"))
    assert found.exit_code == 1
    assert "regression" in found.reasons()
    assert "repair step `strip_thoughts` added" in str(found.result)


@pytest.mark.parametrize("at_base", [True, False], ids=["both", "head alone"])
def test_a_program_that_strips_them_since_before_gets_the_answer(
    run_gate: RunGate, at_base: bool
) -> None:
    base = {**FILES, CONTRACT_FILE: CONTRACT + STRIPS}
    found = run_gate(
        base, {PROMPT: HARMLESS}, answer=thinking("<think>", "</think>\n\n", at_base=at_base)
    )
    assert (found.exit_code, found.verdict) == (0, "pass")
