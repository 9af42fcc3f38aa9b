"""Edits text for a test. A test whose edit changes nothing would test nothing."""

from __future__ import annotations


def edited(text: str, old: str, new: str) -> str:
    """The text with `new` in place of each `old`; an error if there is none."""
    assert old in text, f"the text to replace is not there: {old!r}"
    return text.replace(old, new)
