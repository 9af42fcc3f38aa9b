"""Computes the result of each step of a chain, and which step broke first. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from gatekeeper.contract.definition import Target
from gatekeeper.contract.trial import Outcome
from gatekeeper.gate.step_result import StepResult


def step_results(target: Target, outcomes: Sequence[Outcome]) -> tuple[StepResult, ...]:
    """Return the result of each step of the target, the last prompt at the end; nothing for a
    target without steps. The outcomes are those of its arm."""
    if not target.steps:
        return ()
    names = [*(step.name for step in target.steps), None]
    passed: Counter[str | None] = Counter()
    measured: Counter[str | None] = Counter()
    broke: Counter[str | None] = Counter()
    for outcome in outcomes:
        verdicts = {name: _passed(outcome, name) for name in names}
        for name, verdict in verdicts.items():
            measured[name] += verdict is not None
            passed[name] += verdict is True
        if outcome.passed is False:
            broke.update([name for name in names if verdicts[name] is False][:1])
    return tuple(
        StepResult(
            name,
            prompt.path,
            prompt.text,
            passed[name],
            measured[name],
            broke[name],
            prompt.text_lines,
        )
        for name, prompt in zip(names, target.prompts, strict=True)
    )


def _passed(outcome: Outcome, step: str | None) -> bool | None:
    """Return whether every check of the step that gates passed; None without such a check, and if
    one could not be applied."""
    found = [j.passed for j in outcome.check_results if (j.step, j.severity) == (step, "error")]
    if not found or outcome.sample.completion is None:
        return None
    if False in found:
        return False
    return None if None in found else True
