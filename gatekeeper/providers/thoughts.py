"""Separates a model's thoughts from its answer if the model writes both into one text."""

from __future__ import annotations

import re

THOUGHT_TAGS = ("think", "thinking", "budget:thinking")
"""The tags around thoughts that a model writes into its text."""

_TAGS = "|".join(THOUGHT_TAGS)
_THOUGHTS = re.compile(rf"<(?:{_TAGS})>.*?</(?:{_TAGS})>(.*)", re.DOTALL)


def without_thoughts(text: str) -> str:
    """Return the text after the thoughts that it begins with; the whole text if there are none."""
    thought = _THOUGHTS.match(text)
    return thought[1] if thought else text
