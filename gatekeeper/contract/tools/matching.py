"""Finds the row that answers a call, and renders its answer. Pure.

Rows with equal arguments and plain templates are answered in this process. All others are answered
in a child with limits (`worker.py`): a pull request writes the patterns, queries, schemas,
templates and patches, and a model the arguments that they are applied to.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache
from typing import Any

from gatekeeper.contract.reading.same_json import same_json
from gatekeeper.contract.templates.budget import Budget
from gatekeeper.contract.templates.plain import is_plain, is_template
from gatekeeper.contract.templates.value_faults import ValueFault
from gatekeeper.contract.values.nested_texts import nested_texts

MOST_RESULT = 100_000
"""The most characters of what a tool answers."""
MOST_SECONDS = 1.0
"""Of processor time, for one condition or patch."""
MOST_STATE = 1_000_000
"""The most characters of a state as JSON."""

Row = Mapping[str, Any]
"""A `ToolRow` as JSON."""


class RowFault(Exception):
    """A row that cannot answer a call, and why."""


def is_simple(row: Row) -> bool:
    """Return whether the row needs no child: what it does is in proportion to its texts."""
    if row["when"].keys() - {"equals"} or any(answer["sets"] for answer in row["answers"]):
        return False
    return all(is_plain(text) or not is_template(text) for text in nested_texts(row))


def find_answer(rows: Sequence[Row], asked: Mapping[str, Any], limit: Any = None) -> dict[str, Any]:
    """Return what answers a call, as JSON: the `row`, the `text`, and the `state` if the row sets
    it; nothing if no row matches.

    `asked` has the `args`, the `state`, the fixture's `variables`, and how often each row has
    answered (`counts`). `limit` bounds the time of a template. Raises RowFault.
    """
    values = {**asked["variables"], "args": asked["args"], "state": asked["state"]}
    render, within = _renderer(values, limit), limit or _unlimited
    for place, row in enumerate(rows):
        try:
            if not _matches(row["when"], asked["args"], render, within):
                continue
            answers = row["answers"]
            answer = answers[min(asked["counts"].get(str(place), 0), len(answers) - 1)]
            found: dict[str, Any] = {"row": place, "is_error": answer["is_error"]}
            if answer["sets"]:
                patch = render(answer["sets"])
                with within(MOST_SECONDS):
                    values["state"] = _patched(asked["state"], patch)
                found["state"] = _bounded(json.dumps(values["state"]), "state", MOST_STATE)
            value = render(answer["value"])
        except ValueFault as fault:
            raise RowFault(f"{_named(row, place)}: {fault.what}") from None
        except RowFault as fault:
            raise RowFault(f"{_named(row, place)}: {fault}") from None
        except (TimeoutError, MemoryError, RecursionError):
            raise RowFault(f"{_named(row, place)}: it takes too much time or memory") from None
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        return found | {
            "text": _bounded(text, "result", MOST_RESULT),
            "delay_ms": answer["delay_ms"],
        }
    return {}


def _named(row: Row, place: int) -> str:
    return f"the row {place + 1} of `{row['tool']}` in `tool_results`"


def _bounded(text: str, what: str, most: int) -> str:
    if len(text) > most:
        raise RowFault(f"the {what} would have more than {most:,} characters")
    return text


def _renderer(values: Mapping[str, Any], limit: Any) -> Callable[[Any], Any]:
    from gatekeeper.contract.templates.rendering import evaluate

    budget, limited = Budget(), [limit] if limit else []

    def render(value: Any) -> Any:
        if isinstance(value, Mapping):
            return {key: render(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [render(item) for item in value]
        if isinstance(value, str) and is_template(value):
            return evaluate(value, values, budget, *limited)
        return value

    return render


def _unlimited(_: float) -> AbstractContextManager[None]:
    return nullcontext()


def _matches(
    when: Mapping[str, Any], args: Mapping[str, Any], render: Callable[..., Any], within: Any
) -> bool:
    for kind, wanted in when.items():
        if kind == "equals":
            wanted = render(wanted)
            return all(name in args and same_json(args[name], wanted[name]) for name in wanted)
        with within(MOST_SECONDS):
            return _condition(kind, json.dumps(wanted))(args)
    return True


@lru_cache(maxsize=1024)
def _condition(kind: str, written: str) -> Callable[[Any], bool]:
    """Return the condition of a row on the arguments. Raises RowFault if it is not one."""
    import jsonpath
    import jsonschema
    import referencing.exceptions
    import regex

    wanted = json.loads(written)
    try:
        if kind == "path":
            query = jsonpath.JSONPathEnvironment(strict=True).compile(wanted)
            return lambda args: next(iter(query.finditer(args)), None) is not None
        if kind == "pattern":
            pattern = regex.compile(wanted)
            return lambda args: (
                pattern.search(json.dumps(args, ensure_ascii=False), timeout=MOST_SECONDS)
                is not None
            )
        jsonschema.Draft202012Validator.check_schema(wanted)
        # An empty registry: what a reference names is not fetched from the network.
        registry: Any = referencing.Registry()
        validator = jsonschema.Draft202012Validator(wanted, registry=registry)
    except (jsonpath.JSONPathError, regex.error, jsonschema.SchemaError, RecursionError) as error:
        raise RowFault(f"`{kind}` in `when`: {str(error).splitlines()[0]}") from None

    def is_valid(args: Any) -> bool:
        try:
            return validator.is_valid(args)
        except referencing.exceptions.Unresolvable as error:
            raise RowFault(f"`schema` in `when`: {error}") from None

    return is_valid


def _patched(state: Any, patch: Sequence[Mapping[str, Any]]) -> Any:
    import jsonpath

    try:
        made = jsonpath.JSONPatch(patch).apply(state)
    except (jsonpath.JSONPatchError, jsonpath.JSONPointerError, TypeError, ValueError) as error:
        said = " ".join(str(error).split()) or type(error).__name__
        raise RowFault(f"`sets` cannot change the state: {said[:200]}") from None
    if made is None:
        raise RowFault("`sets` leaves no state")
    return made


def row_faults(rows: Sequence[Row]) -> Iterator[tuple[int, str]]:
    """Yield each row with a condition, template or patch that is none, with what is wrong."""
    import jsonpath
    from jinja2 import TemplateError

    from gatekeeper.contract.templates.environment import compiled, environment_for, native

    environment = environment_for(())
    for place, row in enumerate(rows):
        try:
            for kind, wanted in row["when"].items():
                if kind != "equals":
                    _condition(kind, json.dumps(wanted))({})
            for text in filter(is_template, nested_texts(row)):
                native(environment, text) or compiled(environment, text, "value")
            for answer in row["answers"]:
                jsonpath.JSONPatch(answer["sets"])
        except RowFault as fault:
            yield place, str(fault)
        except (TemplateError, RecursionError, jsonpath.JSONPatchError) as error:
            yield place, " ".join(str(error).split())[:200] or type(error).__name__
        except (jsonpath.JSONPointerError, TypeError, ValueError) as error:
            yield place, f"`sets` is no JSON Patch: {' '.join(str(error).split())[:200]}"
