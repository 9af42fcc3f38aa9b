"""Code that checks share which look for a text, or for several."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from gatekeeper.checks.check import ParameterError, Parameters
from gatekeeper.checks.output import as_text

_SCALAR: Parameters = {"type": ["string", "number", "boolean"]}

VALUE: Parameters = {**_SCALAR, "description": "The text to look for."}
VALUES: Parameters = {
    "type": "array",
    "items": _SCALAR,
    "minItems": 1,
    "description": "A list of texts to look for, with at least one text.",
}


def wanted_texts(params: Parameters) -> tuple[str, ...]:
    """Return the texts of `value` or `values`."""
    if ("value" in params) == ("values" in params):
        raise ParameterError(
            "`value` and `values` are both set"
            if "value" in params
            else "neither `value` nor `values` is set",
            "give one text as `value`, or a list of texts as `values`",
        )
    values = params["values"] if "values" in params else [params["value"]]
    texts = tuple(as_text(value) for value in values)
    if "" in texts:
        raise ParameterError(
            "the text to look for is empty, so that every output contains this text",
            "write a text",
        )
    return texts


def wanted_affixes(params: Parameters, normalise: Callable[[Any], str]) -> Mapping[str, str]:
    """Return each text of `value` or `values` with the text to compare."""
    wanted = {text: normalise(text) for text in wanted_texts(params)}
    if "" in wanted.values():
        raise ParameterError("the text to look for is only white space", "write some text")
    return wanted
