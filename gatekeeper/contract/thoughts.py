"""Finds the thoughts that a model writes into the text of its answer.

The program gets them as a part of the text, and so do the checks. Only the repair `strip_thoughts`
removes them, by which a contract says that its program does so too.
"""

from __future__ import annotations

import re

_THOUGHTS = re.compile(r"\s*<(think|thinking|budget:thinking)>.*?</\1>\s*", re.DOTALL)


def without_thoughts(text: str) -> str:
    """Return the text behind the thoughts that it begins with, and behind the white space around
    them; the whole text if it begins with none, or with some that never end."""
    at = 0
    while thoughts := _THOUGHTS.match(text, at):
        at = thoughts.end()
    return text[at:]
