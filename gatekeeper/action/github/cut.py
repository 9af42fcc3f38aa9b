"""Shortens a text to the length that GitHub accepts."""

from __future__ import annotations

CUT_NOTE = "\n\n… This text was cut. For the whole text, see the job's summary and artifact.\n"


def cut(text: str, limit: int, end: str) -> str:
    """Return the text, or as much of it as fits with `end` after it."""
    return text if len(text) <= limit else text[: max(0, limit - len(end))] + end
