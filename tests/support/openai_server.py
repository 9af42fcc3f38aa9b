"""A real HTTP server on 127.0.0.1 that speaks OpenAI's chat completions, well or badly.

    with OpenAIServer(lambda body: "positive") as server:
        ...  # OPENAI_BASE_URL is server.url; OPENAI_API_KEY may be anything

`answer` gets the request's JSON and returns the text to answer with, a `Reply` or a `Fault`.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from types import TracebackType
from typing import Any, Literal, Self

import pytest
from support.local_server import JsonHandler, LocalServer
from support.streamed_answers import chat_events


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer with its own token counts; None leaves `usage` out of the response. It names the
    `model` that was asked unless it is given another."""

    text: str | None
    prompt_tokens: int | None = 10
    completion_tokens: int | None = 2
    model: str | None = None
    system_fingerprint: str | None = None
    finish_reason: str | None = "stop"
    refusal: str | None = None
    tool_calls: Sequence[Mapping[str, Any]] = ()


@dataclass(frozen=True, slots=True)
class Fault:
    """What goes wrong instead of an answer.

    `status` sends an error response, `hang` never answers, `close` closes the connection
    without a response, `raw` sends `body` with status 200.
    """

    kind: Literal["status", "hang", "close", "raw"]
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: str = ""


def _error(status: int, message: str, code: str | None = None, **headers: str) -> Fault:
    body = {"error": {"message": message, "type": "error", "param": None, "code": code}}
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Fault("status", status, named, json.dumps(body))


def rate_limited(retry_after: str | None = "1") -> Fault:
    """429; `retry_after` is seconds or an HTTP date, None for no header."""
    headers = {} if retry_after is None else {"Retry_After": retry_after}
    return _error(429, "Rate limit reached", "rate_limit_exceeded", **headers)


def server_error(status: int = 500) -> Fault:
    return _error(status, "The server had an error")


def gone() -> Fault:
    return _error(410, "This model has been retired", "model_retired")


def unauthorized(message: str = "Incorrect API key provided") -> Fault:
    return _error(401, message, "invalid_api_key")


def model_not_found() -> Fault:
    return _error(404, "The model does not exist", "model_not_found")


def bad_request(message: str = "Invalid value for temperature") -> Fault:
    return _error(400, message, "invalid_value")


def hang() -> Fault:
    return Fault("hang")


def close_connection() -> Fault:
    return Fault("close")


def rubbish(body: str = "<html>It works!</html>") -> Fault:
    return Fault("raw", body=body)


Answer = Callable[[dict[str, Any]], "str | Reply | Fault"]


class OpenAIServer(LocalServer):
    """`requests` holds the JSON of every request in order of arrival, `headers` its headers.

    Within its `with` block, this process asks it for what it would ask OpenAI."""

    def __init__(self, answer: Answer) -> None:
        self._environment = pytest.MonkeyPatch()
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self._answer = answer
        self._lock = threading.Lock()
        self._released = threading.Event()
        super().__init__(self.http(self._handler()))
        self.url += "/v1"
        """The base URL, as in OPENAI_BASE_URL."""

    def __enter__(self) -> Self:
        self._environment.setenv("OPENAI_BASE_URL", self.url)
        return super().__enter__()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._released.set()
        self._environment.undo()
        super().__exit__(kind, error, trace)

    def _receive(self, body: dict[str, Any], headers: dict[str, str]) -> str | Reply | Fault:
        with self._lock:
            self.requests.append(body)
            self.headers.append(headers)
            return self._answer(body)

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(JsonHandler):
            def do_POST(self) -> None:  # noqa: N802
                body = self.read_json()
                headers = {name.lower(): value for name, value in self.headers.items()}
                answer = server._receive(body, headers)
                if isinstance(answer, Fault):
                    self._fail(answer)
                    return
                reply = Reply(answer) if isinstance(answer, str) else answer
                whole = _completion(body, reply)
                if body.get("stream"):
                    events = b"".join(chat_events(whole))
                    self.send(200, events, {"Content-Type": "text/event-stream"})
                else:
                    self.send_json(200, json.dumps(whole), {})

            def _fail(self, fault: Fault) -> None:
                if fault.kind == "hang":
                    server._released.wait()
                if fault.kind in ("hang", "close"):
                    self.close_connection = True
                    return
                self.send_json(fault.status, fault.body, fault.headers)

        return Handler


def _completion(body: Mapping[str, Any], reply: Reply) -> dict[str, Any]:
    document: dict[str, Any] = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": reply.model or body.get("model"),
        "choices": [
            {
                "index": 0,
                "message": {
                    "role": "assistant",
                    "content": reply.text,
                    **({} if reply.refusal is None else {"refusal": reply.refusal}),
                    **({"tool_calls": list(reply.tool_calls)} if reply.tool_calls else {}),
                },
                "finish_reason": reply.finish_reason,
            }
        ],
    }
    if reply.system_fingerprint is not None:
        document["system_fingerprint"] = reply.system_fingerprint
    if reply.prompt_tokens is not None and reply.completion_tokens is not None:
        document["usage"] = {
            "prompt_tokens": reply.prompt_tokens,
            "completion_tokens": reply.completion_tokens,
            "total_tokens": reply.prompt_tokens + reply.completion_tokens,
        }
    return document
