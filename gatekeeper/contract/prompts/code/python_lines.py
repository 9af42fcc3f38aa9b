"""Finds the line of the file of each line of a Python string literal."""

from __future__ import annotations

import re

from gatekeeper.contract.prompts.code.written import Written

_STRINGS = re.compile(
    r"(?P<prefix>[A-Za-z]{0,2})(?P<quote>\"\"\"|'''|\"|')"
    r"(?P<body>(?:\\.|(?!(?P=quote)).)*)(?P=quote)",
    re.S,
)
_BETWEEN = re.compile(r"(?:\s|\\\n|#[^\n]*)*")
_PIECE = re.compile(r"\\(?:\n|.)|\n|[^\\\n]+", re.S)
_RAW_PIECE = re.compile(r"\n|[^\n]+")


def literal_lines(text: str, first: int) -> list[int]:
    """Return the file's line of each line of the value of a literal, which may be several strings
    that follow one another. `text` is the source of it, which begins on line `first`.

    Escapes other than `\\n` that make a line end are not known, so the count may differ.
    """
    made, start = Written(), first
    place = counted = 0
    while match := _STRINGS.match(text, place):
        first += text.count("\n", counted, match.start("body"))
        counted, line = match.start("body"), first
        pieces = _RAW_PIECE if "r" in match["prefix"].lower() else _PIECE
        for piece in pieces.findall(match["body"]):
            if piece == "\\\n":
                line += 1
                continue
            is_end = piece in ("\n", "\\n")
            made.add_text("\n" if is_end else "x", line, spans_lines=piece == "\n")
            line += piece == "\n"
        between = _BETWEEN.match(text, match.end())
        place = between.end() if between else match.end()
    return made.numbered(start)
