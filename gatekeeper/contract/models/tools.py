"""The tools that a contract offers to a model, in the form of OpenAI's Chat Completions.

Only functions are taken. Their calls end the answer, and nobody runs them. The tools of a provider
itself (web search, code execution, MCP servers) would run while the model answers: they cost money
without a limit, and an MCP server gets what it is sent.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_NAME = re.compile(r"[A-Za-z0-9_.-]{1,128}")
_KEYS = frozenset({"name", "description", "parameters", "strict"})
_EXAMPLE = "write {type: function, function: {name: NAME, parameters: {a JSON Schema}}}"
_CHOICES = ("auto", "none", "required")


def tool_fault(name: str, value: object) -> tuple[str, str] | None:
    """Return what is wrong with the value of `tools`, `tool_choice` or `parallel_tool_calls`, and
    how to correct it; None if nothing is."""
    if name == "parallel_tool_calls":
        return None if isinstance(value, bool) else (f"{value!r} must be true or false", _BOOLEAN)
    if name == "tool_choice":
        return _choice_fault(value)
    if not isinstance(value, list | tuple) or not value:
        return "`tools` must be a list with at least one tool", (
            f"{_EXAMPLE} for each tool, in a list"
        )
    return next(filter(None, map(_one_fault, value)), None)


_BOOLEAN = "write true or false"


def _one_fault(tool: object) -> tuple[str, str] | None:
    if not isinstance(tool, Mapping) or tool.get("type") != "function" or set(tool) != _OUTER:
        kind = tool.get("type") if isinstance(tool, Mapping) else None
        what = (
            f"gatekeeper cannot offer a tool of the type {kind!r} to a model"
            if kind
            else "a tool has no type"
        )
        return (what if kind != "function" else "a tool has unknown keys"), _EXAMPLE
    function = tool["function"]
    if not isinstance(function, Mapping):
        return "`function` of a tool is not a mapping", _EXAMPLE
    name, parameters = function.get("name"), function.get("parameters", {})
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        return (
            "a tool's name is missing or not valid",
            "use at most 128 letters, digits, `_` and `-`",
        )
    unknown = sorted(set(map(str, function)) - _KEYS)
    if unknown:
        return f"the tool {name!r} has the unknown key {unknown[0]!r}", _EXAMPLE
    if not isinstance(parameters, Mapping):
        return f"the parameters of the tool {name!r} are not a JSON Schema", _EXAMPLE
    if not isinstance(function.get("description", ""), str):
        return f"the description of the tool {name!r} is not text", "put the description in quotes"
    strict = function.get("strict", False)
    return (
        None
        if isinstance(strict, bool)
        else (f"tool {name!r}: `strict` must be true or false", _BOOLEAN)
    )


_OUTER = {"type", "function"}


def _choice_fault(value: object) -> tuple[str, str] | None:
    if value in _CHOICES:
        return None
    function = value.get("function") if isinstance(value, Mapping) else None
    name = function.get("name") if isinstance(function, Mapping) else None
    if isinstance(value, Mapping) and value.get("type") == "function" and isinstance(name, str):
        return None
    return "this is not a valid value of `tool_choice`", (
        f"write {', '.join(_CHOICES)}, or {{type: function, function: {{name: NAME}}}}"
    )
