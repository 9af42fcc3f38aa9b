"""Reads the data sets of DeepEval, Inspect, OpenAI Evals and PromptPex as fixtures.

A contract says which it is, as `{file: goldens.json, format: deepeval}`: the files are lists of
plain columns, and `input` and `target` could be variables of any other file.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from gatekeeper.contract.fixtures import Row
from gatekeeper.errors import ContractError, Problem

_DEEPEVAL_LISTS = ("context", "retrieval_context")
_DEEPEVAL_SEPARATORS = ("|", ";")
# Earlier versions of DeepEval write these names with capitals.
_DEEPEVAL = {
    "expectedOutput": "expected_output",
    "actualOutput": "actual_output",
    "retrievalContext": "retrieval_context",
    "additionalMetadata": "additional_metadata",
    "sourceFile": "source_file",
}
_DEEPEVAL_OWN_COLUMNS = "custom_column_key_values"
_DEEPEVAL_METADATA = ("additional_metadata", "source_file", "comments", "name")
_DEEPEVAL_UNUSED = (
    "actual_output",
    "tools_called",
    "expected_tools",
    "token_cost",
    "input_token_count",
    "output_token_count",
    "expectations",
)
_NO_INPUT = (
    "add the column `input`, or name your own column in the contract with `columns: {input: NAME}`"
)
_PROMPTPEX = frozenset(
    ["ruleid", "testid", "testinput", "input", "expectedoutput", "reasoning", "inverse", "validity"]
)
_INSPECT_UNUSED = ("sandbox", "files", "setup", "checkpoint")


def convert_rows(rows: Sequence[Row], kind: str, columns: Any = None) -> list[Row]:
    """Return the rows of a data set as rows of fixtures. Raises ContractError with the line of each
    row that is none.

    `columns` gives the file's own names for the tool's columns: `{input: question}`.
    """
    convert = _KINDS[kind]
    written = columns.items() if isinstance(columns, dict) else ()
    renamed: dict[str, str] = {own: name for name, own in written if isinstance(own, str)}
    found: list[Row] = []
    problems: list[Problem] = []
    for row in rows:
        try:
            if not isinstance(row.data, dict):
                raise _NoFixtureError("a row is not a mapping", "write `{input: …}`")
            named = {str(renamed.get(name, name)): value for name, value in row.data.items()}
            data = {name: value for name, value in convert(named).items() if value is not None}
            found.append(replace(row, data=data))
        except _NoFixtureError as error:
            problems.append(row.document.problem(row.key, error.what, error.fix))
    if problems:
        raise ContractError(problems)
    return found


class _NoFixtureError(Exception):
    def __init__(self, what: str, fix: str) -> None:
        super().__init__(what)
        self.what, self.fix = what, fix


def _deepeval(data: Mapping[str, Any]) -> dict[str, Any]:
    named = {_DEEPEVAL.get(name, name): value for name, value in data.items()}
    if "scenario" in named and "input" not in named:
        what = "the DeepEval golden has the `scenario` of a conversation, but no `input`"
        fix = "write the user's messages of the conversation as `turns` of a fixture"
        raise _NoFixtureError(what, fix)
    if not isinstance(named.get("input"), str):
        raise _NoFixtureError("the DeepEval golden has no `input`", _NO_INPUT)
    metadata = {name: named[name] for name in _DEEPEVAL_METADATA if named.get(name)}
    if "additional_metadata" in metadata:
        metadata["additional_metadata"] = _json_of(metadata["additional_metadata"])
    unused = (*_DEEPEVAL_METADATA, *_DEEPEVAL_UNUSED, _DEEPEVAL_OWN_COLUMNS, "expected_output")
    variables = {
        name: _contexts(value) if name in _DEEPEVAL_LISTS else value
        for name, value in named.items()
        if name not in unused and value is not None
    }
    variables = {**(_mapping(named.get(_DEEPEVAL_OWN_COLUMNS)) or {}), **variables}
    return {"vars": variables, "expected": named.get("expected_output"), "metadata": metadata}


def _inspect(data: Mapping[str, Any]) -> dict[str, Any]:
    unused = ("id", "target", "metadata", *_INSPECT_UNUSED)
    variables = {
        name: _choices(value) if name == "choices" else value
        for name, value in data.items()
        if name not in unused and value is not None
    }
    variables |= _dialogue(data.get("input"), "a sample")
    return {
        "id": data.get("id"),
        "vars": variables,
        "expected": data.get("target"),
        "metadata": _mapping(data.get("metadata")),
    }


def _openai_evals(data: Mapping[str, Any]) -> dict[str, Any]:
    return {"vars": _dialogue(data.get("input"), "a sample"), "expected": data.get("ideal")}


def _promptpex(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return a test of PromptPex. A test without a rule is one of its baseline."""
    written = data.get("testinput", data.get("input"))
    if not isinstance(written, str):
        raise _NoFixtureError("the test has no `testinput`", _NO_INPUT)
    variables = {n: v for n, v in data.items() if n not in _PROMPTPEX and v is not None}
    rule = str(data.get("ruleid") or "").strip()
    metadata = {"rule": f"rule-{rule}"} if rule.isdigit() and int(rule) else {}
    if data.get("reasoning"):
        metadata["reasoning"] = str(data["reasoning"])
    inverse = str(data.get("inverse", "")).strip().lower() in ("true", "1")
    category = ("inverse_rule" if inverse else "rule") if "rule" in metadata else "baseline"
    return {
        "vars": {**variables, "input": written},
        "expected": data.get("expectedoutput") or None,
        "category": category,
        "metadata": metadata,
    }


def _dialogue(written: Any, what: str) -> dict[str, Any]:
    """Return the message of the user as `input`, and that of the system as `system`."""
    if isinstance(written, str):
        return {"input": written}
    found: dict[str, Any] = {}
    for message in written if isinstance(written, list) else ():
        role = message.get("role") if isinstance(message, dict) else None
        name = "input" if role == "user" else "system" if role == "system" else None
        if name is None or name in found or not isinstance(message.get("content"), str):
            wish = f"`input` of {what} must have one user message and at most one system message"
            fix = "remove every other message, and write the `content` of each message as text"
            raise _NoFixtureError(wish, fix)
        found[name] = message["content"]
    if "input" not in found:
        raise _NoFixtureError(f"{what} has no `input`", _NO_INPUT)
    return found


def _contexts(value: Any) -> Any:
    """Return DeepEval's list of texts, which its CSV and JSON Lines files have in one text."""
    read = _json_of(value)
    if not isinstance(read, str) or not read:
        return read or []
    separator = next((s for s in _DEEPEVAL_SEPARATORS if s in read), None)
    return [part.strip() for part in read.split(separator)] if separator else [read]


def _choices(value: Any) -> Any:
    """Return Inspect's list of choices, which a CSV file has in one text: between commas, or
    between spaces if there is no comma."""
    read = _json_of(value)
    if not isinstance(read, str):
        return read
    parts = read.split(",") if "," in read else read.split()
    return [part.strip() for part in parts if part.strip()]


def _mapping(value: Any) -> Any:
    read = _json_of(value)
    return read if isinstance(read, dict) else None


def _json_of(value: Any) -> Any:
    """Return what a text says if it is a list or a mapping in JSON, and else the value itself."""
    if not isinstance(value, str) or not value.startswith(("[", "{")):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


_KINDS: Mapping[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
    "deepeval": _deepeval,
    "inspect": _inspect,
    "openai-evals": _openai_evals,
    "promptpex": _promptpex,
}

FIXTURE_FORMATS = tuple(_KINDS)
"""What a contract can write as the `format` of a fixture file."""
