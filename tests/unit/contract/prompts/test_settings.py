"""A prompt file may not give its model or a parameter two values."""

from __future__ import annotations

import pytest

from gatekeeper.contract.prompts.load import parse_prompt
from gatekeeper.errors import ContractError

MESSAGES = "messages: [{role: user, content: x}]\n"
ID = "model:\n  id: a/b\n"
PARAMS = f"{ID}  parameters: {{temperature: 2}}\n"


def parse(kind: str, front: str):
    text = MESSAGES + front if kind.endswith("yml") else f"---\n{front}---\nuser:\nx\n"
    return parse_prompt(text, kind)


@pytest.mark.parametrize(
    ("kind", "front", "line", "field"),
    [
        ("p.prompty", f"{PARAMS}params: {{temperature: 0}}\n", 5, "params.temperature"),
        ("p.prompty", f"{PARAMS}  options: {{temperature: 0}}\n", 5, "model.options.temperature"),
        ("p.md", "parameters: {top_p: 1}\nmodelParameters: {topP: 0}\n", 3, "modelParameters.topP"),
        ("p.md", "params: {maxTokens: 1, max_tokens: 9}\n", 2, "params.max_tokens"),
        ("p.md", "params: {n: 1}\nparameters: {n: true}\n", 2, "params.n"),
        ("p.prompt.yml", "modelParameters: {seed: 1}\nparams: {seed: 2}\n", 3, "params.seed"),
        ("p.prompt.yml", "modelParameters: {maxTokens: 1, max_tokens: 9}\n", 2, "modelParameters"),
        (
            "p.prompt.yml",
            "params: {response_format: {type: text}}\nresponseFormat: json_object\n",
            3,
            "responseFormat",
        ),
        ("p.prompty", f"{ID}  configuration: {{name: c}}\n", 4, "model.configuration.name"),
        ("p.prompty", f"{ID}  configuration: {{model: c}}\n", 4, "model.configuration.model"),
        ("p.prompty", f"{ID}  name: c\n", 4, "model.name"),
        ("p.prompty", f"{ID}  configuration: {{azure_deployment: c}}\n", 3, "model.id"),
    ],
)
def test_two_values_are_refused_where_the_second_stands(kind, front, line, field):
    with pytest.raises(ContractError) as caught:
        parse(kind, front)
    (problem,) = caught.value.problems
    assert (problem.line, "twice" in problem.what, problem.fix) == (
        line,
        True,
        "remove one of them",
    )
    assert (problem.field or "").startswith(field)


@pytest.mark.parametrize(
    ("kind", "front", "model", "params"),
    [
        (
            "p.prompty",
            f"{PARAMS}  options: {{temperature: 2.0}}\nparams: {{temperature: 2}}\n",
            "a/b",
            {"temperature": 2},
        ),
        ("p.md", "params: {maxTokens: 9, max_tokens: 9}\n", None, {"max_tokens": 9}),
        ("p.md", "params: {stream: true}\nparameters: {stream: false}\n", None, {}),
        (
            "p.prompt.yml",
            "responseFormat: json_object\nparams: {response_format: {type: json_object}}\n",
            None,
            {"response_format": {"type": "json_object"}},
        ),
        (
            "p.prompty",
            "model: {id: azure/c, configuration: {azure_deployment: c, name: c}}\n",
            "azure/c",
            {},
        ),
        (
            "p.prompty",
            "model: {id: c, configuration: {azure_deployment: '${env:D}'}}\n",
            "c",
            {},
        ),
    ],
)
def test_equal_values_may_stand(kind, front, model, params):
    prompt = parse(kind, front)
    assert (prompt.model, dict(prompt.params)) == (model, params)


@pytest.mark.parametrize("name", ["meta/Llama-3.3-70B-Instruct", "openai/gpt-4.1", "metal/x"])
def test_a_prompt_file_names_the_model_that_is_called(name):
    for file in ("p.prompt.yml", "p.md"):
        assert parse(file, f"model: {name}\n").model == name
