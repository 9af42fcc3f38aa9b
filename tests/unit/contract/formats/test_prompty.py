"""Prompty 1 and 2: samples, inputs with defaults, outputs, tools."""

from __future__ import annotations

import json

import pytest
from support.foreign_files import checks, loaded, sent, skipped

PROMPTY = """\
---
name: Basic Prompt
model:
  api: chat
  configuration: {type: openai, name: openai/gpt-4o-mini}
  parameters: {max_tokens: 128, response_format: {type: json_object}}
sample:
  firstName: Jane
  question: Which tents are there?
---
system:
You help {{firstName}}.
user:
{{question}}
"""


def test_the_sample_of_a_prompty_file_is_a_fixture() -> None:
    contract = loaded({"evals/basic.prompty": PROMPTY}, "evals/basic.prompty")
    assert sent(contract) == [("system", "You help Jane."), ("user", "Which tents are there?")]
    assert checks(contract) == [("json_valid", None)]
    apart = PROMPTY.replace(
        "sample:\n  firstName: Jane\n  question: Which tents are there?\n",
        "sample: ${file:people.json}\n",
    )
    rows = [{"firstName": name, "question": "Why?"} for name in ("Ann", "Bo")]
    both = loaded(
        {"evals/basic.prompty": apart, "evals/people.json": json.dumps(rows)}, "evals/basic.prompty"
    )
    assert [fixture.vars["firstName"] for fixture in both.fixtures] == ["Ann", "Bo"]
    assert "evals/people.json" in both.dependencies


def test_prompty_2_has_its_samples_with_the_inputs() -> None:
    text = PROMPTY.replace(
        "sample:\n  firstName: Jane\n  question: Which tents are there?\n",
        "inputs:\n  - {name: firstName, kind: string, sample: Jane}\n"
        "  - {name: question, kind: string, example: Which?}\n"
        "outputs:\n  answer: {type: string}\n  score: {type: float}\n",
    )
    contract = loaded({"evals/basic.prompty": text}, "evals/basic.prompty")
    assert dict(contract.fixtures[0].vars) == {"firstName": "Jane", "question": "Which?"}
    [(kind, schema)] = checks(contract)
    assert kind == "json_schema"
    assert schema["properties"] == {"answer": {"type": "string"}, "score": {"type": "number"}}


def test_the_outputs_of_prompty_2_are_sent_and_checked_in_full() -> None:
    """As Prompty's own runtime sends them: all required, and nothing else allowed."""
    outputs = """\
outputs:
  - {name: label, kind: string, enumValues: [a, b]}
  - {name: scores, kind: array, items: {kind: float}}
  - {name: tags, kind: array}
  - name: place
    kind: object
    properties: [{name: city, kind: string}]
---
"""
    text = PROMPTY.replace(", response_format: {type: json_object}", "")
    contract = loaded(
        {"evals/basic.prompty": text.replace("---\nsystem", f"{outputs}system")},
        "evals/basic.prompty",
    )
    place = {"type": "object", "required": ["city"], "properties": {"city": {"type": "string"}}}
    schema = {
        "type": "object",
        "required": ["label", "scores", "tags", "place"],
        "properties": {
            "label": {"type": "string", "enum": ["a", "b"]},
            "scores": {"type": "array", "items": {"type": "number"}},
            "tags": {"type": "array", "items": {"type": "string"}},
            "place": {**place, "additionalProperties": False},
        },
        "additionalProperties": False,
    }
    assert checks(contract) == [("json_schema", schema)]
    assert contract.target.params == {
        "max_tokens": 128,
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "structured_output", "strict": True, "schema": schema},
        },
    }


@pytest.mark.parametrize(
    ("sample", "expected"),
    [
        ("sample: {question: Why?}\n", {"firstName": "Guest", "question": "Why?"}),
        ("sample: {question: Why?, firstName: Jo}\n", {"firstName": "Jo", "question": "Why?"}),
        ("", {"firstName": "Guest", "question": "Which?"}),
    ],
)
def test_an_input_of_prompty_without_a_sample_has_its_default(
    sample: str, expected: dict[str, str]
) -> None:
    text = PROMPTY.replace(
        "sample:\n  firstName: Jane\n  question: Which tents are there?\n",
        "inputs:\n  - {name: firstName, kind: string, default: Guest}\n"
        f"  - {{name: question, kind: string, sample: Which?}}\n{sample}",
    )
    contract = loaded({"evals/basic.prompty": text}, "evals/basic.prompty")
    assert dict(contract.fixtures[0].vars) == expected


def test_the_tools_of_a_prompty_file_are_named_as_not_sent() -> None:
    text = PROMPTY.replace("sample:\n", "tools: [{name: find, kind: function}]\nsample:\n")
    contract = loaded({"evals/basic.prompty": text}, "evals/basic.prompty")
    assert skipped(contract) == [("tools", "evals/basic.prompty", 7)]
