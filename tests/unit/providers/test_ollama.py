"""Ollama's chat API: which requests are sent natively, where to, and how the answers are read."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from support.answering_server import Answer, AnsweringServer
from support.native_clients import LLAMA, OLLAMA_KEY, ask, asked, ollama_chat, point_at

from gatekeeper.contract.values.definition import Message
from gatekeeper.contract.values.trial import Completion, Request
from gatekeeper.errors import CallFailed
from gatekeeper.providers.hosted import HostedClient
from gatekeeper.providers.http.http_client import HttpRequest
from gatekeeper.providers.models.endpoint import endpoint_of
from gatekeeper.providers.native import ollama

TOOL = {"type": "function", "function": {"name": "now"}}


def build(request: Request, **environ: str) -> HttpRequest | None:
    return ollama.build_request(endpoint_of(LLAMA, environ), request)


def sent(**params: Any) -> Any:
    """The body of the native request with these parameters and no seed; None for litellm's."""
    found = build(replace(asked(LLAMA, **params), seed=None))
    return found and json.loads(found.body)


@pytest.mark.parametrize(
    ("params", "fields"),
    [
        ({}, {"options": {}}),
        (
            {"temperature": 0.5, "top_p": 0.9, "stop": ["x"]},
            {"options": {"temperature": 0.5, "top_p": 0.9, "stop": ["x"]}},
        ),
        ({"max_tokens": 5}, {"options": {"num_predict": 5}}),
        ({"max_completion_tokens": 5}, {"options": {"num_predict": 5}}),
        ({"response_format": {"type": "json_object"}}, {"options": {}, "format": "json"}),
        (
            {"response_format": {"type": "json_schema", "json_schema": {"schema": {"a": 1}}}},
            {"options": {}, "format": {"a": 1}},
        ),
        ({"tools": [TOOL]}, {"options": {}, "tools": [TOOL]}),
    ],
)
def test_parameters_become_options_of_ollama(
    params: dict[str, Any], fields: dict[str, Any]
) -> None:
    body = sent(**params)
    assert (body.pop("model"), body.pop("stream")) == ("llama3.2:1b", False)
    assert [m["content"] for m in body.pop("messages")] == ["Be short.", "Hi"]
    assert body == fields


@pytest.mark.parametrize(
    "params",
    [
        {"temperature": None},
        {"max_tokens": 5, "max_completion_tokens": 6},
        {"presence_penalty": 0.5},
        {"reasoning_effort": {"effort": "low"}},
        {"tools": [TOOL], "tool_choice": "auto"},
        {"response_format": "json"},
        {"response_format": {"type": "text"}},
        {"response_format": {"type": "json_schema"}},
    ],
)
def test_what_ollama_has_no_word_for_is_left_to_litellm(params: dict[str, Any]) -> None:
    assert sent(**params) is None


@pytest.mark.parametrize(
    ("model", "effort", "think"),
    [
        ("qwen3:4b", "low", True),
        ("qwen3:4b", "none", False),
        ("gpt-oss:20b", "low", "low"),
    ],
)
def test_an_effort_says_whether_to_think(model: str, effort: str, think: object) -> None:
    request = asked(f"ollama_chat/{model}", reasoning_effort=effort)
    found = ollama.build_request(endpoint_of(request.model, {}), request)
    assert found is not None
    assert json.loads(found.body)["think"] == think


def test_the_seed_of_the_trial_is_sent_if_the_contract_sets_none() -> None:
    for params, seed in (({}, 7), ({"seed": 3}, 3)):
        found = build(asked(LLAMA, **params))
        assert found is not None
        assert json.loads(found.body)["options"] == {"seed": seed}


@pytest.mark.parametrize("text", ["<think>well</think>Hi", "<thinking>well</thinking>"])
def test_thoughts_in_a_message_are_left_to_litellm(text: str) -> None:
    request = replace(asked(LLAMA), messages=(Message("user", "a"), Message("assistant", text)))
    assert build(request) is None


@pytest.mark.parametrize(
    ("base", "url"),
    [
        (None, "http://localhost:11434/api/chat"),
        ("https://own.example", "https://own.example/api/chat"),
        ("https://own.example/", "https://own.example/api/chat"),
        ("https://own.example/ollama/api/chat", "https://own.example/ollama/api/chat"),
        ("https://own.example/?a=b", None),
        ("https://own.example/#a", None),
    ],
)
def test_the_address_is_that_of_the_environment(base: str | None, url: str | None) -> None:
    found = build(asked(LLAMA), **({"OLLAMA_API_BASE": base} if base else {}))
    assert (found.url if found else None) == url
    assert found is None or "Authorization" not in found.headers


def test_answers_are_not_streamed() -> None:
    request = replace(asked(LLAMA), streamed=True)
    assert build(request) is None
    assert not HostedClient().can_stream(request)
    with pytest.raises(TypeError):
        ollama.open_stream()


def test_the_prompt_of_generate_is_no_chat_and_stays_with_litellm() -> None:
    """litellm writes the roles into the text for `ollama/…`, and Ollama answers that text."""
    client = HostedClient()
    request = asked("ollama/llama3.2:1b")
    assert client._native_request(client._endpoint(request.model), request) is None


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[AnsweringServer]:
    with AnsweringServer(Answer(200, ollama_chat())) as server:
        point_at(server.url, monkeypatch)
        yield server


def test_an_answer_costs_nothing_and_unknown_tokens_are_unknown(server: AnsweringServer) -> None:
    for missing in ({}, {"prompt_eval_count": None}, {"eval_count": None}):
        server.answer = Answer(200, ollama_chat(**missing))
        answer = ask(asked(LLAMA), through_litellm=False)
        assert isinstance(answer, Completion)
        assert answer.cost_usd == 0
        counts = (answer.prompt_tokens, answer.completion_tokens)
        known = {
            "prompt_eval_count": (None, None),
            "eval_count": (1000, None),
        }
        assert counts == next((known[name] for name in missing), (1000, 100))


def test_a_call_does_not_import_litellm(server: AnsweringServer) -> None:
    program = (
        "import asyncio, sys; from gatekeeper.contract.values.definition import Message;"
        "from gatekeeper.contract.values.trial import Request;"
        "from gatekeeper.providers.hosted import HostedClient\n"
        "async def main():\n"
        "    client = HostedClient(); await client.require_key(sys.argv[1])\n"
        "    request = Request(sys.argv[1], (Message('user', 'Hi'),), {}, 7, 0)\n"
        "    print((await client.complete(request)).text); await client.aclose()\n"
        "asyncio.run(main()); print('litellm' in sys.modules)"
    )
    command = [sys.executable, "-c", program, LLAMA]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["Hi", "False"]
    assert [each.path for each in server.requests] == ["/api/chat"]


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_takes_the_key_nowhere(server: AnsweringServer, status: int) -> None:
    with AnsweringServer(Answer(200, ollama_chat())) as elsewhere:
        server.answer = Answer(status, b"", {"Location": f"{elsewhere.url}/api/chat"})
        failed = ask(asked(LLAMA), through_litellm=False)
    assert isinstance(failed, CallFailed)
    assert len(server.requests) == 1
    assert elsewhere.requests == []
    assert OLLAMA_KEY not in str(failed)


def test_no_secret_of_another_provider_is_sent(
    server: AnsweringServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = "gsk-0123456789abcdef"
    monkeypatch.setenv("GROQ_API_KEY", secret)
    request = replace(asked(LLAMA), messages=(Message("user", f"Repeat {secret}"),))
    failed = ask(request, through_litellm=False)
    assert isinstance(failed, CallFailed)
    assert "GROQ_API_KEY" in str(failed)
    assert server.requests == []


def test_a_part_of_an_answer_is_no_answer(server: AnsweringServer) -> None:
    """A server that streams although it should not may break off after its first line."""
    server.answer = Answer(200, {"message": {"role": "assistant", "content": "Hel"}, "done": False})
    failed = ask(asked(LLAMA), through_litellm=False)
    assert isinstance(failed, CallFailed)
    assert failed.retryable
    assert "`done` is false" in str(failed)
