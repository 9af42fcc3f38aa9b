"""The questions that `generate`, `mutate` and a proposal of contracts ask a model.

A question is a row of `QUESTIONS` and a prompt in `prompts/`, which has its name. ask.py asks them
all in one way. What the prompt, a person or a model wrote stands in the question as data, because a
pull request can write it (contract/reading/data_blocks.py).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, get_args

from gatekeeper.author.specification.spec_file import QuestionKind, TestKind
from gatekeeper.contract.models.answer_params import Answer, answer_params, takes_schema
from gatekeeper.contract.reading.data_blocks import data_message
from gatekeeper.contract.values.definition import Message
from gatekeeper.contract.values.trial import Request

MOST_TOKENS = 4_096
"""Of an answer, for a model that does not think before it answers."""
SEED = 42
DATA_RULES, DATA_INSTRUCTION = "data_rules", "data_instruction"
"""The files in prompts/ that are a part of every question: what data is, and what to do with it."""
ANY_VARIABLES: Mapping[str, Any] = {"type": "object", "minProperties": 1}
"""The values of the variables of any prompt. A question that is asked names those of its own."""

LONGEST_TEXT = 100
MOST_ITEMS = 3
MOST_BOUNDED_TOKENS = 2048
"""Enough for each answer within these limits, which are those of a small model: see `bounded`."""
_PLACEHOLDER = re.compile(r"\{\{\s*(\w+)\s*\}\}")


@dataclass(frozen=True, slots=True)
class Question:
    """What a model can be asked: the `schema` of an answer, its `most_tokens`, and how a run asks
    it less often (`fewer`)."""

    name: str
    schema: Mapping[str, Any]
    most_tokens: int = MOST_TOKENS
    fewer: str = ""

    def with_variables(self, values: Mapping[str, Any] | None) -> Mapping[str, Any]:
        """Return the schema for a prompt whose variables have this schema."""
        found: Mapping[str, Any] = _replaced(self.schema, values) if values else self.schema
        return found

    def request(
        self,
        model: str,
        data: Mapping[str, str],
        settings: Mapping[str, str] | None = None,
        *,
        values: Mapping[str, Any] | None = None,
        most_tokens: int | None = None,
        lines: Sequence[int] = (),
    ) -> Request:
        """Return the question as it is sent.

        Args:
            model: Who is asked.
            data: The texts to work on, by their names.
            settings: What fills the placeholders of the prompt. None of it may come from a file or
                a model.
            values: The schema of the variables of a test, if the answer has tests.
            most_tokens: Of the answer, if fewer than usual are expected.
            lines: The prompt's lines with text: the embedded model can name no others.
        """
        schema, tokens = self.with_variables(values), most_tokens or self.most_tokens
        filled = settings or {}
        system = _PLACEHOLDER.sub(lambda match: filled[match[1]], prompt_text(self.name)).rstrip()
        instruction = prompt_text(DATA_INSTRUCTION).rstrip()
        messages = (
            Message("system", f"{system}\n\n{prompt_text(DATA_RULES)}"),
            Message(
                "user",
                data_message(data, f"{instruction} {json.dumps(schema, ensure_ascii=False)}"),
            ),
        )
        if model.startswith("local/"):
            schema, tokens = bounded(schema, lines), min(tokens, MOST_BOUNDED_TOKENS)
        form = Answer(self.name, schema) if takes_schema(model) else None
        return Request(model, messages, answer_params(model, {}, tokens, form), SEED, 0)


@cache
def prompt_text(name: str) -> str:
    """Return the text of a file in prompts/: that of a question, or a part of each."""
    return files("gatekeeper.author.generation").joinpath(f"prompts/{name}.md").read_text("utf-8")


def schema_of(form: Any) -> dict[str, Any]:
    """Return the JSON Schema of a form: `str` and `int` stand for themselves, a tuple for one of
    its texts, a list for any number of its item, a mapping for an object that has these properties
    and no others, as providers that enforce a schema need it."""
    if form is str:
        return {"type": "string"}
    if form is int:
        return {"type": "integer"}
    if isinstance(form, tuple):
        return {"type": "string", "enum": list(form)}
    if isinstance(form, list):
        return {"type": "array", "items": schema_of(form[0])}
    if form is ANY_VARIABLES:
        return dict(form)
    properties = {name: schema_of(one) for name, one in form.items()}
    return {
        "type": "object",
        "additionalProperties": False,
        "required": list(properties),
        "properties": properties,
    }


def bounded(schema: Mapping[str, Any], lines: Sequence[int] = ()) -> dict[str, Any]:
    """Return the schema with a limit for each text and each list that has none.

    The embedded model follows the grammar of a schema, but seldom ends a text or a list by itself:
    it goes on until the limit of tokens cuts its answer off, which is then no JSON.

    Args:
        schema: A JSON Schema, with a `type` in each schema inside it.
        lines: What the integers of a property `lines` have to be; nothing leaves them free.
    """
    kind = schema["type"]
    if kind == "string" and "enum" not in schema:
        return {"minLength": 1, "maxLength": LONGEST_TEXT, **schema}
    if kind == "array":
        return {"maxItems": MOST_ITEMS, **schema, "items": bounded(schema["items"], lines)}
    if kind == "object":
        properties = {
            name: _existing(lines) if lines and _are_lines(name, one) else bounded(one, lines)
            for name, one in schema["properties"].items()
        }
        return {**schema, "properties": properties}
    return dict(schema)


def _are_lines(name: str, schema: Mapping[str, Any]) -> bool:
    """Return whether a property holds lines. A variable of the prompt can have the same name."""
    return name == "lines" and schema.get("items") == {"type": "integer"}


def _existing(lines: Sequence[int]) -> dict[str, Any]:
    """Return the schema of a list of lines that exist."""
    items = {"type": "integer", "enum": list(lines)}
    return {"type": "array", "minItems": 1, "maxItems": MOST_ITEMS, "items": items}


def _replaced(schema: Any, values: Mapping[str, Any]) -> Any:
    """Return a schema with that of the values in place of any variables."""
    if schema == ANY_VARIABLES:
        return values
    if isinstance(schema, Mapping):
        return {name: _replaced(one, values) for name, one in schema.items()}
    return schema


_ITEM = {"text": str, "lines": [int]}
_OPEN = {"kind": get_args(QuestionKind), **_ITEM}
_INPUT = {"vars": ANY_VARIABLES}
_TEST = {"kind": get_args(TestKind), "scenario": str, "reason": str, **_INPUT}
_VERDICT = {"reason": str, "verdict": ("yes", "no", "unknown")}
_CHECK = {
    "type": (
        *("enum", "contains", "not_contains", "starts_with", "ends_with", "language"),
        *("regex", "not_regex", "length", "json_valid", "json_schema", "none"),
    ),
    "values": [str],
    "min": int,
    "max": int,
    "unit": ("characters", "words"),
}


def _changes(item: Mapping[str, Any]) -> dict[str, Any]:
    """Return the form of an answer that keeps items in step with a prompt."""
    known = {"number": int, "verdict": ("keep", "reword", "obsolete"), **_ITEM, **item}
    return {"known": [known], "new": [{**_ITEM, **item}]}


_FORMS: Mapping[str, Mapping[str, Any]] = {
    "input_specification": {"intent": str, "constraints": [_ITEM]},
    "rules": {"rules": [_ITEM]},
    "inverse_rules": {"inverses": [{"number": int, "inverse": str}]},
    "rule_checks": {
        "checks": [{"number": int, "check": _CHECK, "complying": [str], "breaking": [str]}]
    },
    "open_questions": {"questions": [_OPEN]},
    "update_input_specification": {"intent": str, **_changes({})},
    "update_rules": _changes({}),
    "update_open_questions": _changes({"kind": get_args(QuestionKind)}),
    "tests": {"rule_tests": [_TEST], "inverse_tests": [_TEST]},
    "rating": {"duplicates": [[int]], "missing": [{"rule": int, "kind": str}]},
    "expansion": {"tests": [{"number": int, **_INPUT}]},
    "baseline_tests": {"tests": [{"scenario": str, **_INPUT}]},
    "survivors": {"tests": [_TEST]},
    "mutations": {"mutations": [{"part": int, "now": str, "why": str}]},
    "rule_grounded": _VERDICT,
    "test_valid": _VERDICT,
    "answer_correct": _VERDICT,
    "rules_obeyed": {"verdicts": [{"number": int, **_VERDICT}]},
}
_TOKENS = {"rule_grounded": 512, "test_valid": 512, "answer_correct": 512}
_FEWER = {"tests": ", or ask for fewer tests with --tests-per-rule"}
QUESTIONS: Mapping[str, Question] = {
    name: Question(name, schema_of(form), _TOKENS.get(name, MOST_TOKENS), _FEWER.get(name, ""))
    for name, form in _FORMS.items()
}
