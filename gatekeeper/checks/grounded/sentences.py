"""Splits text into sentences by a rule that is short enough to be told."""

from __future__ import annotations

import re

# Closing quotes, brackets and citations such as [1] belong to the sentence before them.
_AFTER = r"""["'”’»)\]]*(?:\s?(?:\[[^\[\]\n]{1,80}\]|\([^()\n]{1,80}\)))*"""
_END = re.compile(rf"[.!?…]{_AFTER}(?=\s|$)|[。！？]{_AFTER}")
_HEADING = re.compile(r"\s*(?:#{1,6}\s|\|?\s*:?-{3,})")


def sentences(text: str) -> list[tuple[int, int]]:
    """Return the start and end of each sentence.

    A sentence ends at `.`, `!`, `?` or `…` before white space, or at the end of a line. What stands
    in brackets after it, such as [1], still belongs to it. Headings of Markdown and lines that end
    with a colon are no sentences.
    """
    found: list[tuple[int, int]] = []
    start = 0
    for line in text.splitlines(keepends=True):
        end = start + len(line)
        if not _HEADING.match(line) and not line.rstrip().endswith(":"):
            found += _in_line(line, start)
        start = end
    return found


def _in_line(line: str, offset: int) -> list[tuple[int, int]]:
    found = []
    start = 0
    for stop in _END.finditer(line):
        found.append((offset + start, offset + stop.end()))
        start = stop.end()
    if line[start:].strip():
        found.append((offset + start, offset + len(line.rstrip())))
    return found
