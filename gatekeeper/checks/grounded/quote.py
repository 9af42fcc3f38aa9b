"""Every quotation in the output occurs in the context, word for word.

A quotation is the text between `"…"`, “…”, „…“, «…» or »…« within a paragraph, from `min_length`
characters on. Case, white space, forms of quotation marks and dashes, and punctuation at the end do
not matter. `…` or `[...]` stands for words left out; the parts around it must be in one document,
in this order.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import Any

from gatekeeper.checks.check import (
    PASSED,
    Check,
    Example,
    Files,
    Finding,
    Parameters,
    SampleEvaluator,
    failed,
    parameters,
)
from gatekeeper.checks.grounded.context import CONTEXT
from gatekeeper.checks.reading.output import FIELD, as_text, on_output
from gatekeeper.checks.reading.output import quote as shown
from gatekeeper.contract.values.nested_texts import nested_texts

_LEAST_LENGTH = 20
_MOST_QUOTATIONS = 2_000
_QUOTED = re.compile('"([^"]*)"|“([^“”]*)”|„([^„“”]*)[“”]|«([^«»]*)»|»([^«»]*)«')
_PARAGRAPH = re.compile(r"\n\s*\n")
_LEFT_OUT = re.compile(r"\s*(?:\[\s*(?:…|\.\.\.)\s*\]|…|\.\.\.)\s*")
_ALIKE = str.maketrans({"’": "'", "‘": "'", "“": '"', "”": '"', "„": '"', "–": "-", "—": "-"})


def _prepare(params: Parameters, _files: Files) -> SampleEvaluator:
    documents = [_normal(text) for text in nested_texts(params["context"])]
    least = params.get("min", 1)
    least_length = params.get("min_length", _LEAST_LENGTH)

    def inspect(found: Any) -> Finding:
        text = as_text(found)
        quotations = [part for part in _quotations(text) if len(part) >= least_length]
        if len(quotations) < least:
            long = f"at least {least} quotations of {least_length} characters or more"
            return failed(f"expected {long}; found {len(quotations)} in {shown(text)}")
        if len(quotations) > _MOST_QUOTATIONS:
            return Finding(None, f"the output has more than {_MOST_QUOTATIONS:,} quotations")
        for quotation in dict.fromkeys(quotations):
            if not any(_stands_in(_normal(quotation), document) for document in documents):
                return failed(
                    f"quotes {shown(quotation, 120)}, but the context does not contain these words"
                )
        return PASSED

    return on_output(params, inspect)


def _quotations(text: str) -> list[str]:
    """Return what stands between quotes. A quote that is not closed ends with its paragraph."""
    return [
        next(group for group in found.groups() if group is not None).strip()
        for paragraph in _PARAGRAPH.split(text)
        for found in _QUOTED.finditer(paragraph)
    ]


def _stands_in(quotation: str, document: str) -> bool:
    parts = _parts(quotation)
    at = 0
    for part in parts:
        at = document.find(part, at)
        if at < 0:
            return False
        at += len(part)
    return bool(parts)


def _parts(quotation: str) -> Sequence[str]:
    """Return what stands between words that are left out, without punctuation at the end."""
    parts = [part.strip(" ,;:") for part in _LEFT_OUT.split(quotation)]
    kept = [part for part in parts if any(map(str.isalnum, part))]
    return [*kept[:-1], kept[-1].rstrip(".!? ")] if kept else []


def _normal(text: str) -> str:
    alike = unicodedata.normalize("NFKC", text)
    return " ".join(alike.translate(_ALIKE).casefold().split())


CHECK = Check(
    parameters(
        required=("context",),
        context=CONTEXT,
        min={
            "x-looser": "down",
            "type": "integer",
            "minimum": 0,
            "default": 1,
            "description": "The smallest number of quotations, 0 or more.",
        },
        min_length={
            "x-looser": "down",
            "type": "integer",
            "minimum": 1,
            "default": _LEAST_LENGTH,
            "description": "The shortest quotation, in characters, that is looked up.",
        },
        field=FIELD,
    ),
    _prepare,
    group="grounded",
    examples=(
        Example(
            '{type: quote, context: "{{ manual }}"}',
            "The manual says: “Press the red button … for five seconds.”",
            'The manual says: "Press the red button for ten seconds."',
            vars={"manual": "Press the red button and hold it for five seconds."},
        ),
    ),
)
