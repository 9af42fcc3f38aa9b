"""Says what a pull request changes about how a contract's prompts are read and sent."""

from __future__ import annotations

from collections.abc import Sequence

from gatekeeper.contract.definition import Contract
from gatekeeper.contract.readings import computed_changes, reading_changes
from gatekeeper.contract.trial import ContractFrom
from gatekeeper.contract.weakening import setting_changes
from gatekeeper.errors import Problem
from gatekeeper.gate.as_sent import mode_notices


def plan_notices(
    base: Contract | None,
    head: Contract,
    others: Sequence[ContractFrom],
    problem: Problem | None,
) -> tuple[str, ...]:
    """Return the notices about a contract that runs. `others` are its evaluations besides that by
    head's contract, `problem` is why the base contract cannot be applied."""
    notices = [*mode_notices(head)]
    changes = setting_changes(base, head) if base else ()
    if changes:
        text = f"The contract changes the settings of the model's calls: {'; '.join(changes)}."
        if "base_settings" in others:
            text += " The new prompt is also tested with the settings of the base contract."
        notices.append(text)
    reads_twice = "base_settings" in others or "base_reading" in others
    if base and reads_twice and base.template == head.template:
        notices += reading_changes(base.target, head.target)
    if base:
        notices += (f"{change}." for change in computed_changes(base.target, head.target))
    if problem is not None:
        notices.append(f"The base contract cannot be applied: {problem}")
    return tuple(notices)
