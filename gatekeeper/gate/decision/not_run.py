"""Says what a foreign file asks for and gatekeeper does not do, in the result of its contract."""

from __future__ import annotations

from gatekeeper import numbers
from gatekeeper.contract.values.definition import NotRun
from gatekeeper.gate.results.result import Reason

_MOST_NAMED = 5


def not_run_reasons(not_run: tuple[NotRun, ...]) -> list[Reason]:
    """Return a note that names what is not run, with its line. It decides nothing."""
    if not not_run:
        return []
    shown = [describe_not_run(skipped) for skipped in not_run[:_MOST_NAMED]]
    hidden = len(not_run) - len(shown)
    more = [f"and {hidden:,} more"] if hidden else []
    counted = numbers.count(len(not_run), "part", "parts")
    text = f"Gatekeeper does not run {counted} of the suite: {'; '.join([*shown, *more])}."
    return [Reason("not_run", text, "pass")]


def describe_not_run(skipped: NotRun) -> str:
    """Return in a line what is not run, where it stands and why."""
    at = skipped.position
    place = f"{at.path}:{at.line}" if at.line else at.path
    return f"`{skipped.kind}` ({place}): {skipped.why.rstrip('.')}"
