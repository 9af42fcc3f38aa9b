"""The output cites sources, and every cited source exists.

The first group of `pattern` captures the cited id, or several ids as in `[1, 3]`. Valid ids come
from the documents in `context`, or from `ids`. With `each_sentence`, every sentence of 20
characters or more needs a citation, except headings and lines that end with a colon. A citation
right after the end of a sentence belongs to it. If the sources must contain the words, use `quote`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence, Set
from typing import Any

from gatekeeper.checks.check import (
    PASSED,
    Check,
    Example,
    Files,
    Finding,
    ParameterError,
    Parameters,
    SampleEvaluator,
    failed,
    parameters,
    undetermined,
)
from gatekeeper.checks.grounded.context import CONTEXT, context_ids
from gatekeeper.checks.reading.output import FIELD, as_text, on_output, quote
from gatekeeper.checks.reading.pattern import Match, TimedPattern

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


_PATTERN = r"\[([\w.:-]+(?:\s*[,;]\s*[\w.:-]+)*)\]"
_MOST_CITATIONS = 10_000
_LEAST_LENGTH = 20
"""Characters of a sentence that needs a citation."""
_SHOWN = 5


def _prepare(params: Parameters, _files: Files) -> SampleEvaluator:
    pattern = TimedPattern(params.get("pattern", _PATTERN))
    known = _known(params)
    least = params.get("min", 1)
    each_sentence = params.get("each_sentence", False)

    def inspect(found: Any) -> Finding:
        text = as_text(found)
        try:
            matches = pattern.find_all(text, _MOST_CITATIONS + 1)
        except TimeoutError as timeout:
            return undetermined(str(timeout))
        if len(matches) > _MOST_CITATIONS:
            return undetermined(f"the output has more than {_MOST_CITATIONS:,} citations")
        cited = [name for match in matches for name in _ids(match)]
        if len(cited) < least:
            return failed(
                f"expected at least {least} citations; found {len(cited)} in {quote(text)}"
            )
        if known is not None and not known.issuperset(cited):
            return failed(_unknown([name for name in cited if name not in known], known))
        return _sentences_cited(text, matches) if each_sentence else PASSED

    return on_output(params, inspect)


def _known(params: Parameters) -> frozenset[str] | None:
    if "ids" in params and "context" in params:
        raise ParameterError("both `ids` and `context` are set", "keep one of them")
    if "ids" in params:
        return frozenset(map(str, params["ids"]))
    if "context" in params:
        return context_ids(params["context"], params.get("id_key", "id"))
    return None


def _ids(match: Match) -> list[str]:
    return [part for part in re.split(r"\s*[,;]\s*", match.text.strip()) if part]


def _unknown(names: Sequence[str], known: Set[str]) -> str:
    shown = ", ".join(quote(name, 40) for name in dict.fromkeys(names[:_SHOWN]))
    there = ", ".join(quote(name, 40) for name in sorted(known)[:_SHOWN])
    more = f" and {len(known) - _SHOWN:,} more" if len(known) > _SHOWN else ""
    return f"cites unknown ids: {shown}; the known ids: {there or 'none'}{more}"


def _sentences_cited(text: str, matches: Sequence[Match]) -> Finding:
    """Return whether each sentence has a citation. Both lists are in the order of the text."""
    at = 0
    for start, end in sentences(text):
        while at < len(matches) and matches[at].end <= start:
            at += 1
        has_citation = at < len(matches) and matches[at].start < end
        if not has_citation and len(text[start:end].strip()) >= _LEAST_LENGTH:
            return failed(f"this sentence has no citation: {quote(text[start:end].strip())}")
    return PASSED


CHECK = Check(
    parameters(
        pattern={
            "type": "string",
            "minLength": 1,
            "default": _PATTERN,
            "description": "A regular expression whose first group captures the cited id.",
        },
        min={
            "x-looser": "down",
            "type": "integer",
            "minimum": 0,
            "default": 1,
            "description": "The smallest number of citations, 0 or more.",
        },
        context=CONTEXT,
        id_key={
            "type": "string",
            "minLength": 1,
            "default": "id",
            "description": "The key that holds the id of each document.",
        },
        ids={
            "type": "array",
            "items": {"type": ["string", "integer"]},
            "description": "A list of the ids that the output may cite, instead of `context`.",
        },
        each_sentence={
            "type": "boolean",
            "default": False,
            "description": "Whether each sentence must have a citation.",
        },
        field=FIELD,
    ),
    _prepare,
    group="grounded",
    examples=(
        Example(
            '{type: citation, context: "{{ documents }}", each_sentence: true}',
            "Refunds take five days. [a1] Vouchers never expire [b2].",
            "Refunds take five days [c3].",
            vars={
                "documents": [
                    {"id": "a1", "text": "Refunds take five working days."},
                    {"id": "b2", "text": "Vouchers do not expire."},
                ]
            },
        ),
        Example(
            "{type: citation, pattern: '\\((\\d{4})\\)', ids: [1998, 2004], min: 2}",
            "First shown (1998), then measured (2004).",
            "First shown (1998), then measured (2005).",
        ),
    ),
)
