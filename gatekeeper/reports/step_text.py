"""Writes in words and as a table which step of a chain broke."""

from __future__ import annotations

from collections.abc import Callable

from gatekeeper import numbers
from gatekeeper.gate.results.parts import StepResult
from gatekeeper.gate.results.result import ArmResult, ContractResult
from gatekeeper.reports.escape import code

LAST = "last prompt"
"""How the last step is called, which has no name."""


def plain_step(step: StepResult) -> str:
    """Return what text without markup calls a step."""
    return f"the {LAST}" if step.name is None else f"step {step.name}"


def code_step(step: StepResult) -> str:
    """Return what Markdown calls a step."""
    return f"the {LAST}" if step.name is None else f"step {code(step.name, 40)}"


def broke_at(contract: ContractResult, named: Callable[[StepResult], str]) -> str:
    """Return at which step most of head's failed samples broke first; empty for a single prompt and
    without failures."""
    steps = contract.head.steps if contract.head else ()
    failed = sum(step.broke for step in steps)
    if not failed:
        return ""
    worst = max(steps, key=lambda step: step.broke)
    return f"broke at {named(worst)} in {worst.broke:,} of {numbers.count(failed, 'failed sample')}"


def step_table(contract: ContractResult) -> tuple[list[str], ...]:
    """Return the pass rate of each step on both arms: a row of titles, and a row for each step of
    head; nothing for a single prompt."""
    if contract.head is None or not contract.head.steps:
        return ()
    before = {step.name: step for step in contract.base.steps} if contract.base else {}
    titles = ["Step", *(["Base passes"] if contract.base else []), "Head passes", "Broke first"]
    rows = [
        [
            f"the {LAST}" if step.name is None else code(step.name, 40),
            *([_rate(before.get(step.name))] if contract.base else []),
            _rate(step),
            f"{step.broke:,}",
        ]
        for step in contract.head.steps
    ]
    return (titles, *rows)


def prompt_texts(arm: ArmResult) -> str:
    """Return the text of an arm's prompt; of a chain those of all steps, each under its name."""
    if not arm.steps:
        return arm.prompt_text
    return "\n\n".join(f"[{step.name or LAST}]\n{step.prompt_text}" for step in arm.steps)


def _rate(step: StepResult | None) -> str:
    if step is None or step.rate is None:
        return numbers.NONE
    return f"{numbers.percent(step.rate)} ({step.passed:,}/{step.samples:,})"
