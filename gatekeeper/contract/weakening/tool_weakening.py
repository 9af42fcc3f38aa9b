"""Finds the ways in which a pull request makes a tool loop easier to pass."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict

from gatekeeper.contract.meaning.digests import canonical
from gatekeeper.contract.values.definition import Contract
from gatekeeper.contract.values.tools import ToolRow


def tool_weakenings(base: Contract, head: Contract) -> Iterator[str]:
    """Yield each change of what the tools answer, and of how far the loop may go. New rows after
    all rows of their tool are none: they answer calls that nothing answered."""
    before, now = base.tools, head.tools
    if before is None or now is None:
        if before is not now:
            yield f"the tool loop was {'added' if now else 'removed'}"
        return
    yield from _rows("tool_results", before.rows, now.rows)
    kept = {fixture.id: fixture for fixture in head.fixtures}
    for fixture in base.fixtures:
        other = kept.get(fixture.id)
        if other is None:
            continue
        # A fixture's rows come before the contract's, so a new one can replace the contract's.
        if _written(fixture.tool_results) != _written(other.tool_results):
            yield f"fixture `{fixture.id}`: `tool_results` changed"
        if canonical(fixture.state) != canonical(other.state):
            yield f"fixture `{fixture.id}`: `state` changed"
    if now.max_steps > before.max_steps:
        yield f"max_steps raised from {before.max_steps} to {now.max_steps}"
    if now.unanswered not in ("fail", before.unanswered):
        yield f"unanswered changed from {before.unanswered} to {now.unanswered}"
    if before.simulator != now.simulator and now.unanswered == "simulate":
        yield "simulator changed"


def _rows(what: str, base: Sequence[ToolRow], head: Sequence[ToolRow]) -> Iterator[str]:
    """Yield the first row of each tool that head does not have at its place."""
    for tool in dict.fromkeys(row.tool for row in base):
        old, new = (_written([row for row in rows if row.tool == tool]) for rows in (base, head))
        changed = next((at for at, row in enumerate(old) if row not in new[at : at + 1]), None)
        if changed is not None:
            how = "changed" if len(new) >= len(old) else "removed"
            yield f"{what}: the row {changed + 1} of `{tool}` was {how}"


def _written(rows: Sequence[ToolRow]) -> list[str]:
    return [canonical(asdict(row)) for row in rows]  # where 1 is not true
