"""Repairs of white space and line ends."""

from __future__ import annotations

import re

_LINE_ENDS = re.compile(r"\r\n?")


def strip_whitespace(text: str) -> str:
    """Remove the white space around the text."""
    return text.strip()


def normalize_newlines(text: str) -> str:
    """Write every line end as a line feed."""
    return _LINE_ENDS.sub("\n", text)
