"""Schemas for a model that seldom ends an answer by itself."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest

from gatekeeper.author.generation.questions import QUESTIONS, bounded, schema_of

RULES = QUESTIONS["rules"].schema


def parts(schema: Any) -> Iterator[dict[str, Any]]:
    if isinstance(schema, dict):
        if isinstance(schema.get("type"), str):
            yield schema
        for value in schema.values():
            yield from parts(value)


@pytest.mark.parametrize("name", [n for n, q in QUESTIONS.items() if "vars" not in str(q.schema)])
def test_each_text_and_list_has_an_end_and_fits_the_schema_of_the_stage(name: str) -> None:
    schema = QUESTIONS[name].schema
    limited = bounded(schema, (2, 5))
    jsonschema.Draft202012Validator.check_schema(limited)
    for part in parts(limited):
        assert part["type"] != "array" or part["maxItems"] > 0
        assert part["type"] != "string" or "enum" in part or part["maxLength"] > 0
    added = {"minItems", "maxItems", "minLength", "maxLength"}
    for part in parts(limited):
        for key in added & part.keys():
            del part[key]
        if part["type"] == "integer":
            part.pop("enum", None)
    assert limited == schema
    assert not added & {key for part in parts(schema) for key in part}


def test_lines_have_to_exist() -> None:
    valid = jsonschema.Draft202012Validator(bounded(RULES, (2, 5))).is_valid
    assert valid({"rules": [{"text": "The output is short.", "lines": [5]}]})
    assert not valid({"rules": [{"text": "The output is short.", "lines": [3]}]})
    assert not valid({"rules": [{"text": "The output is short.", "lines": []}]})
    assert not valid({"rules": [{"text": "", "lines": [5]}]})


def test_a_variable_with_the_name_of_lines_stays_text() -> None:
    variables = schema_of({"lines": str, "more": [str]})
    limited = bounded(variables, (2, 5))["properties"]
    assert (limited["lines"]["type"], limited["more"]["items"]["type"]) == ("string", "string")


def test_only_the_embedded_model_gets_them() -> None:
    def sent(model: str) -> tuple[str, Any, int]:
        request = QUESTIONS["rules"].request(model, {"prompt": "x"}, lines=(1,))
        form = request.params["response_format"]["json_schema"]["schema"]
        return request.messages[1].content, form, request.params["max_tokens"]

    question, schema, most = sent("openai/gpt-4o-mini")
    assert (schema, most) == (RULES, 4096)
    embedded = sent("local/smollm2")
    assert embedded[1:] == (bounded(RULES, (1,)), 2048)
    # Both read the schema of the stage.
    assert all(json.dumps(RULES) in text for text in (question, embedded[0]))
