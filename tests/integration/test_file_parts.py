"""The files of a message as each provider takes them."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any

import pytest
from support.answering_server import Answer, AnsweringServer
from support.native_clients import (
    CLAUDE,
    KEY,
    LLAMA,
    OPENAI,
    PRO,
    ask,
    chat,
    messages,
    ollama_chat,
    point_at,
    response,
)

from gatekeeper.contract.values.definition import Attachment, Message
from gatekeeper.contract.values.trial import Completion, Request
from gatekeeper.errors import CallFailed

# Some of litellm's modules warn when they are imported, which would be taken for a failed call.
pytestmark = pytest.mark.filterwarnings("ignore")


def attached(name: str, kind: str) -> Attachment:
    return Attachment(f"answers/12.50/{name}", kind, "ab" * 32, name.encode())


def encoded(name: str) -> str:
    return base64.b64encode(name.encode()).decode()


PNG, PDF = attached("a.png", "image/png"), attached("b.pdf", "application/pdf")
WAV, MP3 = attached("c.wav", "audio/wav"), attached("d.mp3", "audio/mpeg")
PNG_URL = f"data:image/png;base64,{encoded('a.png')}"
PDF_URL = f"data:application/pdf;base64,{encoded('b.pdf')}"
NAME = "file-abababababab.pdf"
IMAGE_PART = {"type": "image_url", "image_url": {"url": PNG_URL}}
FILE_PART = {"type": "file", "file": {"filename": NAME, "file_data": PDF_URL}}
TEXT_PART = {"type": "text", "text": "Total?"}
ANSWERS: dict[str, Any] = {
    CLAUDE: messages(),
    PRO: response(),
    LLAMA: ollama_chat(),
    "gemini/gemini-2.5-flash": {
        "candidates": [{"content": {"parts": [{"text": "Hi"}]}, "finishReason": "STOP"}],
        "usageMetadata": {"promptTokenCount": 9, "candidatesTokenCount": 5, "totalTokenCount": 14},
    },
}


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[AnsweringServer]:
    with AnsweringServer(Answer()) as server:
        point_at(server.url, monkeypatch)
        monkeypatch.setenv("GEMINI_API_KEY", KEY)
        monkeypatch.setenv("GEMINI_API_BASE", server.url)
        monkeypatch.setenv("COHERE_API_KEY", KEY)
        yield server


def asking(model: str, *files: Attachment, text: str = "Total?") -> Request:
    return Request(model, (Message("user", text, files=files),), {}, None, 0)


def sent(server: AnsweringServer, request: Request, *, through_litellm: bool = False) -> Any:
    server.answer = Answer(200, ANSWERS.get(request.model, chat()))
    server.requests.clear()
    answer = ask(request, through_litellm)
    assert isinstance(answer, Completion), answer
    return server.requests[-1].body


def test_chat_completions_get_every_kind(server: AnsweringServer) -> None:
    found = sent(server, asking(OPENAI, PNG, PDF, WAV, MP3))["messages"][0]["content"]
    sounds = [(encoded("c.wav"), "wav"), (encoded("d.mp3"), "mp3")]
    assert found == [
        IMAGE_PART,
        FILE_PART,
        *({"type": "input_audio", "input_audio": {"data": d, "format": f}} for d, f in sounds),
        TEXT_PART,
    ]


@pytest.mark.parametrize("model", [OPENAI, CLAUDE])
def test_litellm_sends_the_same(server: AnsweringServer, model: str) -> None:
    for request in (asking(model, PNG, PDF), asking(model, PNG, text="")):
        natively = sent(server, request)
        assert natively == sent(server, request, through_litellm=True)


def test_anthropic_gets_blocks(server: AnsweringServer) -> None:
    found = sent(server, asking(CLAUDE, PNG, PDF))["messages"][0]["content"]
    assert [block["type"] for block in found] == ["image", "document", "text"]
    kinds = [block["source"] for block in found[:2]]
    assert kinds == [
        {"type": "base64", "media_type": "image/png", "data": encoded("a.png")},
        {"type": "base64", "media_type": "application/pdf", "data": encoded("b.pdf")},
    ]


def test_the_responses_api_gets_parts_of_its_own(server: AnsweringServer) -> None:
    assert sent(server, asking(PRO, PNG, PDF))["input"][0]["content"] == [
        {"type": "input_image", "image_url": PNG_URL, "detail": "auto"},
        {"type": "input_file", "file_data": PDF_URL, "filename": NAME},
        {"type": "input_text", "text": "Total?"},
    ]


def test_ollama_gets_pictures_beside_the_text(server: AnsweringServer) -> None:
    (message,) = sent(server, asking(LLAMA, PNG))["messages"]
    assert (message["images"], message["content"]) == ([encoded("a.png")], "Total?")


def test_gemini_gets_every_kind_through_litellm(server: AnsweringServer) -> None:
    body = sent(server, asking("gemini/gemini-2.5-flash", PNG, PDF, WAV))
    kinds = [part["inline_data"]["mime_type"] for part in body["contents"][0]["parts"][:3]]
    assert kinds == ["image/png", "application/pdf", "audio/wav"]


def test_no_provider_is_told_where_a_file_lies(server: AnsweringServer) -> None:
    for model in (OPENAI, CLAUDE, PRO, "gemini/gemini-2.5-flash"):
        assert "12.50" not in str(sent(server, asking(model, PNG, PDF)))


@pytest.mark.parametrize(
    ("model", "file"),
    [
        (CLAUDE, WAV),
        (PRO, MP3),
        (LLAMA, PDF),
        ("cohere/command-r", PNG),
        ("anthropic/claude-haiku-4-5", MP3),
    ],
)
@pytest.mark.parametrize("through_litellm", [False, True])
def test_what_would_be_left_out_is_the_authors_to_remove(
    server: AnsweringServer, model: str, file: Attachment, through_litellm: bool
) -> None:
    failed = ask(asking(model, file), through_litellm)
    assert isinstance(failed, CallFailed)
    assert (failed.fatal, failed.author) == (True, True)
    assert f"gatekeeper cannot send `{file.path}` ({file.media_type}) to this model" in str(failed)
    assert not server.requests
