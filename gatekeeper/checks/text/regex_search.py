"""The regular expression `pattern` matches somewhere in the output, or in one field of it.

To match the whole output, anchor the pattern with `^` and `$`. Write flags inside the pattern, like
`(?s)`. The pattern may contain Unicode classes like `\\p{Lu}`. If a template inserts a value into a
pattern, special characters in the value keep their special meaning in the regular expression. To
look for literal text, use `equals` or `contains`.

If a search takes longer than `timeout_ms`, gatekeeper tries it once more. If the second try also
takes longer, the check is undetermined, because the fault lies in the pattern and not in the model.
The message of the undetermined check names the pattern. The report lists the sample as not
measured. If the samples that were not measured could change the verdict, the verdict is `error`.
After at most five such searches, gatekeeper does not try the pattern again. Before gatekeeper calls
any model, it refuses every pattern that takes more than 3 seconds or 512 MB to compile, such as
`((a{1000}){1000}){1000}`.
"""

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
from gatekeeper.checks.output import FIELD, IGNORE_CASE, as_text, on_output, quote, shorten
from gatekeeper.checks.pattern import DEFAULT_TIMEOUT_MS, TimedPattern

PATTERN: Parameters = {"type": "string", "minLength": 1}
TIMEOUT_MS: Parameters = {
    "type": "number",
    "exclusiveMinimum": 0,
    "maximum": 10_000,
    "default": DEFAULT_TIMEOUT_MS,
    "description": "The time limit of one search in milliseconds, at most 10000.",
}


def timed_pattern(params: Parameters) -> TimedPattern:
    """Return the pattern of `pattern`, `ignore_case` and `timeout_ms`. Raises ParameterError."""
    return TimedPattern(
        params["pattern"],
        ignore_case=params.get("ignore_case", False),
        timeout_ms=params.get("timeout_ms", DEFAULT_TIMEOUT_MS),
    )


def matches_in(pattern: TimedPattern, text: str) -> bool:
    """Return whether the pattern matches in the text, or in the text with composed characters."""
    composed = normalize("NFC", text)
    return pattern.search(text) or (composed != text and pattern.search(composed))


def _prepare(params: Parameters, _files: Files) -> SampleEvaluator:
    pattern = timed_pattern(params)
    shown = shorten(params["pattern"])

    def inspect(found: Any) -> Finding:
        try:
            matches = matches_in(pattern, as_text(found))
        except TimeoutError as timeout:
            return undetermined(str(timeout))
        return PASSED if matches else failed(f"does not match `{shown}`; got {quote(found)}")

    return on_output(params, inspect)


CHECK = Check(
    parameters(
        required=("pattern",),
        pattern={
            **PATTERN,
            "description": "A regular expression that must match somewhere in the output.",
        },
        ignore_case=IGNORE_CASE,
        field=FIELD,
        timeout_ms=TIMEOUT_MS,
    ),
    _prepare,
    group="text",
    examples=(
        Example(r"{type: regex, pattern: '^[A-Z]{2,4}\$?$', name: is a tag}", "REF$", "Refund"),
        Example(
            r"{type: regex, field: date, pattern: '^\d{4}-\d{2}-\d{2}$'}",
            '{"date": "2026-11-22"}',
            '{"date": "22 November"}',
        ),
    ),
)
