"""The checks that search the output with a regular expression."""

from __future__ import annotations

from typing import Any
from unicodedata import normalize

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
    undetermined,
)
from gatekeeper.checks.reading.output import FIELD, IGNORE_CASE, as_text, on_output, quote, shorten
from gatekeeper.checks.reading.pattern import DEFAULT_TIMEOUT_MS, TimedPattern

_TIMEOUT_MS: Parameters = {
    "x-looser": "change",
    "type": "number",
    "exclusiveMinimum": 0,
    "maximum": 10_000,
    "default": DEFAULT_TIMEOUT_MS,
    "description": "The time limit of one search in milliseconds, at most 10000.",
}


def _matches(pattern: TimedPattern, text: str) -> bool:
    """Return whether the pattern matches in the text, or in the text with composed characters."""
    composed = normalize("NFC", text)
    return pattern.search(text) or (composed != text and pattern.search(composed))


def _check(about: str, *examples: Example, wanted: bool) -> Check:
    def prepare(params: Parameters, _files: Files) -> SampleEvaluator:
        pattern = TimedPattern(
            params["pattern"],
            ignore_case=params.get("ignore_case", False),
            timeout_ms=params.get("timeout_ms", DEFAULT_TIMEOUT_MS),
        )
        mistake = f"{'does not match' if wanted else 'matches'} `{shorten(params['pattern'])}`"

        def inspect(found: Any) -> Finding:
            try:
                matches = _matches(pattern, as_text(found))
            except TimeoutError as timeout:
                return undetermined(str(timeout))
            return PASSED if matches is wanted else failed(f"{mistake}; got {quote(found)}")

        return on_output(params, inspect)

    where = "match somewhere" if wanted else "not match anywhere"
    pattern: Parameters = {
        "type": "string",
        "minLength": 1,
        "description": f"A regular expression that must {where} in the output.",
    }
    own = parameters(
        required=("pattern",),
        pattern=pattern,
        ignore_case=IGNORE_CASE,
        field=FIELD,
        timeout_ms=_TIMEOUT_MS,
    )
    return Check(own, prepare, group="text", examples=examples, about=about)


REGEX = _check(
    r"""
The regular expression `pattern` matches somewhere in the output, or in one field of it.

Anchor it with `^` and `$` to match the whole output. Write flags inside, like `(?s)`; Unicode
classes like `\p{Lu}` work. For literal text, use `equals` or `contains`.

A search that takes longer than `timeout_ms` is tried once more, then the check is undetermined, and
its message names the pattern. A pattern that takes more than 3 seconds or 512 MB to compile is
refused before any call.
""",
    Example(r"{type: regex, pattern: '^[A-Z]{2,4}\$?$', name: is a tag}", "REF$", "Refund"),
    Example(
        r"{type: regex, field: date, pattern: '^\d{4}-\d{2}-\d{2}$'}",
        '{"date": "2026-11-22"}',
        '{"date": "22 November"}',
    ),
    wanted=True,
)
NOT_REGEX = _check(
    """
The regular expression `pattern` matches nowhere in the output, or in one field of it.

Form and limits are those of [regex](#regex); a search that takes too long is undetermined.
""",
    Example(
        r"{type: not_regex, pattern: '\{\{|\}\}', name: no placeholder is left}",
        "Dear Ann, your order is on its way.",
        "Dear {{ customer }}, your order is on its way.",
    ),
    wanted=False,
)
