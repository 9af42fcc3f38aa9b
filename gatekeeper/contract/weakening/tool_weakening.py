"""Finds the ways in which a pull request makes a tool loop easier to pass."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import asdict
from itertools import zip_longest
from typing import Any

from gatekeeper import numbers
from gatekeeper.contract.meaning.digests import canonical
from gatekeeper.contract.values.definition import Contract
from gatekeeper.contract.values.tools import ToolRow, offered

_SHOWN = 5


def tool_weakenings(base: Contract, head: Contract) -> Iterator[str]:
    """Yield each change of what the tools answer, and of how far the loop may go. A new row of a
    tool that base offers is one: it answers calls that failed. Rows of a new tool are none."""
    before, now = base.tools, head.tools
    if before is None or now is None:
        if before is not now:
            yield f"the tool loop was {'added' if now else 'removed'}"
        return
    names = {tool["name"] for tool in offered(base.target.params)}
    yield from _rows(before.rows, now.rows, names)
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


def tool_changes(before: Sequence[Any], now: Sequence[Any]) -> str:
    """Return which of the tools that the model is offered changed, and what of them."""
    old, new = (
        {tool["name"]: tool for tool in offered({"tools": tools})} for tools in (before, now)
    )
    changes = []
    for name in sorted({*old, *new}):
        was, is_now = old.get(name), new.get(name)
        if was is None or is_now is None:
            changes.append(f"`{name}` {'added' if was is None else 'removed'}")
        elif canonical(was) != canonical(is_now):
            keys = sorted({*was, *is_now})
            other = (key for key in keys if canonical(was.get(key)) != canonical(is_now.get(key)))
            changes.append(f"`{name}` ({', '.join(other)})")
    return numbers.some(changes, _SHOWN) or "their order"


def _rows(base: Sequence[ToolRow], head: Sequence[ToolRow], tools: Set[str]) -> Iterator[str]:
    """Yield the first row of each of the tools that differs from base's at its place."""
    for tool in dict.fromkeys(row.tool for row in (*base, *head) if row.tool in tools):
        old, new = (_written(row for row in rows if row.tool == tool) for rows in (base, head))
        pairs = enumerate(zip_longest(old, new), start=1)
        changed = next((at for at, (was, now) in pairs if was != now), None)
        if changed is not None:
            how = "removed" if len(new) < len(old) else "changed"
            how = "added" if changed > len(old) else how
            yield f"tool_results: the row {changed} of `{tool}` was {how}"


def _written(rows: Iterable[ToolRow]) -> list[str]:
    return [canonical(asdict(row)) for row in rows]  # where 1 is not true
