"""Reads text in which a program fills in names, `{{ article }}` or `{{ order.id }}`, and nothing
else: comments, statements and all other braces are sent as they are written."""

from __future__ import annotations

import re

from gatekeeper.contract.prompts.styles.literal import RESERVED, literal

PATH = (
    r"[^\W\d]\w*+"
    r"""(?:\.[^\W\d]\w*+|\.\d++|\[\d++\]|\["[^"\\{}%#]*+"\]|\['[^'\\{}%#]*+'\])*+"""
)
"""A variable or a part of one, as Jinja writes it."""
_NAME = re.compile(rf"\{{\{{\s*+(?P<path>{PATH})\s*+\}}\}}")
_FIRST = re.compile(r"\w+")


def translate(text: str) -> str:
    """Return the Jinja template of the text. A name is left as it is: Jinja reads it likewise."""
    made: list[str] = []
    end = 0
    for match in _NAME.finditer(text):
        first = _FIRST.match(match["path"])
        if first and first[0] not in RESERVED:
            made += [literal(text[end : match.start()]), match.group()]
            end = match.end()
    return "".join([*made, literal(text[end:])]) if made or "{" in text or "\r" in text else text
