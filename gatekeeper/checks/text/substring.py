"""The checks that look for one or several texts in the output: in the whole of it, at its beginning
or at its end."""

from __future__ import annotations

from collections.abc import Callable, Mapping
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
)
from gatekeeper.checks.reading.alike import unseen_difference
from gatekeeper.checks.reading.output import (
    EXACT_UNICODE,
    FIELD,
    IGNORE_CASE,
    STRIP,
    as_text,
    normaliser,
    on_output,
    quote,
)

_AROUND = 20
_SHOWN = 60
_SCALAR: Parameters = {"type": ["string", "number", "boolean"]}
_MATCH: Parameters = {
    "enum": ["all", "any"],
    "default": "all",
    "description": (
        "`all` if the output must contain every text, `any` if one of the texts is enough."
    ),
}

_Mistake = Callable[[str, Mapping[str, str], Any, Parameters], str]
"""Returns the message of a failure, or nothing if the output passes. Its arguments are the
normalised output, each wanted text with its normalised form, the output, and the parameters."""


def _wanted(params: Parameters, normalise: Callable[[Any], str]) -> Mapping[str, str]:
    """Return each text of `value` or `values` with the text to compare."""
    if ("value" in params) == ("values" in params):
        raise ParameterError(
            "`value` and `values` are both set"
            if "value" in params
            else "neither `value` nor `values` is set",
            "give one text as `value`, or a list of texts as `values`",
        )
    texts = [as_text(value) for value in params.get("values", [params.get("value")])]
    wanted = {text: normalise(text) for text in texts}
    if "" in wanted:
        what = "the text to look for is empty, so that every output contains this text"
        raise ParameterError(what, "write a text")
    if "" in wanted.values():
        raise ParameterError("the text to look for is only white space", "write some text")
    return wanted


def _absent(text: str, wanted: Mapping[str, str], found: Any, params: Parameters) -> str:
    any_is_enough = params.get("match", "all") == "any"
    absent = [quote(written) for written, sought in wanted.items() if sought not in text]
    if not absent or (any_is_enough and len(absent) < len(wanted)):
        return ""
    which = "any of " if any_is_enough and len(wanted) > 1 else ""
    unseen = _unseen(wanted, as_text(found))
    return f"does not contain {which}{', '.join(absent)}; got {quote(found)}{unseen}"


def _present(text: str, wanted: Mapping[str, str], found: Any, _params: Parameters) -> str:
    for written, sought in wanted.items():
        at = text.find(sought)
        if at >= 0:
            return f"contains {quote(written)}: {_excerpt(as_text(found), at, sought)}"
    return ""


def _not_first(text: str, wanted: Mapping[str, str], found: Any, _params: Parameters) -> str:
    if text.startswith(tuple(wanted.values())):
        return ""
    begin = f"expected a text that begins with {_either(wanted)}"
    return f"{begin}; got {quote(found)}{_unseen(wanted, as_text(found))}"


def _not_last(text: str, wanted: Mapping[str, str], found: Any, _params: Parameters) -> str:
    if text.endswith(tuple(wanted.values())):
        return ""
    end = as_text(found).strip()[-_SHOWN:]
    ends = f"the text ends with {quote(end)}{_unseen(wanted, end)}"
    return f"expected a text that ends with {_either(wanted)}; {ends}"


def _either(wanted: Mapping[str, str]) -> str:
    return " or ".join(map(quote, wanted))


def _unseen(wanted: Mapping[str, str], found: str) -> str:
    return "".join(unseen_difference(text, found) for text in wanted)


def _excerpt(text: str, at: int, sought: str) -> str:
    """Quote the place in the output. Folding case can change lengths, so it is near, not exact."""
    start = max(0, at - _AROUND)
    end = at + len(sought) + _AROUND
    before, after = "…" if start else "", "…" if end < len(text) else ""
    return quote(f"{before}{text[start:end]}{after}", 3 * _AROUND + len(sought))


def _check(
    about: str,
    mistake: _Mistake,
    *examples: Example,
    stripped: bool = False,
    **own: Parameters,
) -> Check:
    def prepare(params: Parameters, _files: Files) -> SampleEvaluator:
        normalise = normaliser(params, strip=stripped)
        wanted = _wanted(params, normalise)

        def inspect(found: Any) -> Finding:
            message = mistake(normalise(found), wanted, found, params)
            return failed(message) if message else PASSED

        return on_output(params, inspect)

    return Check(
        parameters(
            required=(),
            value={**_SCALAR, "description": "The text to look for."},
            values={
                "type": "array",
                "items": _SCALAR,
                "minItems": 1,
                "description": "A list of texts to look for, with at least one text.",
            },
            **own,
            ignore_case=IGNORE_CASE,
            exact_unicode=EXACT_UNICODE,
            field=FIELD,
        ),
        prepare,
        group="text",
        examples=examples,
        about=about,
    )


CONTAINS = _check(
    """
The output contains the given text. If there are several texts, it contains all of them; with
`match: any`, one is enough.
""",
    _absent,
    Example(
        '{type: contains, value: "{{ expected.order_id }}", ignore_case: true}',
        "Your order a-17 is on its way.",
        "Your order is on its way.",
        expected={"order_id": "A-17"},
    ),
    Example(
        "{type: contains, values: [refund, money back], match: any}",
        "You get your money back.",
        "You get a voucher.",
    ),
    match=_MATCH,
)
NOT_CONTAINS = _check(
    """
The output contains none of the given texts, not even inside a word.
""",
    _present,
    Example(
        "{type: not_contains, values: [as an AI, I cannot], ignore_case: true}",
        "Your parcel arrives on Monday.",
        "As an AI, I do not know.",
    ),
)
STARTS_WITH = _check(
    """
The output begins with the given text, or with one of several.

White space around the output does not count, unless `strip` is false.
""",
    _not_first,
    Example(
        '{type: starts_with, value: "Dear {{ customer }}"}',
        "Dear Ann, your parcel is on its way.",
        "Hello Ann, your parcel is on its way.",
        vars={"customer": "Ann"},
    ),
    Example('{type: starts_with, values: ["Yes", "No"]}', "No, it is late.", "It is late."),
    stripped=True,
    strip=STRIP,
)
ENDS_WITH = _check(
    """
The output ends with the given text, or with one of several.

White space around the output does not count.
""",
    _not_last,
    Example(
        "{type: ends_with, values: [., '!', '?'], name: is a whole sentence}",
        "Your parcel is on its way.\n",
        "Your parcel is on its",
    ),
    stripped=True,
)
