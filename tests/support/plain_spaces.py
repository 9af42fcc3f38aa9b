"""Text as a reader sees it: the spaces that keep a number and its unit on a line are spaces."""

from __future__ import annotations


def spaced(text: str) -> str:
    """The same text with ordinary spaces only."""
    return text.replace("\u00a0", " ")
