"""Edits text for a test. A test whose edit changes nothing would test nothing."""

from __future__ import annotations

from typing import AnyStr


def edited(text: AnyStr, *edits: AnyStr) -> AnyStr:
    """The text after these edits, one after another: what to replace everywhere, and by what.

    It is an error if a text to replace is not there.
    """
    for old, new in zip(edits[::2], edits[1::2], strict=True):
        assert old in text, f"the text to replace is not there: {old!r}"
        text = text.replace(old, new)
    return text
