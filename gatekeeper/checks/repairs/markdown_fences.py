"""Unwraps a block of code."""

from __future__ import annotations

import re

_FENCE = re.compile(r"(`{3,})[^`]*|(~{3,}).*")


def strip_markdown_fences(text: str) -> str:
    """Unwrap a fenced code block (CommonMark 4.5) that is the whole text.

    Blocks in blocks are unwrapped too. A block that is never closed, and text before or after
    a block, leave the text as it is: `extract_json` finds JSON among prose.
    """
    while (inner := _fenced(text)) is not None:
        text = inner
    return text


def _fenced(text: str) -> str | None:
    lines = text.strip().split("\n")
    opening = _FENCE.fullmatch(lines[0].rstrip())
    if opening is None:
        return None
    fence = opening[1] or opening[2]
    closing = re.compile(rf" {{0,3}}{fence[0]}{{{len(fence)},}}\s*")
    closed_at = [number for number, line in enumerate(lines) if number and closing.fullmatch(line)]
    if closed_at != [len(lines) - 1]:
        return None
    return "\n".join(lines[1:-1]).removesuffix("\r")
