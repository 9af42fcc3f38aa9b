"""Which requests are sent natively, how they are written, and which ones litellm must send."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gatekeeper.contract.values.definition import Message
from gatekeeper.contract.values.trial import Request
from gatekeeper.errors import CallFailed
from gatekeeper.providers.hosted import NATIVE_APIS
from gatekeeper.providers.http.http_client import Exchange, HttpRequest
from gatekeeper.providers.http.response_body import UnreadableAnswer
from gatekeeper.providers.models.catalogue import CATALOGUE
from gatekeeper.providers.models.endpoint import Endpoint, endpoint_of
from gatekeeper.providers.native import anthropic, openai_compatible

KEY = "sk-0123456789abcdef"
HELLO = (Message("system", "Be short."), Message("user", "Hello"))
CLAUDE = "anthropic/claude-haiku-4-5"


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (
        "AZURE_API_VERSION",
        "OPENAI_CUSTOM_HEADERS",
        "OPENAI_ORGANIZATION",
        "OPENAI_ORG_ID",
        "OPENAI_PROJECT_ID",
        "ANTHROPIC_AUTH_TOKEN",
        "LITELLM_ANTHROPIC_DISABLE_URL_SUFFIX",
    ):
        monkeypatch.delenv(name, raising=False)


def endpoint(model: str, base: str = "https://own.example/v1", key: str | None = KEY) -> Endpoint:
    provider = CATALOGUE[model.partition("/")[0]]
    environ = {provider.addresses[0]: base, **({provider.keys[0]: key} if key else {})}
    return endpoint_of(model, environ)


def build(
    model: str,
    params: dict[str, Any] | None = None,
    messages: tuple[Message, ...] = HELLO,
    seed: int | None = None,
    **address: Any,
) -> HttpRequest | None:
    """The native request; None if litellm must send it."""
    api = NATIVE_APIS[model.partition("/")[0]]
    return api.build_request(
        endpoint(model, **address), Request(model, messages, params or {}, seed, 0)
    )


def body(sent: HttpRequest | None) -> dict[str, Any]:
    assert sent is not None
    found = json.loads(sent.body)
    assert isinstance(found, dict)
    return found


def roles(*said: tuple[str, str]) -> tuple[Message, ...]:
    return tuple(Message(role, text) for role, text in said)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("model", "params", "fields"),
    [
        ("openai/gpt-4o", {"temperature": 0, "stop": ["x"]}, {"temperature": 0, "stop": ["x"]}),
        ("openai/gpt-4o", {"max_completion_tokens": 5}, {"max_completion_tokens": 5}),
        ("openai/gpt-5-mini", {"max_tokens": 5}, {"max_completion_tokens": 5}),
        ("openai/gpt-5-mini", {"reasoning_effort": "low"}, {"reasoning_effort": "low"}),
        ("openai/gpt-5-mini", {"verbosity": "low"}, {"verbosity": "low"}),
        ("openai/gpt-5-chat-latest", {"temperature": 0}, {"temperature": 0}),
        ("groq/x", {"max_completion_tokens": 5}, {"max_tokens": 5}),
        ("mistral/x", {"seed": 3}, {"random_seed": 3}),
        ("openrouter/a/b", {}, {"usage": {"include": True}}),
        ("moonshot/x", {"temperature": 1}, {"temperature": 1}),
    ],
)
def test_parameters_of_chat_completions(
    model: str, params: dict[str, Any], fields: dict[str, Any]
) -> None:
    said = body(build(model, params))
    assert said.pop("model") == model.partition("/")[2]
    assert said.pop("messages") == [
        {"role": "system", "content": "Be short."},
        {"role": "user", "content": "Hello"},
    ]
    assert said == fields


@pytest.mark.parametrize(
    ("model", "params"),
    [
        ("openai/o3-mini", {}),
        ("openai/gpt-4o-search-preview", {}),
        ("openai/gpt-4", {"response_format": {"type": "json_object"}}),
        ("openai/gpt-4o", {"reasoning_effort": "low"}),
        ("openai/gpt-4o", {"thinking": {"type": "enabled"}}),
        ("openai/gpt-4o", {"temperature": None}),
        ("openai/gpt-5", {"temperature": 0}),
        ("openai/gpt-5", {"stop": "x"}),
        ("openai/gpt-5", {"reasoning_effort": "none"}),
        ("openai/gpt-5.4", {"reasoning_effort": "none", "stop": "x"}),
        ("openai/gpt-5.4", {"reasoning_effort": "low", "temperature": 0}),
        ("openai/gpt-5", {"verbosity": 1}),
        ("openai/gpt-5", {"max_tokens": 5, "max_completion_tokens": 6}),
        ("azure/x", {"service_tier": "flex"}),
        ("azure/gpt5_series/x", {}),
        ("mistral/magistral-medium-latest", {}),
        ("groq/x", {"response_format": {"type": "json_schema", "json_schema": {}}}),
        ("deepinfra/x", {"seed": 3}),
        ("moonshot/x", {"temperature": 1.5}),
        ("together_ai/of-no-known-price", {}),
    ],
)
def test_what_litellm_must_translate_or_refuse(model: str, params: dict[str, Any]) -> None:
    base = "https://own.example" if model.startswith("azure/") else "https://own.example/v1"
    assert build(model, params, base=base) is None


def test_a_seed_is_sent_to_those_who_take_one() -> None:
    assert body(build("openai/gpt-4o", seed=7))["seed"] == 7
    assert body(build("openai/gpt-4o", {"seed": 3}, seed=7))["seed"] == 3
    assert body(build("mistral/x", seed=7))["random_seed"] == 7
    assert "seed" not in body(build("deepinfra/x", seed=7))
    assert "seed" not in body(build(CLAUDE, seed=7))


@pytest.mark.parametrize(
    ("model", "base", "url"),
    [
        ("openai/x", "https://own.example/v1/", "https://own.example/v1/chat/completions"),
        ("mistral/x", "https://own.example", "https://own.example/v1/chat/completions"),
        (
            "azure/x",
            "https://own.example/",
            "https://own.example/openai/deployments/x/chat/completions"
            "?api-version=2025-02-01-preview",
        ),
        (CLAUDE, "https://own.example", "https://own.example/v1/messages"),
        (CLAUDE, "https://own.example/v1/messages", "https://own.example/v1/messages"),
    ],
)
def test_addresses(model: str, base: str, url: str) -> None:
    sent = build(model, base=base)
    assert sent is not None
    assert sent.url == url


@pytest.mark.parametrize(
    ("model", "base"),
    [
        ("openai/x", "https://own.example/v1?a=b"),
        ("openai/x", "https://own.example/v1/chat/completions"),
        ("azure/x", "https://own.example/openai/v1"),
        (CLAUDE, "https://own.example?a=b"),
    ],
)
def test_addresses_that_litellm_must_complete(model: str, base: str) -> None:
    assert build(model, base=base) is None


def test_the_key_goes_where_the_provider_looks_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def headers(model: str, **address: Any) -> dict[str, str]:
        sent = build(model, **address)
        assert sent is not None
        return dict(sent.headers)

    assert headers("openai/x") == {"Authorization": f"Bearer {KEY}"}
    assert headers("lm_studio/x", key=None) == {}
    assert headers("azure/x", base="https://own.example") == {"api-key": KEY}
    assert headers(CLAUDE) == {"x-api-key": KEY, "anthropic-version": "2023-06-01"}
    monkeypatch.setenv("OPENAI_ORG_ID", "org")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "project")
    account = {"OpenAI-Organization": "org", "OpenAI-Project": "project"}
    assert headers("openai/x") == {"Authorization": f"Bearer {KEY}", **account}
    assert headers("groq/x") == {"Authorization": f"Bearer {KEY}"}
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-A: b")
    assert build("openai/x") is None


def test_a_key_is_not_shown() -> None:
    assert KEY not in repr(build("openai/x"))


def test_a_sign_in_token_of_anthropic_is_for_litellm(monkeypatch: pytest.MonkeyPatch) -> None:
    assert build(CLAUDE, key="sk-ant-oat01-0123456789abcdef") is None
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "token-0123456789abcdef")
    assert build(CLAUDE) is None


@pytest.mark.parametrize(
    ("params", "fields"),
    [
        ({}, {"max_tokens": 64_000}),
        ({"max_tokens": 5, "temperature": 0}, {"max_tokens": 5, "temperature": 0}),
        ({"max_completion_tokens": 5, "top_k": 3}, {"max_tokens": 5, "top_k": 3}),
        ({"stop": "x"}, {"max_tokens": 64_000, "stop_sequences": ["x"]}),
        ({"stop": ["x", "y"]}, {"max_tokens": 64_000, "stop_sequences": ["x", "y"]}),
    ],
)
def test_parameters_of_messages(params: dict[str, Any], fields: dict[str, Any]) -> None:
    said = body(build(CLAUDE, params))
    assert said == {
        "model": "claude-haiku-4-5",
        "system": [{"type": "text", "text": "Be short."}],
        "messages": [{"role": "user", "content": [{"type": "text", "text": "Hello"}]}],
        **fields,
    }


@pytest.mark.parametrize(
    ("model", "params"),
    [
        (CLAUDE, {"response_format": {"type": "json_object"}}),
        (CLAUDE, {"thinking": {"type": "enabled", "budget_tokens": 1024}}),
        (CLAUDE, {"reasoning_effort": "low"}),
        (CLAUDE, {"seed": 3}),
        (CLAUDE, {"stop": []}),
        (CLAUDE, {"stop": [1]}),
        (CLAUDE, {"max_tokens": 5, "max_completion_tokens": 6}),
        (CLAUDE, {"max_tokens": 5.5}),
        (CLAUDE, {"min_p": 0.1}),
        ("anthropic/claude-opus-4-7", {"temperature": 0}),
        ("anthropic/claude-of-tomorrow", {"temperature": 0}),
    ],
)
def test_what_litellm_must_translate_for_anthropic(model: str, params: dict[str, Any]) -> None:
    assert build(model, params) is None


@pytest.mark.parametrize(
    "said",
    [
        (),
        (("system", "a"),),
        (("user", "a"), ("user", "b")),
        (("user", "a"), ("system", "b"), ("user", "c")),
        (("user", " "),),
        (("system", ""), ("user", "a")),
        (("user", "a"), ("assistant", "b ")),
        (("developer", "a"), ("user", "b")),
    ],
)
def test_conversations_that_litellm_rewrites_for_anthropic(said: Any) -> None:
    assert build(CLAUDE, messages=roles(*said)) is None


@pytest.mark.parametrize(
    ("model", "said"),
    [
        ("openai/gpt-4o", (("developer", "a"), ("user", "b"))),
        ("mistral/x", (("user", ""),)),
        ("mistral/x", (("user", "a"), ("assistant", "b"))),
    ],
)
def test_conversations_that_litellm_rewrites(model: str, said: Any) -> None:
    assert build(model, messages=roles(*said)) is None


def test_text_that_cannot_be_sent_is_the_authors() -> None:
    with pytest.raises(CallFailed, match="cannot be written as JSON") as failed:
        build("openai/gpt-4o", messages=roles(("user", "\ud800")))
    assert failed.value.author
    assert not failed.value.retryable


@pytest.mark.parametrize(
    "document",
    [
        [],
        {"choices": [{"message": "Hi"}]},
        {"choices": ["Hi"]},
        {"choices": {}},
        {"error": "no"},
    ],
)
def test_chat_completions_that_are_none(document: Any) -> None:
    exchange = Exchange(body=json.dumps(document).encode())
    with pytest.raises(UnreadableAnswer):
        openai_compatible.read_answer("openai/x", exchange)


@pytest.mark.parametrize(
    "document",
    [
        [],
        {"usage": {}, "content": ["Hi"]},
        {"usage": {}, "content": [{"type": "text", "text": 1}]},
        {"usage": {}, "content": "Hi"},
        {"content": []},
        {"error": {"type": "overloaded_error"}},
    ],
)
def test_messages_that_are_none(document: Any) -> None:
    with pytest.raises(UnreadableAnswer):
        anthropic.read_answer(CLAUDE, Exchange(body=json.dumps(document).encode()))


def test_openrouter_says_what_a_call_cost() -> None:
    def cost(stated: Any, **more: Any) -> float | None:
        usage = {"prompt_tokens": 9, "completion_tokens": 1, "cost": stated, **more}
        choice = {"message": {"content": "Hi"}, "finish_reason": "stop"}
        document = {"model": "some/model", "choices": [choice], "usage": usage}
        exchange = Exchange(body=json.dumps(document).encode())
        return openai_compatible.read_answer("openrouter/some/model", exchange).cost_usd

    assert cost(0.25) == 0.25
    assert cost(0) == 0.0
    for nonsense in (None, -1, True, "1", 1e999, 1e308, 10**400, 1_000_001):
        assert cost(nonsense) is None
    # With a provider's key of one's own the provider bills as well, and OpenRouter says what.
    upstream = {"cost_details": {"upstream_inference_cost": 0.5}}
    assert cost(0.25, is_byok=True, **upstream) == 0.75
    assert cost(0, is_byok=True, **upstream) == 0.5
    assert cost(0.25, is_byok=False, **upstream) == 0.25
    for unknown in (None, {}, {"upstream_inference_cost": None}, {"upstream_inference_cost": -1}):
        assert cost(0.25, is_byok=True, cost_details=unknown) is None
    assert cost(None, is_byok=True, **upstream) is None


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ([{"type": "text", "text": "Hi."}], "Hi."),
        ([{"type": "text", "text": "Hi"}, {"type": "text", "text": "."}], "Hi."),
        (
            [
                {"type": "thinking", "thinking": [{"type": "text", "text": "A greeting."}]},
                {"type": "text", "text": "Hi."},
            ],
            "Hi.",
        ),
        ([], ""),
        ([None, {"text": 5}], ""),
    ],
)
def test_an_answer_in_parts_is_their_text(content: object, text: str) -> None:
    choice = {"message": {"content": content}, "finish_reason": "stop"}
    exchange = Exchange(body=json.dumps({"choices": [choice]}).encode())
    found = openai_compatible.read_answer("mistral/magistral-small", exchange)
    assert (found.text, found.finish_reason) == (text, "stop")
