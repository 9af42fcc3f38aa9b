"""What a promptfoo file sends: the same text as promptfoo, to the last line end."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support.foreign_files import loaded, revision
from support.promptfoo_suite import PATH as SUITE
from support.promptfoo_suite import checks_of_first, kinds, read, suite

from gatekeeper.checks.registry import SHAPES
from gatekeeper.contract.export.convert import convert
from gatekeeper.contract.formats.foreign_suite import NothingToRunError
from gatekeeper.contract.prompts.render import render_messages
from gatekeeper.contract.values.definition import Contract
from gatekeeper.errors import ContractError
from gatekeeper.providers.native.responses import refused_params

PATH = "promptfooconfig.yaml"
HEAD = "providers: [openai:gpt-4o-mini]\ntests:\n  - vars: {q: tea}\n"
CHECK = "    assert: [{type: contains, value: a}]\n"
CONTAINS = {"type": "contains", "value": "a"}
TEA = {"vars": {"q": "tea"}, "assert": [CONTAINS]}


def sent(contract: Contract) -> list[list[str]]:
    """Return the texts of the messages of each fixture."""
    found = [render_messages(contract.target.prompt, f.vars) for f in contract.fixtures]
    return [[message.content for message in messages] for messages in found]


def test_the_responses_api_is_asked_as_promptfoo_asks_it() -> None:
    tool = {"type": "function", "name": "now", "parameters": {"type": "object", "properties": {}}}
    config = {"seed": 3, "stop": ["a"], "max_output_tokens": 50, "tools": [tool]}
    contract = read(suite(TEA, providers=[{"id": "openai:responses:gpt-4.1", "config": config}]))
    assert contract.target.model == "openai/responses/gpt-4.1"
    assert refused_params(contract.target.params) == []
    assert set(contract.target.params) == {"max_tokens", "temperature", "tools"}
    assert [note.kind for note in contract.not_run] == ["config.seed", "config.stop"]
    thinking = {"id": "azure:responses:gpt-5-mine", "config": {"reasoning": {"effort": "low"}}}
    contract = read(suite(TEA, providers=[thinking]))
    assert contract.target.model == "azure/responses/gpt-5-mine"
    assert dict(contract.target.params) == {"reasoning_effort": "low"}
    assert contract.not_run == ()


@pytest.mark.parametrize(
    ("files", "prompts", "text"),
    [
        ({}, "  - |\n    Describe {{q}}.\n    Be brief.\n", "Describe tea.\nBe brief.\n"),
        ({}, "  - |-\n    Describe {{q}}.\n", "Describe tea."),
        ({}, "  - |+\n    Describe {{q}}.\n\n", "Describe tea.\n\n"),
        ({}, "  - raw: >\n      Describe\n      {{q}}.\n", "Describe tea.\n"),
        ({"p.md": "Describe {{q}}.\n"}, "  - file://p.md\n", "Describe tea.\n"),
        ({"p.j2": "Describe {{q}}.\n\n"}, "  - file://p.j2\n", "Describe tea.\n\n"),
        ({"p.md": "Describe {{q}}."}, "  - file://p.md\n", "Describe tea."),
        ({"p.txt": "Describe {{q}}.\n\n"}, "  - file://p.txt\n", "Describe tea."),
        (
            {"p.yaml": "- role: user\n  content: |\n    Describe {{q}}.\n"},
            "  - file://p.yaml\n",
            "Describe tea.\n",
        ),
        (
            {"p.json": '[{"role": "user", "content": "Describe {{q}}.\\n"}]'},
            "  - file://p.json\n",
            "Describe tea.\n",
        ),
    ],
)
def test_the_last_line_end_is_sent_as_promptfoo_sends_it(
    files: dict[str, str], prompts: str, text: str
) -> None:
    contract = loaded({PATH: f"prompts:\n{prompts}{HEAD}{CHECK}", **files}, PATH)
    assert sent(contract) == [[text]]


def values(variables: dict[str, Any], prompt: str = "Say {{ text }}") -> list[list[str]]:
    """Return what is sent for one test with these variables."""
    return sent(read(suite({"vars": variables, "assert": [CONTAINS]}, prompts=[prompt])))


@pytest.mark.parametrize(
    ("variables", "text"),
    [
        ({"who": {"sub": "Bob"}, "text": "hi {{ who.sub }}"}, "hi Bob"),
        ({"text": "hi {{who.sub.name}}", "who": {"sub": {"name": "Bob"}}}, "hi Bob"),
        ({"who": [{"n": 4}, 5], "text": "{{ who[0].n }} {{ who[1] }}"}, "4 5"),
        ({"who": {"sub": "Bob"}, "text": "hi {{ who.other }}!"}, "hi !"),
        (
            {"who": {"sub": "Bob"}, "text": "{{ who.sub }} {{ nobody }}"},
            "{{ who.sub }} {{ nobody }}",
        ),
        ({"a": "Ann", "text": "{{ a }} {{ nobody }}"}, "Ann {{ nobody }}"),
        ({"a": "Ann", "text": "{{ nobody }} {{ a }}"}, "{{ nobody }} {{ a }}"),
        ({"a": "{{ b.c }}", "b": {"c": "deep"}, "text": "<{{ a }}>"}, "<deep>"),
        ({"a": "Ann", "text": "{{ a }} {{ open"}, "Ann {{ open"),
    ],
)
def test_names_in_values_are_filled_in_as_in_promptfoo(
    variables: dict[str, Any], text: str
) -> None:
    assert values(variables) == [[f"Say {text}"]]


def test_a_prompt_in_json_gets_values_whose_paths_stay() -> None:
    prompt = json.dumps([{"role": "user", "content": "Say {{ text }}"}])
    variables = {"a": "Ann", "who": {"sub": "Bob"}, "text": "{{ a }}: {{ who.sub }}"}
    assert values(variables, prompt) == [["Say Ann: {{ who.sub }}"]]
    assert values({"text": "{{ 1 + 1 }}"}, prompt) == [["Say {{ 1 + 1 }}"]]


EMBEDDERS = (
    "file://grader.py",
    "golang:grader.go",
    "huggingface:sentence-similarity:org/model",
    "huggingface:feature-extraction:org/model",
    "voyage:voyage-3",
    "vercel:embedding:cohere/embed-v4.0",
)
"""What promptfoo may ask for embeddings, and gatekeeper cannot."""

GRADERS = (
    "huggingface:text-classification:org/model",
    "sagemaker:some-endpoint",
    "exec:./grade.sh",
    "{{ env.GRADER }}",
    *EMBEDDERS,
)


@pytest.mark.parametrize("grader", [*GRADERS, {"embedding": "huggingface:x:y", "text": "http"}])
@pytest.mark.parametrize("place", ["default", "test", "assertion"])
def test_a_grader_that_cannot_be_called_stops_only_what_it_grades(place: str, grader: Any) -> None:
    graded = [
        {"type": "llm-rubric", "value": "polite"},
        {"type": "similar", "value": "fruit", "threshold": 0.5},
    ]
    plain = {"type": "contains", "value": "fruit"}
    if place == "assertion":
        graded = [{**one, "provider": grader} for one in graded]
    options = {"options": {"provider": grader}}
    default = {"assert": [plain], **(options if place == "default" else {})}
    test = {"vars": {"q": "a"}, "assert": graded, **(options if place == "test" else {})}
    contract = read(suite(test, {"vars": {"q": "b"}}, defaultTest=default))
    checked = [(*contract.checks, *fixture.checks) for fixture in contract.fixtures]
    assert ["contains" in {spec.type for spec in specs} for specs in checked] == [True, True]
    named = kinds(contract)
    assert "llm-rubric" in named
    assert ("similar" in named) is (isinstance(grader, dict) or grader in EMBEDDERS)


@pytest.mark.parametrize(
    "program",
    [
        "file://prompt.js",
        "file://prompt.py:make",
        "exec:./make.sh",
        "file://many.jsonl",
        "file://p/*",
    ],
)
def test_a_prompt_from_a_program_does_not_stop_the_others(program: str) -> None:
    files = {"many__jsonl": "{}", "p/a__js": "x", "p/b__py": "x"}
    contract = read(suite(TEA, prompts=[program, "Describe {{q}}"]), **files)
    assert sent(contract) == [["Describe tea"]]
    assert {*kinds(contract)} == {"prompts"}


def parameters(provider: str, **settings: Any) -> tuple[dict[str, Any], set[str]]:
    """Return the parameters of a provider with this `config`, and what is not run."""
    contract = read(suite(TEA, providers=[{"id": provider, "config": settings}]))
    return dict(contract.target.params), {*kinds(contract)}


@pytest.mark.parametrize(
    ("provider", "settings", "sent_on", "dropped"),
    [
        (
            "openai:gpt-5-mini",
            {"temperature": 0, "max_tokens": 9, "reasoning_effort": "low"},
            {"reasoning_effort": "low"},
            {"config.temperature", "config.max_tokens"},
        ),
        ("openai:o3", {"temperature": 0.5}, {}, {"config.temperature"}),
        ("azure:chat:o4-mini", {"max_completion_tokens": 9}, {"max_completion_tokens": 9}, set()),
        (
            "openai:gpt-4o",
            {"reasoning_effort": "low", "max_completion_tokens": 9},
            {"temperature": 0, "max_tokens": 1024},
            {"config.reasoning_effort", "config.max_completion_tokens"},
        ),
        (
            "ollama:chat:llama3.2",
            {"max_tokens": 9, "temperature": 1, "num_predict": 7},
            {"temperature": 1, "max_tokens": 7},
            {"config.max_tokens"},
        ),
        *(
            (
                provider,
                {"max_completion_tokens": 9},
                {"temperature": 0, "max_tokens": 1024},
                {"config.max_completion_tokens"},
            )
            for provider in (
                "groq:llama-3.3-70b",
                "hyperbolic:m",
                "openrouter:meta/m",
                "deepseek:m",
            )
        ),
        *(
            (
                provider,
                {"max_completion_tokens": 9},
                {"temperature": 0, "max_completion_tokens": 9},
                set(),
            )
            for provider in ("cerebras:llama3.1-8b", "groq:qwen/qwen3-32b", "xai:grok-4")
        ),
        (
            "anthropic:messages:claude-opus-4-7",
            {"temperature": 0, "top_p": 0.4, "max_tokens": 9},
            {"max_tokens": 9},
            {"config.temperature", "config.top_p"},
        ),
        (
            "anthropic:messages:claude-sonnet-4-5",
            {"temperature": 0, "top_p": 0.4},
            {"top_p": 0.4, "max_tokens": 1024},
            {"config.temperature"},
        ),
        (
            "anthropic:messages:claude-sonnet-4-5",
            {"temperature": 0, "thinking": {"type": "enabled", "budget_tokens": 1024}},
            {"thinking": {"type": "enabled", "budget_tokens": 1024}, "max_tokens": 2048},
            {"config.temperature"},
        ),
    ],
)
def test_parameters_that_promptfoo_drops_are_dropped_with_a_note(
    provider: str, settings: dict[str, Any], sent_on: dict[str, Any], dropped: set[str]
) -> None:
    assert parameters(provider, **settings) == (sent_on, dropped)


@pytest.mark.parametrize(
    ("provider", "settings", "name"),
    [
        (
            "anthropic:messages:claude-sonnet-4-5",
            {"tools": [{"type": "web_search_20250305", "name": "web_search"}]},
            "web_search_20250305",
        ),
        (
            "anthropic:messages:claude-sonnet-4-5",
            {"tools": [{"type": "computer_20250124", "name": "computer"}]},
            "computer_20250124",
        ),
        (
            "openai:responses:gpt-4.1",
            {"tools": [{"type": "web_search_preview"}]},
            "web_search_preview",
        ),
        (
            "openai:responses:gpt-4.1",
            {"tools": [{"type": "file_search", "vector_store_ids": ["x"]}]},
            "file_search",
        ),
        ("openai:responses:gpt-4.1", {"tools": [{"type": "mcp", "server_label": "x"}]}, "mcp"),
        ("google:gemini-2.5-pro", {"tools": [{"googleSearch": {}}]}, "googleSearch"),
        ("xai:grok-3", {"search_parameters": {"mode": "on"}}, "search_parameters"),
        ("openai:gpt-4o-search-preview", {"web_search_options": {"a": 1}}, "web_search_options"),
        ("anthropic:claude-agent-sdk", {}, "agent"),
        ("anthropic:claude-code", {}, "agent"),
        ("openai:codex-sdk:gpt-5", {}, "agent"),
        ("openai:codex-app-server", {}, "agent"),
        ("openai:chatkit:wf_1", {}, "chatkit"),
        ("azure:foundry-agent:asst_1", {}, "foundry-agent"),
    ],
)
def test_tools_of_the_provider_and_agents_are_refused_by_name(
    provider: str, settings: dict[str, Any], name: str
) -> None:
    with pytest.raises(ContractError) as found:
        parameters(provider, **settings)
    assert name in found.value.problems[0].what


def test_a_tool_that_is_a_function_is_still_offered() -> None:
    tool = {"name": "find", "description": "d", "input_schema": {"type": "object"}}
    wanted = {"name": "find", "description": "d", "parameters": {"type": "object"}}
    for own in (tool, {**tool, "type": "custom"}):
        sent_on, _ = parameters("anthropic:messages:claude-sonnet-4-5", tools=[own])
        assert sent_on["tools"] == [{"type": "function", "function": wanted}]


TALK = {
    "type": "OBJECT",
    "properties": {
        "type": {"type": "STRING", "enum": ["STRING", "tea"]},
        "default": {"type": "ARRAY", "items": {"type": "INTEGER"}},
    },
    "required": ["type"],
}
AS_JSON_SCHEMA = {
    "type": "object",
    "properties": {
        "type": {"type": "string", "enum": ["STRING", "tea"]},
        "default": {"type": "array", "items": {"type": "integer"}},
    },
    "required": ["type"],
}


@pytest.mark.parametrize("key", ["functionDeclarations", "function_declarations"])
@pytest.mark.parametrize("schema", ["parameters", "parametersJsonSchema"])
@pytest.mark.parametrize("provider", ["google:gemini-2.5-flash", "vertex:gemini-2.5-pro"])
def test_functions_of_googles_form_are_offered(key: str, schema: str, provider: str) -> None:
    declared = [{"name": "talk", "description": "d", schema: TALK}, {"name": "stop"}]
    plain = {"type": "function", "function": {"name": "look"}}
    sent_on, _ = parameters(provider, tools=[{key: declared}, plain])
    talk = {"name": "talk", "description": "d", "parameters": AS_JSON_SCHEMA}
    assert sent_on["tools"] == [
        {"type": "function", "function": talk},
        {"type": "function", "function": {"name": "stop"}},
        plain,
    ]


@pytest.mark.parametrize(
    "tools",
    [
        [{"functionDeclarations": [{"name": "talk"}]}, {"googleSearch": {}}],
        [{"functionDeclarations": [{"name": "talk"}], "codeExecution": {}}],
        [{"functionDeclarations": [{"googleSearch": {}}]}],
    ],
)
def test_googles_own_tools_beside_functions_are_still_refused(tools: list[Any]) -> None:
    with pytest.raises(ContractError) as found:
        parameters("google:gemini-2.5-flash", tools=tools)
    assert "the provider itself runs" in found.value.problems[0].what


@pytest.mark.parametrize(
    "provider",
    [
        "hyperbolic:chat:x/y",
        "openrouter:a//b",
        "xai:..",
        "openai:+m",
        "cerebras:a/b@v.1",
        "bedrock:arn:aws:bedrock:us-east-1:1:inference-profile/m",
        "groq:" + "m" * 300,
        "sagemaker:x",
        "file://own.js",
        "{{ env.MODEL }}",
        "echo",
        {"id": "http", "config": {"url": "x"}},
    ],
)
@pytest.mark.parametrize("first", [True, False])
def test_a_provider_that_cannot_be_called_is_named_and_the_others_run(
    provider: Any, first: bool
) -> None:
    name = provider["id"] if isinstance(provider, dict) else provider
    providers = [provider, "openai:gpt-4o-mini"]
    contract = read(suite(TEA, providers=providers if first else providers[::-1]))
    assert contract.target.model == "openai/gpt-4o-mini"
    [note] = [one for one in contract.not_run if one.kind == "provider"]
    assert name[:100] in note.why
    with pytest.raises(NothingToRunError) as found:
        read(suite(TEA, providers=[provider]))
    assert name[:100] in found.value.problems[0].what


RUBRIC = {"type": "llm-rubric", "value": "polite"}


def graded(assertion: dict[str, Any], **default: Any) -> Contract:
    """Return the contract of a suite whose provider has no grading model of its own."""
    test = {"vars": {"q": "tea"}, "assert": [assertion]}
    return read(suite(test, providers=["mistral:mistral-small-latest"], defaultTest=default))


@pytest.mark.parametrize("kind", ["llm-rubric", "g-eval", "factuality", "model-graded-closedqa"])
def test_the_advice_about_a_missing_grading_model_works(kind: str) -> None:
    with pytest.raises(ContractError) as found:
        graded({**RUBRIC, "type": kind})
    told = str(found.value.problems[0])
    assert "`provider: openai:gpt-4.1`" in told
    assert "`options: {provider: …}` to `defaultTest`" in told
    for contract in (
        graded({**RUBRIC, "type": kind, "provider": "openai:gpt-4.1"}),
        graded({**RUBRIC, "type": kind}, options={"provider": "openai:gpt-4.1"}),
    ):
        (check,) = checks_of_first(contract)
        assert check.params["model"] == "openai/gpt-4.1"


def test_the_rest_runs_without_a_grading_model() -> None:
    contract = graded(RUBRIC, **{"assert": [{"type": "contains", "value": "tea"}]})
    assert [check.type for check in checks_of_first(contract)] == ["contains"]
    assert kinds(contract) == ["llm-rubric"]


CHAT = "- role: system\n  content: Be brief.\n- role: user\n  content: |\n    Say {{q}}.\n"


@pytest.mark.parametrize("name", ["p.txt", "p.md", "p.j2", "p.yaml", None])
def test_a_text_that_is_a_chat_in_yaml_becomes_messages(name: str | None) -> None:
    inline = "  - |\n" + "".join(f"    {line}\n" for line in CHAT.splitlines())
    files = {name: CHAT} if name else {}
    text = f"prompts:\n{f'  - file://{name}' if name else inline}\n{HEAD}{CHECK}"
    contract = loaded({PATH: text, **files}, PATH)
    (messages,) = [render_messages(contract.target.prompt, f.vars) for f in contract.fixtures]
    assert [m.role for m in messages] == ["system", "user"]
    assert sent(contract) == [["Be brief.", "Say tea." + ("\n" if name != "p.txt" else "")]]


def test_a_chat_whose_variables_break_its_yaml_is_an_error_with_a_line() -> None:
    text = f"prompts: [file://p.txt]\n{HEAD}{CHECK}"
    with pytest.raises(ContractError) as found:
        loaded({PATH: text, "p.txt": "- role: user\n  content: {{q}} it\n"}, PATH)
    problem = found.value.problems[0]
    assert (problem.path, problem.line) == ("p.txt", 2)
    assert "quotes" in problem.fix


@pytest.mark.parametrize(
    ("provider", "sent_on"),
    [
        ("openrouter:meta-llama/llama-4-scout", {"temperature": 0, "max_tokens": 1024}),
        ("groq:llama-3.3-70b-versatile", {"temperature": 0, "max_tokens": 1024}),
        ("openrouter:openai/o3-mini", {}),
        ("mistral:mistral-small-latest", {"top_p": 1, "max_tokens": 1024}),
        ("ollama:chat:llama3", {}),
        ("google:gemini-2.5-pro", {}),
    ],
)
def test_each_vendor_gets_the_defaults_of_promptfoo(provider: str, sent_on: dict[str, Any]) -> None:
    assert parameters(provider) == (sent_on, set())


@pytest.mark.parametrize(
    "text", ["Say {{q}}.", "Say {{q}}.\n", "Say {{q}}.\n\n", CHAT, f"{CHAT}\n"]
)
def test_a_converted_contract_sends_the_same_line_ends(text: str) -> None:
    data = suite(TEA, prompts=[text])
    (converted,) = convert(revision({SUITE: json.dumps(data)}), SUITE, "contracts", SHAPES)
    native = {file.path: file.text for file in converted.files}
    path = next(path for path in native if path.endswith(".yaml"))
    assert sent(loaded(native, path)) == sent(read(data))


def test_a_test_that_uses_a_stored_answer_is_not_run() -> None:
    texts = ("a fruit", "why {{fruit}}?", "why {{other}}?")
    first, *others = ({"vars": {"q": q}, "assert": [CONTAINS]} for q in texts)
    contract = read(suite({**first, "options": {"storeOutputAs": "fruit"}}, *others))
    assert sent(contract) == [["Say a fruit"], ["Say why {{other}}?"]]
    assert "vars" in kinds(contract)
