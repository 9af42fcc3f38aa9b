"""Prompty 1 and 2: samples, inputs with defaults, outputs, tools."""

from __future__ import annotations

import json

import pytest
from support.edited_text import edited
from support.foreign_files import changed, checks, loaded, sent, skipped

from gatekeeper.errors import ContractError

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
    apart = edited(
        PROMPTY,
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
    text = edited(
        PROMPTY,
        "sample:\n  firstName: Jane\n  question: Which tents are there?\n",
        (
            "inputs:\n  - {name: firstName, kind: string, sample: Jane}\n"
            "  - {name: question, kind: string, example: Which?}\n"
            "outputs:\n  answer: {type: string}\n  score: {type: float}\n"
        ),
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
    text = edited(PROMPTY, ", response_format: {type: json_object}", "")
    contract = loaded(
        {"evals/basic.prompty": edited(text, "---\nsystem", f"{outputs}system")},
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
    text = edited(
        PROMPTY,
        "sample:\n  firstName: Jane\n  question: Which tents are there?\n",
        (
            "inputs:\n  - {name: firstName, kind: string, default: Guest}\n"
            f"  - {{name: question, kind: string, sample: Which?}}\n{sample}"
        ),
    )
    contract = loaded({"evals/basic.prompty": text}, "evals/basic.prompty")
    assert dict(contract.fixtures[0].vars) == expected


def test_the_tools_of_a_prompty_file_are_named_as_not_sent() -> None:
    text = edited(PROMPTY, "sample:\n", "tools: [{name: find, kind: function}]\nsample:\n")
    contract = loaded({"evals/basic.prompty": text}, "evals/basic.prompty")
    assert skipped(contract) == [("tools", "evals/basic.prompty", 7)]


def prompty(front: str, body: str = "user:\n{{q}}\n") -> str:
    return f"---\nname: a\n{front}inputs: [{{name: q, kind: string, example: Why?}}]\n---\n{body}"


def test_every_option_of_version_2_is_sent_under_its_name_in_the_request() -> None:
    front = (
        "model:\n  id: gpt-4o-mini\n  provider: openai\n  options:\n    frequencyPenalty: 0.5\n"
        "    maxOutputTokens: 20\n    presencePenalty: 0.3\n    seed: 4\n    temperature: 0.7\n"
        "    topK: 40\n    topP: 0.9\n    stopSequences: ['###']\n"
        "    allowMultipleToolCalls: true\n"
        "    additionalProperties: {reasoning_effort: low}\n"
    )
    contract = loaded({"evals/a.prompty": prompty(front)}, "evals/a.prompty")
    assert contract.target.params == {
        "frequency_penalty": 0.5,
        "max_completion_tokens": 20,
        "presence_penalty": 0.3,
        "seed": 4,
        "temperature": 0.7,
        "top_k": 40,
        "top_p": 0.9,
        "stop": ["###"],
        "reasoning_effort": "low",
    }


def test_an_unknown_option_is_still_an_error() -> None:
    for options in ("{maxOutputTokns: 20}", "{additionalProperties: {unheard_of: 1}}"):
        front = f"model: {{id: gpt-4o-mini, options: {options}}}\n"
        with pytest.raises(ContractError):
            loaded({"evals/a.prompty": prompty(front)}, "evals/a.prompty")


@pytest.mark.parametrize("provider", ["azure", "foundry"])
def test_a_deployment_is_called_at_azure(provider: str) -> None:
    front = f"model: {{id: my-gpt, provider: {provider}}}\n"
    contract = loaded({"evals/a.prompty": prompty(front)}, "evals/a.prompty")
    assert contract.target.model == "azure/my-gpt"


@pytest.mark.parametrize(
    ("template", "body", "text"),
    [
        (
            "{format: {kind: nunjucks}, parser: {kind: prompty}}",
            "{% if q %}{{q}}{% endif %}",
            "Why?",
        ),
        ("nunjucks", "{{ q | upper }}", "WHY?"),
        ("{format: Nunjucks}", "{{#q}}", None),
        ("{type: mustache}", "{{q}}", "Why?"),
        ("{format: {kind: handlebars}}", "{{q}}", None),
    ],
)
def test_the_template_language_of_version_2(template: str, body: str, text: str | None) -> None:
    front = f"model: gpt-4o-mini\ntemplate: {template}\n"
    files = {"evals/a.prompty": prompty(front, f"user:\n{body}\n")}
    if text is None:
        with pytest.raises(ContractError):
            loaded(files, "evals/a.prompty")
    else:
        assert sent(loaded(files, "evals/a.prompty")) == [("user", text)]


TOOLS = [{"type": "function", "function": {"name": "find", "parameters": {"type": "object"}}}]


@pytest.mark.parametrize("mark", ["", '"', "'"])
@pytest.mark.parametrize("path", ["tools.json", "../shared/tools.json"])
def test_a_file_in_the_parameters_is_read(mark: str, path: str) -> None:
    front = (
        "model:\n  configuration: {type: azure_openai, azure_deployment: gpt-4o-mini}\n"
        f"  parameters:\n    max_tokens: 50\n    tools: {mark}${{file:{path}}}{mark}\n"
    )
    files = {"evals/tools.json": json.dumps(TOOLS), "shared/tools.json": json.dumps(TOOLS)}
    contract = loaded({"evals/a.prompty": prompty(front), **files}, "evals/a.prompty")
    assert contract.target.params == {"max_tokens": 50, "tools": TOOLS}
    assert (contract.target.model, sent(contract)) == ("azure/gpt-4o-mini", [("user", "Why?")])


def test_a_response_format_in_a_file_is_checked() -> None:
    schema = {"type": "object", "required": ["a"]}
    held = {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}
    front = "model: {id: gpt-4o-mini, parameters: {response_format: '${file:f.json}'}}\n"
    files = {"evals/a.prompty": prompty(front), "evals/f.json": json.dumps(held)}
    contract = loaded(files, "evals/a.prompty")
    assert checks(contract) == [("json_schema", schema)]
    assert contract.target.params == {"response_format": held}


@pytest.mark.parametrize("reference", ["missing.json", "../../out.json", "/etc/passwd"])
def test_a_file_that_cannot_be_read_is_an_error_with_its_line(reference: str) -> None:
    front = f"model:\n  id: gpt-4o-mini\n  parameters:\n    tools: ${{file:{reference}}}\n"
    with pytest.raises(ContractError) as found:
        loaded({"evals/a.prompty": prompty(front)}, "evals/a.prompty")
    assert [problem.line for problem in found.value.problems] == [6]


def test_a_change_of_the_file_affects_the_contract() -> None:
    front = "model: {id: gpt-4o-mini, parameters: {tools: '${file:tools.json}'}}\n"
    base = {"evals/a.prompty": prompty(front), "evals/tools.json": json.dumps(TOOLS)}
    other = [{"type": "function", "function": {"name": "seek", "parameters": {"type": "object"}}}]
    affected = changed(base, {"evals/tools.json": json.dumps(other)})
    assert [one.path for one in affected.contracts] == ["evals/a.prompty"]


@pytest.mark.parametrize("kind", ["image", "audio", "file"])
@pytest.mark.parametrize("form", ["- {{name: photo, {}}}", "photo: {{{}}}"])
def test_an_input_that_is_a_file_is_refused_and_not_sent_as_text(kind: str, form: str) -> None:
    photo = form.format(f"kind: {kind}, sample: a.png")
    text = edited(PROMPTY, "sample:\n", f"inputs:\n  {photo}\nsample:\n")
    with pytest.raises(ContractError) as raised:
        loaded({"evals/basic.prompty": text}, "evals/basic.prompty")
    (problem,) = raised.value.problems
    assert (problem.path, problem.line) == ("evals/basic.prompty", 8)
    assert f"`photo` is of the kind `{kind}`" in problem.what
    assert "`files`" in problem.fix
