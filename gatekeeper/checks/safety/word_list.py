"""The output contains none of the given words.

List them in `words`, or in a `file` with one word or phrase on each line (`#` begins a comment).
Only whole words match: `ass` does not match `class`. Case, accents, full-width letters, invisible
characters and punctuation within a phrase do not matter: `money back` matches `money-back`. List
other forms, such as plurals. For texts within words, use [not_contains](#not_contains).
"""

from __future__ import annotations

from collections.abc import Mapping
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
from gatekeeper.checks.reading.output import FIELD, as_text, on_output, quote
from gatekeeper.checks.safety.plain_text import plain_words, too_long

_MOST_SHOWN = 5
_MOST_WORDS = 20
"""Words of a phrase."""


def _prepare(params: Parameters, files: Files) -> SampleEvaluator:
    phrases = _phrases(_listed(params, files))
    lengths = sorted({len(phrase) for phrase in phrases})

    def inspect(found: Any) -> Finding:
        text = as_text(found)
        problem = too_long(text)
        if problem:
            return undetermined(problem)
        words = plain_words(text)
        shown = {
            written: None
            for at in range(len(words))
            for length in lengths
            if (written := phrases.get(tuple(words[at : at + length])))
        }
        if not shown:
            return PASSED
        listed = ", ".join(quote(written) for written in list(shown)[:_MOST_SHOWN])
        more = ", …" if len(shown) > _MOST_SHOWN else ""
        return failed(f"contains {listed}{more}")

    return on_output(params, inspect)


def _listed(params: Parameters, files: Files) -> list[str]:
    if "words" not in params and "file" not in params:
        raise ParameterError("neither `words` nor `file` is set", "set `words` or `file`")
    lines = files.texts[params["file"]].splitlines() if "file" in params else []
    in_file = [line.strip() for line in lines if line.strip() and not line.startswith("#")]
    listed = [*params.get("words", ()), *in_file]
    if not listed:
        raise ParameterError(f"`{params['file']}` has no words", "write one word on each line")
    return listed


def _phrases(listed: list[str]) -> Mapping[tuple[str, ...], str]:
    phrases = {}
    for written in listed:
        phrase = tuple(plain_words(written))
        if not phrase:
            raise ParameterError(
                f"{quote(written)} has no letter and no digit",
                "use the check `not_contains` instead",
            )
        if len(phrase) > _MOST_WORDS:
            raise ParameterError(
                f"{quote(written)} has {len(phrase)} words", f"write at most {_MOST_WORDS} words"
            )
        phrases[phrase] = written
    return phrases


CHECK = Check(
    parameters(
        words={
            "type": "array",
            "items": {"type": "string", "minLength": 1},
            "minItems": 1,
            "description": "A list of words and phrases that must not occur.",
        },
        file={
            "type": "string",
            "minLength": 1,
            "description": "The path of a text file with one word or phrase on each line.",
        },
        field=FIELD,
    ),
    _prepare,
    paths=("file",),
    group="safety",
    examples=(
        Example(
            "{type: word_list, words: [guarantee, money back, RivalSoft]}",
            "We guaranteed a refund.",
            "You get your Money-Back!",
        ),
        Example(
            "{type: word_list, file: /words/competitors.txt}",
            "Our product does that.",
            "Rivalsoft does that too.",
            files={"words/competitors.txt": "# Names that we do not mention\nRivalSoft\n"},
        ),
    ),
)
