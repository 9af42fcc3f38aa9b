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

To match the whole output, anchor the pattern with `^` and `$`. Write flags inside the pattern, like
`(?s)`. The pattern may contain Unicode classes like `\p{Lu}`. If a template inserts a value into a
pattern, special characters in the value keep their special meaning in the regular expression. To
look for literal text, use `equals` or `contains`.

If a search takes longer than `timeout_ms`, gatekeeper tries it once more. If the second try also
takes longer, the check is undetermined, because the fault lies in the pattern and not in the model.
The message of the undetermined check names the pattern. The report lists the sample as not
measured. If the samples that were not measured could change the verdict, the verdict is `error`.
After at most five such searches, gatekeeper does not try the pattern again. Before gatekeeper calls
any model, it refuses every pattern that takes more than 3 seconds or 512 MB to compile, such as
`((a{1000}){1000}){1000}`.
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
The regular expression `pattern` matches nowhere in the output, or nowhere in one field of it.

The pattern has the same form and the same limits as the pattern of [regex](#regex). If a search
takes too long, the check is undetermined.
""",
    Example(
        r"{type: not_regex, pattern: '\{\{|\}\}', name: no placeholder is left}",
        "Dear Ann, your order is on its way.",
        "Dear {{ customer }}, your order is on its way.",
    ),
    wanted=False,
)
