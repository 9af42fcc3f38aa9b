"""How checks read an output (text, strict JSON, one field of it) and quote it in messages."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NoReturn
from unicodedata import normalize

from gatekeeper.checks.check import (
    Finding,
    Parameters,
    SampleEvaluator,
    failed,
    undetermined,
)
from gatekeeper.checks.reading.field_path import Missing, find, is_query, parse_path
from gatekeeper.checks.reading.json_path import JsonPath, QueryError, Selected

FIELD: Parameters = {
    "type": "string",
    "minLength": 1,
    "description": (
        "The path of the part of a JSON output that the check evaluates, like `customer.name`. "
        "A JSONPath like `$.items[*].id` can select several parts."
    ),
}
IGNORE_CASE: Parameters = {
    "type": "boolean",
    "default": False,
    "description": "Whether upper and lower case are equal.",
}
EXACT_UNICODE: Parameters = {
    "type": "boolean",
    "default": False,
    "description": "Whether the two forms of an accent (NFC and NFD) are told apart.",
}
STRIP: Parameters = {
    "type": "boolean",
    "default": True,
    "description": "Whether white space around the output is ignored.",
}

_SHOWN = 80

_SECONDS_FOR_PARTS = 2.0
"""The seconds after which the check evaluates no further part of an output."""

# Deeper than any answer worth reading, and far from the interpreter's own limit.
_MAX_DEPTH = 200


@dataclass(frozen=True, slots=True)
class NotJson:
    """Why and at which position a text is not JSON."""

    message: str


def parse_json(text: str) -> Any | NotJson:
    """Read strict JSON (RFC 8259): no NaN, nothing after the value, no comments."""
    try:
        value = json.loads(text, parse_constant=_refuse, parse_float=_finite)
    except json.JSONDecodeError as error:
        return NotJson(f"not JSON: {_place(error)}")
    except RecursionError:
        return _TOO_DEEP
    except ValueError as error:
        return NotJson(f"not JSON: {error}")
    return _TOO_DEEP if _is_deep(text, value) else value


def on_output(params: Parameters, inspect: Callable[[Any], Finding]) -> SampleEvaluator:
    """Return an evaluator that inspects the output's text, or the part of its JSON at the parameter
    `field`. If that is a JSONPath query, every part that it selects must pass, and there must be
    one."""
    if "field" not in params:
        return lambda sample: inspect(sample.output)
    if is_query(params["field"]):
        return on_selected(JsonPath(params["field"]), lambda parts: _each(parts, inspect))
    path = parse_path(params["field"])

    def evaluate_field(value: Any) -> Finding:
        part = find(value, path)
        if isinstance(part, Missing):
            return failed(
                f"the JSON has no part `{path.text}`; the path exists only up to `{part.reached}`"
            )
        finding = inspect(part)
        if finding.passed:
            return finding
        return replace(finding, message=f"`{path.text}`: {finding.message}")

    return on_json(evaluate_field)


def on_json_part(params: Parameters, inspect: Callable[[Any], Finding]) -> SampleEvaluator:
    """Return an evaluator that inspects the output as JSON, or the parts of it at the parameter
    `field`."""
    return on_output(params, inspect) if "field" in params else on_json(inspect)


def on_selected(
    path: JsonPath, inspect: Callable[[Sequence[Selected]], Finding], *, may_be_empty: bool = False
) -> SampleEvaluator:
    """Return an evaluator that inspects the parts of the output's JSON that a query selects.

    The output fails if the query selects nothing, unless the selection `may_be_empty`.
    """

    def evaluate(value: Any) -> Finding:
        try:
            parts = path.select(value)
        except QueryError as error:
            return undetermined(str(error))
        if not parts and not may_be_empty:
            return failed(f"the JSONPath `{path.text}` selects nothing in the output")
        return inspect(parts)

    return on_json(evaluate)


def _each(parts: Sequence[Selected], inspect: Callable[[Any], Finding]) -> Finding:
    """Return the first failure, else the first part that could not be evaluated. The score is the
    lowest. What is not reached in time could not be evaluated."""
    found: list[tuple[str, Finding]] = []
    started = time.monotonic()
    for part in parts:
        if time.monotonic() - started > _SECONDS_FOR_PARTS:
            late = undetermined(f"evaluating the {len(parts):,} selected parts takes too long")
            found.append((part.path, late))
            break
        found.append((part.path, inspect(part.value)))
    scores = [finding.score for _, finding in found if finding.score is not None]
    score = min(scores, default=None)
    for passed in (False, None):
        worse = [(path, finding) for path, finding in found if finding.passed is passed]
        if worse:
            path, finding = worse[0]
            more = f" (and {len(worse) - 1:,} more)" if len(worse) > 1 else ""
            return replace(
                finding,
                message=f"`{_encodable(shorten(path))}`{more}: {finding.message}",
                score=score,
            )
    # Only a check that hands on what it reads has messages here.
    return Finding(True, "\n".join(f.message for _, f in found if f.message), score)


def on_json(inspect: Callable[[Any], Finding]) -> SampleEvaluator:
    """Return an evaluator that inspects the output as JSON; an output that is not JSON fails."""

    def evaluate(sample: Any) -> Finding:
        value = parse_json(sample.output)
        return failed(value.message) if isinstance(value, NotJson) else inspect(value)

    return evaluate


def as_text(value: Any) -> str:
    """Return a text as it is, and any other JSON value as a model would write it."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def normaliser(params: Parameters, *, strip: bool) -> Callable[[Any], str]:
    """Return a function that prepares text for comparison, by the parameters `ignore_case`, `strip`
    and `exact_unicode`."""
    strip = params.get("strip", strip)
    fold, exact = params.get("ignore_case", False), params.get("exact_unicode", False)

    def normalise(value: Any) -> str:
        text = as_text(value)
        text = text.strip() if strip else text
        text = text if exact else normalize("NFC", text)
        return text.casefold() if fold else text

    return normalise


def quote(value: Any, shown: int = _SHOWN) -> str:
    """Return a value for a message: on one line, in quotes if it is text, cut if it is long."""
    if not isinstance(value, str):
        return _encodable(shorten(as_text(value), shown))
    cut = value if len(value) <= shown else value[:shown] + "…"
    return _encodable(json.dumps(cut, ensure_ascii=False))


def shorten(text: str, shown: int = _SHOWN) -> str:
    """Return the beginning and the end of a text that is too long, because messages have the
    important part there."""
    if len(text) <= shown:
        return text
    head = shown // 2
    return f"{text[:head]} … {text[head - shown :]}"


_TOO_DEEP = NotJson(
    f"not readable as JSON, because the text has more than {_MAX_DEPTH} nested levels"
)


def _is_deep(text: str, value: Any) -> bool:
    if text.count("[") + text.count("{") <= _MAX_DEPTH:
        return False
    level, depth = [value], 0
    while level and depth < _MAX_DEPTH:
        level = [part for whole in level for part in _parts(whole) if isinstance(part, list | dict)]
        depth += 1
    return bool(level)


def _parts(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _place(error: json.JSONDecodeError) -> str:
    """Say where parsing stopped, for an author who sees only the output."""
    if not error.doc.strip():
        return "the output is empty"
    if error.pos >= len(error.doc.rstrip()):
        return f"the output ends too early, after {quote(_end(error.doc.rstrip()))}"
    around = quote(error.doc[error.pos :], 30)
    if error.msg == "Extra data":
        return f"there is more text after the JSON value: {around} at {error.lineno}:{error.colno}"
    what = error.msg.lower().removesuffix(" at")
    return f"{what} at {error.lineno}:{error.colno}: {around}"


def _end(text: str, shown: int = 20) -> str:
    """Return the last characters.

    An ellipsis says that there are more, and helps to find a secret of which only the end is left.
    """
    return text if len(text) <= shown else f"…{text[-shown:]}"


def _encodable(text: str) -> str:
    """Replace half a surrogate pair, which JSON escapes can name and no report can contain."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not a JSON number")


def _finite(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise ValueError(f"the number {shorten(digits, 20)} is out of range")
    return number
