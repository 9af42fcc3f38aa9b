"""Reads `tools`, `tool_results` and the other keys of a tool loop, of a contract and its files."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from gatekeeper.contract.fixtures.fixtures import read_rows
from gatekeeper.contract.models.params import setting_fault, value_fault
from gatekeeper.contract.reading.read import UnreadableError, locate, read_text
from gatekeeper.contract.syntax.schema import whole
from gatekeeper.contract.syntax.schema_errors import nearest
from gatekeeper.contract.syntax.yaml_positions import Document, KeyPath, Row, parse
from gatekeeper.contract.tools.matching import MOST_STATE
from gatekeeper.contract.tools.rows import MOST_ROWS, rows_of
from gatekeeper.contract.values.change import Revision
from gatekeeper.contract.values.definition import Fixture, Target
from gatekeeper.contract.values.tools import Simulator, Tools, as_function, offered
from gatekeeper.errors import ContractError, Problem

MOST_TOOLS = 500
LOOP_KEYS = ("tools", "tool_results", "unanswered", "simulator", "max_steps")
_CELLS = ("when", "then", "sets", "delay_ms")
"""The columns of a CSV file of rows that hold JSON."""
_NOT_SENT = frozenset({"tools", "tool_choice", "parallel_tool_calls", "n", "stop"})

_SCHEMAS = ("inputSchema", "input_schema", "parameters")
"""What MCP, Anthropic and OpenAI call the schema of a tool's arguments."""

Parts = Iterator[Row]
Problems = list[Problem]


def tool_files(value: Any, path: str) -> list[str]:
    """Return the files that a value of `tools` or `tool_results` names. Raises UnreadableError."""
    items = value if isinstance(value, list) else [value]
    return [locate(item, path) for item in items if isinstance(item, str)]


def _parts(
    revision: Revision,
    document: Document,
    name: str,
    read: Callable[[str, str], Parts],
    out: Problems,
) -> Parts:
    """Yield each item of a key, and in place of a path the items of the file."""
    written = document.data.get(name)
    items = written if isinstance(written, list) else [written]
    for at, item in enumerate(items):
        key: KeyPath = (name, at) if items is written else (name,)
        if not isinstance(item, str):
            if item is not None:
                yield Row(document, key, item)
            continue
        try:
            path = locate(item, document.path)
            yield from read(read_text(revision, path), path)
        except UnreadableError as error:
            out.append(document.problem(key, error.what, error.fix))
        except ContractError as error:
            out.extend(error.problems)


def with_tools(revision: Revision, document: Document, out: Problems) -> Mapping[str, Any]:
    """Return the contract's data with the functions that `tools` names in `params`, in OpenAI's
    form. A mistake is added to `out`."""
    data: Mapping[str, Any] = document.data
    params = data.get("params", {})
    if "tools" not in data or not isinstance(params, dict):
        return data
    if "tools" in params:
        fix = "keep one of them"
        out.append(document.problem(("tools",), "both `tools` and `params.tools` are set", fix))
    return {**data, "params": {**params, "tools": _offered(revision, document, out)}}


def _offered(revision: Revision, document: Document, out: Problems) -> list[Any]:
    found: list[Any] = []
    names: set[str] = set()
    for part in _parts(revision, document, "tools", _functions_in, out):
        tool = as_function(part.data)
        fault = value_fault("tools", [tool])
        schemas = [f"`{key}`" for key in _SCHEMAS if fault is None and key in part.data]
        if len(schemas) > 1:  # a program may read another one
            fault = f"a tool has {' and '.join(schemas)}", "keep one of them"
        name = tool["function"]["name"] if fault is None else ""
        if fault is None and name in names:
            fault = f"two tools are named `{name}`", "give each tool its own name"
        if fault:
            out.append(part.document.problem(part.key, *fault))
            continue
        names.add(name)
        found.append(tool)
    if len(found) > MOST_TOOLS:
        what = f"the contract has more than {MOST_TOOLS} tools"
        out.append(document.problem(("tools",), what, "keep fewer tools"))
    elif not found and not out:
        out.append(document.problem(("tools",), "there is no tool", "name at least one function"))
    return found


def _functions_in(text: str, path: str) -> Parts:
    """Yield the functions of a file: of a list, or of what an MCP server answers to
    `tools/list`."""
    document = parse(text, path)
    data: Any = document.data
    key: KeyPath = ()
    if isinstance(data, dict) and {"result", "tools"} <= data.keys():
        what, fix = "the file has two lists of tools, `result` and `tools`", "keep one of them"
        raise ContractError([document.problem(("result",), what, fix, at_key=True)])
    for name in ("result", "tools"):
        if isinstance(data, dict) and name in data:
            data, key = data[name], (*key, name)
    if not isinstance(data, list):
        what, fix = "the file has no list of tools", "write a list of functions, or {tools: […]}"
        raise ContractError([document.problem(key, what, fix)])
    yield from (Row(document, (*key, at), item) for at, item in enumerate(data))


def read_loop(revision: Revision, document: Document, out: Problems) -> Tools | None:
    """Return the contract's tool loop; None if it has none. A mistake is added to `out`."""
    data = document.data
    if not isinstance(data, dict) or not any(key in data for key in LOOP_KEYS[1:]):
        return None

    def rows_in(text: str, path: str) -> Parts:
        yield from read_rows(text, path, MOST_ROWS, _CELLS, "row")

    parts = [*_parts(revision, document, "tool_results", rows_in, out)]
    unanswered, simulator = data.get("unanswered", "fail"), _simulator(document, out)
    if (unanswered == "simulate") != (simulator is not None) and not out:
        what = "`unanswered: simulate` needs `simulator`, and `simulator` is used by nothing else"
        out.append(document.problem(("unanswered",), what, "set both, or neither"))
    settings = {"max_steps": data["max_steps"]} if "max_steps" in data else {}
    settings = whole(settings, "max_steps") if not out else {}
    return Tools(rows_of(parts, out), unanswered, simulator=simulator, **settings)


def _simulator(document: Document, out: Problems) -> Simulator | None:
    written = document.data.get("simulator")
    if not isinstance(written, dict) or not isinstance(written.get("model"), str):
        return None
    params = written.get("params") if isinstance(written.get("params"), dict) else {}
    for name, value in (params or {}).items():
        fault = setting_fault(written["model"], str(name), value, params or {})
        if name in _NOT_SENT:
            fault = (f"a simulator does not use the parameter `{name}`", f"remove `{name}`")
        if fault:
            place = ("simulator", "params", name)
            out.append(document.problem(place, f"params.{name}: {fault[0]}", fault[1]))
    return Simulator(written["model"], params or {})


def loop_problems(
    document: Document,
    tools: Tools | None,
    fixtures: Sequence[Fixture],
    target: Target,
) -> Iterator[Problem]:
    """Yield what keeps a tool loop from running: no tool, rows of tools that are not offered,
    steps, and states that are too large. Without a loop, yield what only a loop would use."""
    if tools is None:
        for fixture in fixtures:
            if fixture.tool_results or fixture.state is not None:
                key = "tool_results" if fixture.tool_results else "state"
                what = f"the fixture `{fixture.id}` has `{key}`, but nothing answers calls of tools"
                yield document.problem(("fixtures",), what, "add `tool_results` or `unanswered`")
        return
    names = {function["name"] for function in offered(target.params)}
    if not names:
        what = "the contract says what tools answer, but offers the model no tool"
        yield document.problem((), what, "name the tools in `tools`")
        return
    if target.steps:
        what = "a contract with `steps` cannot run a tool loop"
        fix = "test the steps in one contract, and the tools in another"
        yield document.problem(("steps",), what, fix)
    if tools.simulator and any(fixture.user for fixture in fixtures):
        what = "a simulator of tools cannot work beside a simulated user"
        yield document.problem(("simulator",), what, "declare rows, or write the user's `turns`")
    every = [("tool_results", row) for row in tools.rows]
    every += [(f"fixture `{f.id}`", row) for f in fixtures for row in f.tool_results]
    for where in dict.fromkeys((where, row.tool) for where, row in every if row.tool not in names):
        what = f"{where[0]}: there is no tool `{where[1]}`"
        yield document.problem(("tool_results",), what, nearest(where[1], names))
    for fixture in fixtures:
        if fixture.state is not None and len(json.dumps(fixture.state)) > MOST_STATE:
            what = (
                f"the state of the fixture `{fixture.id}` has more than {MOST_STATE:,} characters"
            )
            yield document.problem(("fixtures",), what, "keep what the tools need")
