"""The child's service: parses TOML and Python. See `gatekeeper/sandbox`."""

from __future__ import annotations

import ast
import math
import re
import tomllib
import warnings
from collections.abc import Iterator, Mapping
from typing import Any

from gatekeeper.contract.syntax.toml_positions import TooDeepError, scan_toml

_AT = re.compile(r"\(at line (\d+), column (\d+)\)")


def answer(request: Mapping[str, Any]) -> Iterator[Any]:
    """Yield the one response to a request: what the text contains, or the `fault`."""
    try:
        yield (_toml if request["kind"] == "toml" else _python)(request["text"])
    except TooDeepError as error:
        yield {"fault": [str(error), *error.place]}
    except (RecursionError, MemoryError):
        yield {"fault": ["it takes too much memory, or is nested too deeply", 1]}


def _toml(text: str) -> Mapping[str, Any]:
    try:
        # First: it stops at a key that the parser of the standard library needs gigabytes for.
        found = scan_toml(text)
    except ValueError:
        found = {}
    try:
        data = tomllib.loads(text)
    except ValueError as error:
        at = _AT.search(str(error))
        what = _AT.sub("", str(error)).strip() or "cannot be read"
        line, column = (int(at[1]), int(at[2])) if at else (text.count("\n") + 1, 1)
        return {"fault": [what, line, column]}
    return {"data": _plain(data), **found}


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else 0
    return value if isinstance(value, str | int) else 0


def _python(text: str) -> Mapping[str, Any]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            module = ast.parse(text)
    except (SyntaxError, ValueError) as error:
        what = getattr(error, "msg", None) or str(error)
        return {"fault": [what, getattr(error, "lineno", None) or 1]}
    defined = (node for node in module.body if isinstance(node, ast.FunctionDef))
    return {"functions": [_function(node) for node in defined]}


def _function(node: ast.FunctionDef) -> Mapping[str, Any]:
    given = node.args
    return {
        "name": node.name,
        "only_by_position": [each.arg for each in given.posonlyargs],
        "by_position_or_name": [each.arg for each in given.args],
        "only_by_name": [each.arg for each in given.kwonlyargs],
        "defaults": len(given.defaults),
        "requires_names": any(default is None for default in given.kw_defaults),
        "takes_any_number": given.vararg is not None,
    }
