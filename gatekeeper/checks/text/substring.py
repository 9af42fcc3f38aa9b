"""Code that `contains` and `not_contains` share: the texts that they look for."""

from __future__ import annotations

from gatekeeper.checks.check import ParameterError, Parameters
from gatekeeper.checks.output import as_text

_SCALAR: Parameters = {"type": ["string", "number", "boolean"]}

VALUE: Parameters = {**_SCALAR, "description": "The text to look for."}
VALUES: Parameters = {
    "type": "array",
    "items": _SCALAR,
    "minItems": 1,
    "description": "A list of texts to look for, at least one.",
}


def wanted_texts(params: Parameters) -> tuple[str, ...]:
    """Return the texts of `value` or `values`."""
    if ("value" in params) == ("values" in params):
        raise ParameterError(
            "`value` and `values` are both set"
            if "value" in params
            else "neither `value` nor `values` is set",
            "give one text as `value`, or a list of them as `values`",
        )
    values = params["values"] if "values" in params else [params["value"]]
    texts = tuple(as_text(value) for value in values)
    if "" in texts:
        raise ParameterError("the text to look for is empty", "every output contains it; write one")
    return texts
