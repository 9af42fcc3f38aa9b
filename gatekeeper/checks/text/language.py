"""The output is written in the given language, or in one of several.

Write languages as codes of ISO 639-1, such as `en` or `zh`; lingua knows 75. The check passes if
one of the expected languages has a confidence of at least `min` among all languages, or among those
in `among`. A few words can belong to many languages: "Uw terugbetaling is onderweg." is Dutch with
a confidence of 0.03, but with 0.99 among `en`, `de`, `fr` and `nl`. So set `among` if you can. With
it, the check failed for 0.9 % of English texts of 60 characters or more, and for 16 % of shorter
ones.

A text without words fails. The whole text is rated, so one foreign sentence passes. Needs the
[extra `text`](#limits) (in the action, `lingua-language-detector`).
"""

from __future__ import annotations

import re
from functools import lru_cache
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
from gatekeeper.checks.extras import import_extra
from gatekeeper.checks.reading.output import FIELD, as_text, on_output, quote
from gatekeeper.checks.text.overlap.references import LONGEST

_MIN = 0.5
_LONG_WORD = re.compile(r"\S{200}")
_CODES: Parameters = {"type": "array", "items": {"type": "string"}, "minItems": 1}


def _prepare(params: Parameters, _files: Files) -> SampleEvaluator:
    value = params["value"]
    wanted = tuple(code.lower() for code in ([value] if isinstance(value, str) else value))
    among = tuple(sorted({code.lower() for code in params.get("among", ())} | set(wanted)))
    if "among" in params and len(among) == 1:
        raise ParameterError(
            "`among` has only one language", "list at least two languages, or remove `among`"
        )
    known = _known_languages()
    for code in among:
        if code not in known:
            raise ParameterError(
                f"the check does not know the language `{code}`", f"use one of {', '.join(known)}"
            )
    detector = _detector(among if "among" in params else ())
    least = params.get("min", _MIN)
    listed = " or ".join(wanted)

    def inspect(found: Any) -> Finding:
        text = as_text(found)
        if len(text) > LONGEST:
            return undetermined(
                f"the text has {len(text):,} characters, too many to find its language"
            )
        rated = detector.compute_language_confidence_values(_readable(text))
        confidence = {one.language.iso_code_639_1.name.lower(): one.value for one in rated}
        nearest = max(wanted, key=lambda code: confidence.get(code, 0.0))
        best = confidence.get(nearest, 0.0)
        if best >= least:
            return PASSED
        first = max(confidence, key=lambda code: confidence[code], default="")
        if not confidence or not confidence[first]:
            return failed(f"expected {listed}; the text has no words: {quote(text)}")
        message = (
            f"expected the language {listed} with a confidence of at least {least:g}; "
            f"got {best:.2f} for {nearest}"
        )
        more = f", and {confidence[first]:.2f} for {first}" if first not in wanted else ""
        return failed(f"{message}{more}: {quote(text)}")

    return on_output(params, inspect)


def _readable(text: str) -> str:
    """Return a text that lingua can rate: its time grows with the square of a word's length, and
    half a surrogate pair is no text to it."""
    whole = text.encode("utf-8", "replace").decode("utf-8")
    return _LONG_WORD.sub(lambda found: f"{found[0]} ", whole)


@lru_cache(maxsize=1)
def _known_languages() -> dict[str, Any]:
    language = import_extra("lingua", "language").Language
    return {
        one.iso_code_639_1.name.lower(): one
        for one in sorted(language.all(), key=lambda one: one.iso_code_639_1.name)
    }


@lru_cache(maxsize=16)
def _detector(codes: tuple[str, ...]) -> Any:
    """Return the detector of these languages; of all if there are none."""
    builder = import_extra("lingua", "language").LanguageDetectorBuilder
    known = _known_languages()
    chosen = (
        builder.from_languages(*(known[code] for code in codes))
        if codes
        else builder.from_all_languages()
    )
    return chosen.with_low_accuracy_mode().build()


CHECK = Check(
    parameters(
        required=("value",),
        value={
            **_CODES,
            "type": ["string", "array"],
            "description": (
                "The code of the expected language, or a list of codes of which one must match."
            ),
        },
        among={
            **_CODES,
            "description": (
                "A list of codes of the languages, besides `value`, that the output may be in."
            ),
        },
        min={
            "x-looser": "down",
            "type": "number",
            "exclusiveMinimum": 0,
            "maximum": 1,
            "default": _MIN,
            "description": "The lowest confidence that passes: more than 0 and at most 1.",
        },
        field=FIELD,
    ),
    _prepare,
    group="text",
    examples=(
        Example(
            '{type: language, value: "{{ customer_language }}"}',
            "Ihre Erstattung ist unterwegs und trifft in drei Tagen ein.",
            "Your refund is on its way and arrives in three days.",
            vars={"customer_language": "de"},
        ),
        Example(
            "{type: language, value: nl, among: [en, de, fr, nl]}",
            "Uw terugbetaling is onderweg.",
            "Ihre Erstattung ist unterwegs.",
        ),
    ),
)
