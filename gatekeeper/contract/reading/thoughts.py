"""Finds the thoughts that a model writes into the text of its answer.

The program gets them as a part of the text, and so do the checks. Only the repair `strip_thoughts`
removes them, by which a contract says that its program does so too.
"""

from __future__ import annotations

import re

_TAG = "think|thinking|budget:thinking"
_THOUGHTS = re.compile(rf"\s*<({_TAG})>.*?</\1>\s*", re.DOTALL)
_OPENING = re.compile(rf"<(?:{_TAG})>")
_CLOSING = re.compile(rf"</(?:{_TAG})>$")


def without_thoughts(text: str) -> str:
    """Return the text behind the thoughts that it begins with, and behind the white space around
    them; the whole text if it begins with none, or with some that never end."""
    at = 0
    while thoughts := _THOUGHTS.match(text, at):
        at = thoughts.end()
    return text[at:]


def is_only_thoughts(text: str) -> bool:
    """Return whether no answer follows the thoughts: the text ends with them, or they never end. A
    server that writes the first tag itself leaves the last tag alone."""
    rest = without_thoughts(text).strip()
    opens = _OPENING.search(rest)
    return not rest or (opens.start() == 0 if opens else bool(_CLOSING.search(rest)))
