"""Answers the calls of a model's answer by the rows of a contract."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from gatekeeper.contract.meaning.digests import rows_digest
from gatekeeper.contract.syntax.json_positions import STRICT
from gatekeeper.contract.tools.matching import Row, RowFault, find_answer, is_simple
from gatekeeper.contract.values.definition import Fixture, ToolCall
from gatekeeper.contract.values.kept_results import kept_by_identity
from gatekeeper.contract.values.tools import ToolRow, Tools
from gatekeeper.contract.values.trial import ToolResult
from gatekeeper.errors import CallFailed
from gatekeeper.sandbox.frames import FrameError
from gatekeeper.sandbox.process import Answers, LimitedProcess, Limits

_CHILD = LimitedProcess(
    "gatekeeper.contract.tools.worker:answer",
    ("jinja2", "markupsafe", "jsonpath", "regex", "jsonschema", "referencing"),
    Limits(cpu=2, wall=12),
)
_OVERRUNS_ALLOWED = 3
"""How often the rows of a contract may exceed the child's limits: each holds up the whole run."""
_overruns: defaultdict[str, list[str]] = defaultdict(list)


def tools_for(contract: Tools | None, fixture: Fixture) -> Tools | None:
    """Return the tool loop of a fixture: its own rows come first."""
    if contract is None:
        return None
    rows = (*fixture.tool_results, *contract.rows) if fixture.tool_results else contract.rows
    return replace(contract, rows=rows, state=fixture.state, variables=fixture.vars)


class Toolbox:
    """The tools of one trajectory: their state, and how often each row has answered."""

    def __init__(self, tools: Tools) -> None:
        self._tools = tools
        self.state = tools.state
        self._counts: Counter[tuple[str, int]] = Counter()
        self.changed: str | None = None
        """The state as JSON, if the last call changed it."""

    def is_quick(self, call: ToolCall) -> bool:
        """Return whether no child is needed to answer a call."""
        return _rows_of(self._tools.rows, call.name)[1]

    def answer(self, call: ToolCall) -> ToolResult | None:
        """Return what the tool answers; None if no row matches. Raises CallFailed for a row that
        cannot answer, and for rows that take too long."""
        self.changed = None
        args = read_arguments(call)
        if args is None:
            what = f"the arguments of {call.name[:100]} are not a JSON object"
            return ToolResult(what, is_error=True, source="none").marked()
        rows, simple = _rows_of(self._tools.rows, call.name)
        asked = {
            "args": args,
            "state": self.state,
            "variables": self._tools.variables,
            "counts": {str(at): n for (tool, at), n in self._counts.items() if tool == call.name},
        }
        try:
            found = find_answer(rows, asked) if simple else self._ask_child(rows, asked)
        except RowFault as fault:
            raise CallFailed(str(fault)) from None
        if not found:
            return None
        self._counts[call.name, found["row"]] += 1
        if "state" in found:
            self.changed = found["state"]
            self.state = json.loads(found["state"])
        return ToolResult(found["text"], found["is_error"], "row", found["delay_ms"]).marked()

    def _ask_child(self, rows: Sequence[Row], asked: Mapping[str, Any]) -> dict[str, Any]:
        key = rows_digest(self._tools.rows)
        if len(_overruns[key]) >= _OVERRUNS_ALLOWED:
            raise RowFault(_overruns[key][0])
        try:
            answers: Answers = _CHILD.ask({"rows": rows, "asked": asked})
        except FrameError as error:
            raise RowFault(f"the rows of `tool_results` cannot be used: {error}") from None
        if answers.overrun is not None:
            _overruns[key].append(f"the rows of `tool_results`: {answers.overrun}")
            raise RowFault(_overruns[key][-1])
        found: dict[str, Any] = answers.responses[0]
        if "fault" in found:
            _overruns[key] += [found["fault"]] if found["is_slow"] else []
            raise RowFault(found["fault"])
        return found


def read_arguments(call: ToolCall) -> dict[str, Any] | None:
    """Return the arguments of a call; None if they are no JSON object. Some providers write nothing
    if there are none."""
    try:
        args = STRICT.decode(call.arguments.strip() or "{}")
    except (ValueError, RecursionError):
        return None
    return args if isinstance(args, dict) else None


@kept_by_identity
def _by_tool(rows: tuple[ToolRow, ...]) -> dict[str, tuple[list[Row], bool]]:
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row.tool, []).append(asdict(row))
    return {tool: (each, all(map(is_simple, each))) for tool, each in found.items()}


def _rows_of(rows: tuple[ToolRow, ...], tool: str) -> tuple[list[Row], bool]:
    return _by_tool(rows).get(tool, ([], True))


def faults_in(rows: Sequence[ToolRow]) -> Sequence[tuple[int, str]]:
    """Return what is wrong with the conditions, templates and patches of rows, each with its index.
    Rows that need no child are sound."""
    written = [asdict(row) for row in rows]
    if all(map(is_simple, written)):
        return []
    try:
        answers = _CHILD.ask({"rows": written})
    except FrameError as error:
        return [(0, str(error))]
    return [(0, answers.overrun)] if answers.overrun else answers.responses[0]
