"""Prompt files of every kind."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.machine_needs import DATA, RECORDED_OUTPUTS

from gatekeeper.contract.prompts.load import load_prompt, parse_prompt
from gatekeeper.contract.prompts.render import render_messages
from gatekeeper.contract.reading.read import UnreadableError
from gatekeeper.contract.values.change import MemoryRevision
from gatekeeper.contract.values.definition import MessageTemplate, Prompt
from gatekeeper.errors import ContractError


def shape(prompt: Prompt) -> list[tuple[str, str, int]]:
    return [(message.role, message.content, message.line) for message in prompt.messages]


def load(files: dict[str, str], path: str) -> Prompt:
    revision = MemoryRevision({name: text.encode() for name, text in files.items()})
    return load_prompt(revision, path)


@RECORDED_OUTPUTS.mark
def test_real_prompty_files_are_two_messages() -> None:
    files = sorted((DATA / "promptpex").glob("*.prompty"))
    assert files
    for file in files:
        text = file.read_text("utf-8")
        prompt = parse_prompt(text, file.name)
        assert [message.role for message in prompt.messages] == ["system", "user"]
        for message in prompt.messages:
            first = message.content.split("\n")[0]
            assert text.split("\n")[message.line - 1] == first
        assert (prompt.model, dict(prompt.params)) == (None, {})


def test_prompty_front_matter_and_roles() -> None:
    text = (
        "---\nname: x\nmodel:\n  api: chat\n  configuration: {azure_deployment: gpt-4o}\n"
        "  parameters: {maxTokens: 5, topP: 1, stream: true}\n---\n"
        "Be kind.\n\n# User:\n\n  {{ q }}\n\nassistant:\nok\n"
    )
    prompt = parse_prompt(text, "p.prompty")
    assert shape(prompt) == [
        ("system", "Be kind.", 8),
        ("user", "  {{ q }}", 12),
        ("assistant", "ok", 15),
    ]
    assert prompt.model == "azure/gpt-4o"
    assert prompt.params == {"max_tokens": 5, "top_p": 1}


@pytest.mark.parametrize(
    ("front", "model", "params"),
    [
        ("model: openai/x\nparams: {temperature: 0}", "openai/x", {"temperature": 0}),
        ("model: {id: y, options: {temperature: 1}}", "y", {"temperature": 1}),
        ("model: {configuration: {azure_deployment: '${env:X}', name: n}}", "n", {}),
        ("model: {configuration: {model: '${env:X}'}}", None, {}),
        ("model: x\nmodelParameters: {frequencyPenalty: 1}", "x", {"frequency_penalty": 1}),
        ("template: {format: jinja2}\ntemplate2: {}", None, {}),
        ("", None, {}),
    ],
)
def test_front_matter_of_different_makers(front: str, model: str | None, params: object) -> None:
    prompt = parse_prompt(f"---\n{front}\n---\nhello\n", "p.md")
    assert (prompt.model, prompt.params) == (model, params)
    assert [message.content for message in prompt.messages] == ["hello"]


def test_github_prompt_yml() -> None:
    text = (
        "name: n\nmodel: openai/gpt-4o\nmodelParameters: {maxTokens: 9}\n"
        'responseFormat: json_schema\njsonSchema: |\n  {"name": "a"}\n'
        "messages:\n  - role: System\n    content: short\n  - role: user\n    content: |\n"
        "      {{ text }}\n      end\ntestData: []\n"
    )
    prompt = parse_prompt(text, "p.prompt.yml")
    assert shape(prompt) == [("system", "short", 9), ("user", "{{ text }}\nend\n", 12)]
    assert prompt.model == "openai/gpt-4o"
    schema = {"type": "json_schema", "json_schema": {"name": "a"}}
    assert prompt.params == {"max_tokens": 9, "response_format": schema}
    short = parse_prompt(
        "responseFormat: json_object\nmessages: [{role: user, content: x}]", "p.yaml"
    )
    assert short.params == {"response_format": {"type": "json_object"}}


def test_lists_of_messages() -> None:
    for path, text in [
        ("p.json", '[{"role": "user",\n "content": "hi"}]'),
        ("p.yaml", "- role: user\n  content: hi\n"),
        ("p.yaml.j2", "- role: user\n  content: hi\n"),
    ]:
        assert shape(parse_prompt(text, path)) == [("user", "hi", 2)]


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("p.txt", "user:\nhi\n\n", [("user", "user:\nhi\n", 1)]),
        ("p.txt.j2", " hi ", [("user", " hi ", 1)]),
        ("p.md", "\nUSER:\nhi", [("user", "hi", 3)]),
        ("p.md", "Quote:\nuser:\nhi", [("user", "Quote:\nuser:\nhi", 1)]),
        ("p.md", "---\nrule\n---\nx", [("user", "---\nrule\n---\nx", 1)]),
        ("p.md", "---\nno end", [("user", "---\nno end", 1)]),
        ("p.md", "---\na: 1\n---\nSystem : \nx\n", [("system", "x", 5)]),
        ("p.prompty", "just text\n", [("user", "just text", 1)]),
    ],
)
def test_when_role_lines_count(path: str, text: str, expected: object) -> None:
    assert shape(parse_prompt(text, path)) == expected


@pytest.mark.parametrize(
    ("path", "text", "line", "what"),
    [
        ("p.txt", "\n", 1, "the user message is empty"),
        ("p.json", "[]", 1, "no message"),
        ("p.md", "---\na: 1\n---\nuser:\n\nassistant:\nx", 6, "the user message is empty"),
        ("p.prompty", "---\na: 1\n", 1, "not closed"),
        ("p.prompty", "---\n- a\n---\nx", 2, "not a mapping"),
        ("p.md", "---\na: [\n---\nx", 2, "not YAML"),
        ("p.md", "---\nparams: 3\n---\nx", 2, "not a mapping"),
        ("p.md", "---\n\ntemplate: liquid\n---\nx", 3, "liquid"),
        ("p.md", "---\ntemplate: {format: {kind: liquid}}\n---\nx", 2, "liquid"),
        ("p.yaml", "a: 1", 1, "no list of messages"),
        ("p.yaml", "- role: robot\n  content: x", 1, "role"),
        ("p.yaml", "- role: user\n  content: [x]", 2, "content"),
        ("p.yaml", "- x", 1, "role"),
        ("p.yaml", "responseFormat: json_schema\nmessages: []", 1, "jsonSchema"),
    ],
)
def test_faults_name_the_line(path: str, text: str, line: int, what: str) -> None:
    with pytest.raises(ContractError) as caught:
        parse_prompt(text, path)
    assert caught.value.problems[0].line in (line, line + 1)
    assert what in caught.value.problems[0].what


def test_includes_are_read_through_includes() -> None:
    files = {
        "p/a.md": "{% include 'x/b.md' %}{% from '/m.md' import f %}{% include ['c.md', \"x/b.md\"] %}",  # noqa: E501
        "p/x/b.md": "{% include '../c.md' %}",
        "p/c.md": "c",
        "m.md": "{% macro f() %}{% endmacro %}",
    }
    prompt = load(files, "p/a.md")
    assert set(prompt.includes) == {"p/x/b.md", "p/c.md", "m.md"}


@pytest.mark.parametrize(
    ("files", "place", "what"),
    [
        ({"p.md": "a\n{% include 'gone.md' %}"}, "p.md:2", "there is no file"),
        ({"p.md": "{% include '../up.md' %}"}, "p.md:1", "outside the repository"),
        ({"p.md": "{% include name %}"}, "p.md:1", "the template computes which file"),
        (
            {"p.md": "{% include 'b.md' %}", "b.md": "\n{% include 'p.md' %}"},
            "b.md:2",
            "includes itself",
        ),
        ({"p.md": "{% include 'b.md' %}", "b.md": "\n{% if %}"}, "b.md:2", "not a template"),
        ({"p.md": "a\n{% for %}"}, "p.md:2", "not a template"),
        ({"p.md": "{{ x | nofilter }}"}, "p.md:1", "nofilter"),
    ],
)
def test_faults_of_templates_and_includes(files: dict[str, str], place: str, what: str) -> None:
    with pytest.raises(ContractError) as caught:
        load(files, "p.md")
    assert str(caught.value).startswith(place)
    assert what in str(caught.value)


def test_an_include_that_is_not_utf_8_is_named_itself() -> None:
    revision = MemoryRevision({"p.md": b"{% include 'b.md' %}", "b.md": b"\n\xff"})
    with pytest.raises(ContractError, match=r"^b\.md:2"):
        load_prompt(revision, "p.md")
    with pytest.raises(UnreadableError):
        load_prompt(revision, "gone.md")


@given(st.text(max_size=60) | st.text("-\n: {}%user[]\"'a", max_size=60))
def test_no_text_does_more_than_raise_contract_error(text: str) -> None:
    for path in ("p.prompty", "p.md", "p.txt", "p.yaml", "p.json"):
        try:
            prompt = load({path: text}, path)
        except ContractError:
            continue
        assert prompt.messages


@given(st.text(st.characters(codec="utf-8", exclude_characters="\r{\ufeff"), min_size=1))
def test_plain_text_is_kept_but_for_one_line_end(text: str) -> None:
    if not text.strip():
        return
    assert parse_prompt(text, "p.txt").messages == (
        MessageTemplate("user", text.removesuffix("\n"), 1),
    )


MANY = {
    "p.md": "user:\n{{ a }}\n" * 2_001,
    "front.md": "---\nmodel: openai/x\n---\n" + "assistant:\nyes\nuser:\n{{ a }}\n" * 1_001,
    "p.json": json.dumps([{"role": "user", "content": "{{ a }}"}] * 2_001),
    "p.prompt.yml": "messages:\n" + "- {role: user, content: hello}\n" * 2_001,
}


@pytest.mark.parametrize("path", MANY)
def test_a_prompt_has_at_most_2000_messages(path):
    with pytest.raises(ContractError, match="messages, but the limit is 2,000"):
        parse_prompt(MANY[path], path)


def test_a_prompt_renders_to_at_most_2000_messages():
    text = "user:\nx\n{% for i in range(n) %}\nuser:\n{{ i }}\n{% endfor %}"
    prompt = load_prompt(MemoryRevision({"p.md": text.encode()}), "p.md")
    assert len(render_messages(prompt, {"n": 1_999})) == 2_000
    with pytest.raises(ContractError, match="more than 2,000 messages"):
        render_messages(prompt, {"n": 2_000})
