"""What a contract says that its tools answer, and how far a tool loop goes. See docs/agents.md."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Unanswered = Literal["fail", "error", "simulate"]
MAX_STEPS = 10
"""How many answers of the model one message of the user leads to at most, by default."""
MOST_STEPS = 50
MOST_CALLS = 64
"""The most tool calls of one answer that are answered."""


def offered(params: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the functions that the parameters of a request offer the model."""
    return [tool["function"] for tool in params.get("tools") or ()]


def as_function(tool: Any) -> Any:
    """Return a tool in the form of MCP, of Anthropic or of OpenAI's Responses as a function of Chat
    Completions; anything else as it is, such as a tool that the provider runs."""
    if not isinstance(tool, Mapping) or "function" in tool or "name" not in tool:
        return tool
    if tool.get("type", "function") not in ("function", "custom"):
        return tool
    function = {name: tool[name] for name in ("name", "description") if tool.get(name)}
    for key in ("inputSchema", "input_schema", "parameters"):
        if tool.get(key) is not None:
            function.setdefault("parameters", tool[key])
    return {"type": "function", "function": function}


_CONDITIONS: Mapping[str, Callable[[Any], bool]] = {
    "equals": lambda wanted: isinstance(wanted, dict),
    "schema": lambda wanted: isinstance(wanted, dict | bool),
    "path": lambda wanted: isinstance(wanted, str) and wanted.startswith(("$.", "$[")),
    "pattern": lambda wanted: isinstance(wanted, str),
}


def read_condition(when: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the condition of a row. Arguments that have the name of a kind of condition are told
    from it by their values, or are written inside `equals`."""
    (kind, wanted), *others = when.items() or [("equals", {})]
    known = not others and kind in _CONDITIONS and _CONDITIONS[kind](wanted)
    found = dict(when) if known else {"equals": dict(when)}
    return {} if found == {"equals": {}} else found


def written_condition(args: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return how a row's `when` is written that requires these arguments."""
    return {"equals": args} if _CONDITIONS.keys() & args.keys() else args


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """What a tool answers: JSON or text in `value`, or the text of an error. Texts may be
    templates. `sets` is a JSON Patch of the state, and `delay_ms` counts as latency."""

    value: Any = None
    is_error: bool = False
    delay_ms: float = 0.0
    sets: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class ToolRow:
    """The answers of a tool to its first, second, … call that the row matches; the last repeats.
    `when` has at most one condition: `equals`, `schema`, `path` or `pattern`."""

    tool: str
    answers: tuple[ToolAnswer, ...]
    when: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Simulator:
    """The model that plays the tools whose calls no row answers."""

    model: str
    params: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Tools:
    """A tool loop: the first of the `rows` that matches a call answers it. `state` is where the
    loop begins, and `variables` are the fixture's, both for templates."""

    rows: tuple[ToolRow, ...] = ()
    unanswered: Unanswered = "fail"
    max_steps: int = MAX_STEPS
    simulator: Simulator | None = None
    state: Any = None
    variables: Mapping[str, Any] = field(default_factory=dict)
