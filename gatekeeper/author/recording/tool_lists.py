"""Lists of tools as MCP servers give them, `{"tools": [...]}`: reads, writes and compares them."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gatekeeper.errors import UsageError

Tool = Mapping[str, Any]

KEPT = ("name", "title", "description", "inputSchema", "outputSchema", "annotations")
"""What is kept of a tool: what a model may see, and what the server says of its effects."""
_MOST_BYTES = 20_000_000


@dataclass(frozen=True, slots=True)
class ToolChange:
    """What changed of one tool: it was `added` or `removed`, or some of its parts changed. `parts`
    has the name of each with its text before and now."""

    name: str
    kind: str
    parts: tuple[tuple[str, str, str], ...] = ()


def compare_tools(recorded: Sequence[Tool], live: Sequence[Tool]) -> tuple[ToolChange, ...]:
    """Return what changed, in the order of names. Of two tools of one name, both count."""
    before, now = _by_name(recorded), _by_name(live)
    return tuple(_changes(before, now))


def _by_name(tools: Sequence[Tool]) -> dict[str, Tool]:
    found: dict[str, Tool] = {}
    for tool in tools:
        name = str(tool.get("name"))
        while name in found:
            name += " (again)"
        found[name] = tool
    return found


def _changes(before: Mapping[str, Tool], now: Mapping[str, Tool]) -> Iterator[ToolChange]:
    for name in sorted(before.keys() | now.keys()):
        if name not in now:
            yield ToolChange(name, "removed")
        elif name not in before:
            yield ToolChange(name, "added", (("description", "", _text(now[name], "description")),))
        elif before[name] != now[name]:
            texts = [(key, _text(before[name], key), _text(now[name], key)) for key in KEPT]
            yield ToolChange(name, "changed", tuple(text for text in texts if text[1] != text[2]))


def _text(tool: Tool, key: str) -> str:
    value = tool.get(key)
    if value is None or isinstance(value, str):
        return value or ""
    return json.dumps(value, indent=2, ensure_ascii=False, sort_keys=True)


def read_tools(path: Path) -> tuple[Tool, ...]:
    """Return the tools of a recorded list. Raises UsageError."""
    try:
        with path.open("rb") as file:
            data = json.loads(file.read(_MOST_BYTES))
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror or error}") from error
    except (ValueError, RecursionError):
        data = None
    tools = data.get("tools") if isinstance(data, dict) else None
    if not isinstance(tools, list) or not all(isinstance(tool, dict) for tool in tools):
        raise UsageError(
            f"{path} holds no recorded list of tools; write one with `gatekeeper tools record`"
        )
    return tuple({key: tool[key] for key in KEPT if key in tool} for tool in tools)


def written(tools: Sequence[Tool]) -> str:
    """Return the text of a file with the tools. Invisible characters are escaped, so that the
    difference of two such files shows them."""
    text = json.dumps({"tools": list(tools)}, indent=2, ensure_ascii=False)
    return "".join(map(_visible, text)) + "\n"


def _visible(char: str) -> str:
    hidden = unicodedata.category(char)[0] in "CZ" and char not in " \n"
    return json.dumps(char)[1:-1] if hidden else char
