"""The child's service: applies JSONPath queries to JSON values. See `gatekeeper/sandbox`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from jsonpath import JSONPath, JSONPathEnvironment, JSONPathError

from gatekeeper.sandbox.process_limits import cpu_limit

_COMPILE_SECONDS = 1.0


class _Environment(JSONPathEnvironment):
    """RFC 9535, and values as deep as checks read them."""

    max_recursion_depth = 250


_ENVIRONMENT = _Environment(strict=True)


def answer(request: Mapping[str, Any]) -> Iterator[Any]:
    """Yield one response: `error` says what is wrong with the query. If there is a `value`, the
    response has how many values the query selects in it (`count`) or, if `most` is given, the
    first ones with their paths, and whether there are `more`."""
    if not request["query"].strip():  # the library's own error for it cannot be printed
        yield {"error": "it is empty"}
        return
    try:
        with cpu_limit(_COMPILE_SECONDS):
            query = _compiled(request["query"])
    except (JSONPathError, ValueError, RecursionError) as error:
        yield {"error": _first_line(error)}
        return
    except (TimeoutError, MemoryError):
        yield {"error": "the query takes too much time or memory"}
        return
    if "value" not in request:
        yield {"error": None}
        return
    try:
        yield _selected(query, request["value"], request.get("most"))
    except (JSONPathError, RecursionError, MemoryError, OverflowError) as error:
        yield {"fault": _first_line(error)}


def _selected(query: JSONPath, value: Any, most: int | None) -> Mapping[str, Any]:
    matches = iter(query.finditer(value))
    if most is None:
        return {"count": sum(1 for _ in matches)}
    values: list[Any] = []
    paths: list[str] = []
    for match in matches:
        if len(values) == most:
            return {"values": values, "paths": paths, "more": True}
        values.append(match.obj)
        paths.append(match.path)
    return {"values": values, "paths": paths, "more": False}


@lru_cache(maxsize=256)
def _compiled(query: str) -> JSONPath:
    compiled = _ENVIRONMENT.compile(query)
    if not isinstance(compiled, JSONPath):
        raise ValueError("it combines several queries")
    return compiled


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
