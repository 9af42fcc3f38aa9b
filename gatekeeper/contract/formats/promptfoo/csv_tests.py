"""Reads a row of a CSV test file as a test case, as promptfoo does (src/csv.ts)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from gatekeeper.contract.formats.known_keys import meant
from gatekeeper.contract.formats.promptfoo.assertion_types import ALL_TYPES
from gatekeeper.contract.formats.promptfoo.nodes import Node
from gatekeeper.contract.syntax.yaml_positions import Document
from gatekeeper.errors import ContractError, Problem

_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?")
_THRESHOLDS = re.compile(r"__config:__expected(\d*):threshold")
_WITH_THRESHOLD = frozenset(
    {
        "answer-relevance", "classifier", "context-faithfulness", "context-recall",
        "context-relevance", "cost", "latency", "levenshtein", "perplexity-score", "perplexity",
        "rouge-n", "similar", "starts-with",
    }
)  # fmt: skip
_LISTS = frozenset({"contains-all", "contains-any", "icontains-all", "icontains-any"})
_TYPES = "|".join(sorted(map(re.escape, ALL_TYPES), key=len, reverse=True))
_LIKE_A_TYPE = re.compile(r"(not-)?([A-Za-z][A-Za-z-]{2,40})(?:\([\d.]+\))?(?:(:)|$)")
_COLUMNS = (
    *("__expected", "__prefix", "__suffix", "__description", "__providerOutput", "__metric"),
    *("__threshold", "__metadata", "__config"),
)
_ASSERTION = re.compile(rf"(not-)?({_TYPES})(?:\((\d+(?:\.\d+)?)\))?(?::([\s\S]*))?")


def row_case(row: Mapping[str, str], path: str, line: int) -> Node:
    """Return the row as a test case. Raises ContractError."""
    case: dict[str, Any] = {"vars": {}, "assert": [], "options": {}, "metadata": {}}
    metric: str | None = None
    thresholds: dict[int, float] = {}
    for column, cell in row.items():
        if column.startswith("__expected"):
            if cell.strip():
                case["assert"].append(assertion_of_text(cell.strip()))
        elif column in ("__prefix", "__suffix"):
            if cell:
                case["options"][column[2:]] = cell
        elif column in ("__description", "__providerOutput"):
            if cell:
                case[column[2:]] = cell
        elif column == "__metric":
            metric = cell or None
        elif column == "__threshold":
            if _number(cell) is not None:
                case["threshold"] = _number(cell)
        elif column.startswith("__metadata:"):
            case["metadata"].update(_metadata(column.removeprefix("__metadata:"), cell))
        elif column.startswith("__config:"):
            thresholds.update(_threshold(column, cell, path, line))
        elif column != "__metadata":
            _require_spelt(column, path)
            case["vars"][column] = cell
    for index, assertion in enumerate(case["assert"]):
        if metric:
            assertion["metric"] = metric
        if index in thresholds:
            assertion["threshold"] = thresholds[index]
    return Node(Document(path, case, {(): (line, 1)}), (), case)


def _require_spelt(column: str, path: str) -> None:
    """Raise ContractError for a variable whose name is likely a misspelt column of promptfoo."""
    if not column.startswith(("__", "_expected")):
        return
    stem, mark, rest = column.partition(":")
    other = meant(stem.rstrip("0123456789"), _COLUMNS)
    if other is not None:
        what = f"unknown column `{column[:100]}`"
        raise ContractError([Problem(path, what, f"did you mean `{other}{mark}{rest[:100]}`?", 1)])


def misspelt_type(cell: str) -> tuple[str, str] | None:
    """Return the word that a cell, compared as a whole, begins with if it is likely a misspelt
    assertion type, and that type; else None."""
    match = _LIKE_A_TYPE.match(cell)
    if match is None:
        return None
    inverse, kind, mark = match.groups()
    other = meant(kind, ALL_TYPES) if mark or "-" in kind else None
    return (f"{inverse or ''}{kind}", f"{inverse or ''}{other}") if other else None


def assertion_of_text(expected: str) -> dict[str, Any]:
    """Return the assertion that a cell of a column `__expected` writes."""
    for mark in ("javascript:", "fn:", "eval:"):
        if expected.startswith(mark):
            return {"type": "javascript", "value": expected.removeprefix(mark).strip()}
    if expected.startswith("file://"):
        if re.search(r"\.(?:[cm]?js|[cm]?ts)$", expected):
            return {"type": "javascript", "value": expected}
        if expected.endswith(".py") or ".py:" in expected:
            return {"type": "python", "value": expected}
    for mark in ("grade:", "llm-rubric:"):
        if expected.startswith(mark):
            return {"type": "llm-rubric", "value": expected.removeprefix(mark)}
    if expected.startswith("python:"):
        return {"type": "python", "value": expected.removeprefix("python:").strip()}
    match = _ASSERTION.fullmatch(expected)
    if match is None:
        return {"type": "equals", "value": expected}
    inverse, kind, threshold, value = match.groups()
    made: dict[str, Any] = {"type": f"{inverse or ''}{kind}"}
    if value is not None:
        made["value"] = _listed(value) if kind in _LISTS else value
        if kind not in ("contains-json", "is-json", *_LISTS):
            made["value"] = value.strip()
    if kind in _WITH_THRESHOLD:
        default = 0.8 if kind == "similar" else 0.75
        made["threshold"] = default if threshold is None else float(threshold)
    return made


def _listed(value: str) -> list[str] | str:
    return split_values(value) or value


def split_values(value: str) -> list[str] | None:
    """Split at commas as promptfoo does: a part in double quotes may hold commas, and empty parts
    are left out. None if a quotation has no end, or more text follows it."""
    return _parts(value)


def _parts(value: str) -> list[str] | None:
    parts: list[str] = []
    at = 0
    while True:
        while at < len(value) and (value[at].isspace() or value[at] == ","):
            at += 1
        if at >= len(value):
            return parts
        if value[at] != '"':
            end = value.find(",", at)
            end = len(value) if end < 0 else end
            parts.append(value[at:end].strip())
            at = end
            continue
        quoted = re.compile(r'"((?:\\["\\]|""|[^"])*)"').match(value, at)
        if quoted is None:
            return None
        parts.append(re.sub(r'\\(["\\])|""', lambda m: m[1] or '"', quoted[1]))
        at = quoted.end()
        while at < len(value) and value[at].isspace():
            at += 1
        if at < len(value) and value[at] != ",":
            return None


def _number(cell: str) -> float | None:
    text = cell.strip()
    return float(text) if _NUMBER.fullmatch(text) else None


def _metadata(name: str, cell: str) -> Iterator[tuple[str, Any]]:
    if not cell.strip():
        return
    if name.endswith("[]"):
        parts = re.split(r"(?<!\\),", cell)
        yield name[:-2], [part.strip().replace("\\,", ",") for part in parts]
    else:
        yield name, cell


def _threshold(column: str, cell: str, path: str, line: int) -> Iterator[tuple[int, float]]:
    match = _THRESHOLDS.fullmatch(column)
    number = _number(cell)
    if match is None or number is None:
        what = f"gatekeeper cannot read the column `{column[:100]}`"
        fix = "name the column `__config:__expected1:threshold` and write a number in each row"
        raise ContractError([Problem(path, what, fix, line)])
    yield int(match[1] or 1) - 1, number
