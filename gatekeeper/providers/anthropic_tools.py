"""Tools as Anthropic's Messages API takes them, from the parameters in OpenAI's form.

https://docs.anthropic.com/en/docs/agents-and-tools/tool-use/implement-tool-use
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

_PLAIN_KEYS = frozenset({"name", "description", "parameters"})
_SCHEMA_KEYS = frozenset({"type", "properties", "required", "additionalProperties", "$defs"})
_CHOICES = {"auto": "auto", "required": "any", "none": "none"}


def tool_fields(params: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the fields `tools` and `tool_choice`, none without tools; None if litellm must
    translate them."""
    tools, choice = params.get("tools"), params.get("tool_choice")
    parallel = params.get("parallel_tool_calls")
    if tools is None:
        return {} if choice is None and parallel is None else None
    found = [_tool(tool) for tool in tools] if isinstance(tools, Sequence) else [None]
    if not found or None in found:
        return None
    chosen = _choice(choice)
    if chosen is None:
        return None
    if isinstance(parallel, bool):
        if chosen.get("type", "auto") != "auto":
            return None
        chosen = {"type": "auto", "disable_parallel_tool_use": not parallel}
    return {"tools": found, **({"tool_choice": chosen} if chosen else {})}


def _tool(tool: object) -> dict[str, Any] | None:
    function = tool.get("function") if isinstance(tool, Mapping) else None
    if not isinstance(function, Mapping) or not set(function) <= _PLAIN_KEYS:
        return None
    schema = function.get("parameters")
    if not isinstance(schema, Mapping) or schema.get("type") != "object":
        return None
    if not set(schema) <= _SCHEMA_KEYS or "properties" not in schema:
        return None
    described = {n: function[n] for n in ("description",) if function.get(n)}
    return {"name": function["name"], "input_schema": schema, "type": "custom", **described}


def _choice(choice: object) -> dict[str, Any] | None:
    """Return Anthropic's form of a choice, empty for none; None if it has no such form."""
    if choice is None:
        return {}
    if isinstance(choice, str):
        return {"type": _CHOICES[choice]} if choice in _CHOICES else None
    function = choice.get("function") if isinstance(choice, Mapping) else None
    name = function.get("name") if isinstance(function, Mapping) else None
    return {"type": "tool", "name": name} if isinstance(name, str) else None
