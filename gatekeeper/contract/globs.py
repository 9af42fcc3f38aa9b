"""Path patterns of the policy: `*` and `?` stay within a folder, `**` spans any number of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache


def matching(paths: Iterable[str], pattern: str) -> Iterator[str]:
    """The paths, from the repository root, that the whole pattern matches."""
    fits = _compiled(pattern.removeprefix("/")).fullmatch
    return (path for path in paths if fits(path))


@lru_cache(maxsize=64)
def _compiled(pattern: str) -> re.Pattern[str]:
    parts: list[str] = []
    position = 0
    while position < len(pattern):
        if pattern.startswith("**/", position):
            parts.append("(?:[^/]+/)*")
            position += 3
        elif pattern.startswith("**", position):
            parts.append(".*")
            position += 2
        else:
            part, position = _part(pattern, position)
            parts.append(part)
    return re.compile("".join(parts), re.DOTALL)


def _part(pattern: str, position: int) -> tuple[str, int]:
    character = pattern[position]
    if character == "*":
        return "[^/]*", position + 1
    if character == "?":
        return "[^/]", position + 1
    if character == "[" and (end := pattern.find("]", position + 2)) > 0:
        # What Python's sets may one day give a meaning to (`&&`, `||`, `~~`, `--`, `[`) is escaped.
        inner = re.sub(r"[\\\[&|~]|(?<=-)-", r"\\\g<0>", pattern[position + 1 : end])
        inner = "^/" + inner[1:] if inner[0] in "!^" else inner
        try:
            re.compile(f"[{inner}]")
        except re.error:
            return re.escape(character), position + 1
        return f"[{inner}]", end + 1
    return re.escape(character), position + 1
