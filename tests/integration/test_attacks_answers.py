"""Answers that are none, have no end, or come from a server that would rather not say anything."""

from __future__ import annotations

import asyncio
import gzip
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import count
from typing import Any

import pytest
from support.edited_text import edited
from support.openai_server import Fault, Reply
from support.pull_request import FILES, FIXTURES, HARMLESS, PROMPT, answer
from support.ways_in import RunGate

from gatekeeper.contract.values.definition import Message
from gatekeeper.contract.values.trial import Completion, Request
from gatekeeper.errors import CallFailed
from gatekeeper.providers.hosted import HostedClient
from gatekeeper.providers.http.response_body import MAX_BYTES
from gatekeeper.sampling.retries import within

REQUEST = Request("openai/gpt-4o-mini", (Message("user", "Hello"),), {}, None, 0)

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n"

Send = Callable[[socket.socket], None]


def refusing(reply: Reply | Fault, at: Callable[[str], bool]) -> Callable[[Mapping[str, Any]], Any]:
    """A model that refuses what `at` says of the prompt, and answers the rest."""

    def model(body: Mapping[str, Any]) -> Any:
        return reply if at(json.dumps(body)) else answer(body)

    return model


REFUSALS = (
    Reply(None, finish_reason="content_filter"),
    Reply(None, finish_reason="stop", refusal="I cannot help with that."),
    Reply("", finish_reason="length"),
    Reply(None, finish_reason="tool_calls"),
    Fault(
        "status",
        400,
        body=json.dumps(
            {"error": {"code": "content_filter", "message": "The prompt was filtered"}}
        ),
    ),
)


def is_head(text: str) -> bool:
    return HARMLESS[:20] in text


@pytest.mark.parametrize("reply", REFUSALS)
def test_a_prompt_that_is_refused_is_worse(run_gate: RunGate, reply: Reply | Fault) -> None:
    """One in six is more than the margin, and would be less than it as unmeasured."""
    few = [f"item {n}." for n in range(0, FIXTURES, 3)]
    model = refusing(reply, lambda text: is_head(text) and any(item in text for item in few))
    answered = run_gate(FILES, {PROMPT: HARMLESS}, answer=model)
    assert (answered.exit_code, answered.verdict) == (1, "fail")
    assert answered.reasons() == {"regression"}
    assert answered.result is not None
    assert answered.result["calls"]["failed"] == 0
    rows = [json.loads(line) for line in (answered.out / "samples.jsonl").read_text().splitlines()]
    refused = [row for row in rows if row["finish_reason"] not in ("stop", None)]
    assert len(refused) == len(few)
    assert {row["error"] for row in rows} == {None}


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        ({"code": None, "message": "This model's maximum context length is 128 tokens."}, "long"),
        ({"code": "context_length_exceeded", "message": "Too long"}, "long"),
        ({"code": None, "param": "messages.[0].content", "message": "Invalid"}, "refused"),
    ],
)
def test_a_request_refused_for_its_content_is_worse(
    run_gate: RunGate, error: Any, reason: str
) -> None:
    """Few enough that the margin would hide them, if they were unmeasured."""
    few = [f"item {n}." for n in range(0, FIXTURES, 3)]
    refused = Fault("status", 400, body=json.dumps({"error": error}))
    model = refusing(refused, lambda text: is_head(text) and any(item in text for item in few))
    answered = run_gate(FILES, {PROMPT: HARMLESS}, answer=model)
    assert (answered.exit_code, answered.reasons()) == (1, {"regression"})
    rows = [json.loads(line) for line in (answered.out / "samples.jsonl").read_text().splitlines()]
    found = [
        row
        for row in rows
        if row["finish_reason"] == f"request_{'too_' * (reason == 'long')}{reason}"
    ]
    assert len(found) == len(few)
    assert all("refused the request" in row["checks"][0]["message"] for row in found)


def test_a_model_that_always_refuses_is_no_outage(run_gate: RunGate) -> None:
    """Both arms are refused alike: nothing got worse, and nothing is missing."""
    model = refusing(REFUSALS[0], lambda text: "item 3." in text)
    answered = run_gate(FILES, {PROMPT: HARMLESS}, answer=model)
    assert (answered.exit_code, answered.verdict) == (0, "pass")


@pytest.mark.long
def test_an_answer_without_text_or_reason_is_an_outage(run_gate: RunGate) -> None:
    model = refusing(Reply(None, finish_reason=None), is_head)
    head = {PROMPT: HARMLESS}
    answered = run_gate(FILES, head, answer=model, policy="limits: {minutes: 0.2}\n")
    assert (answered.exit_code, answered.verdict) == (3, "error")


@contextmanager
def raw_server(send: Send) -> Iterator[str]:
    """A server that answers each connection with whatever `send` writes, until it is let go."""
    listener = socket.create_server(("127.0.0.1", 0))

    def talk(connection: socket.socket) -> None:
        with connection, suppress(OSError):
            connection.settimeout(20)
            request = connection.recv(65_536)
            while b"Hello" not in request:  # the body may come after the headers
                request += connection.recv(65_536)
            send(connection)
            connection.shutdown(socket.SHUT_WR)
            while connection.recv(65_536):
                pass

    def serve() -> None:
        with suppress(OSError):
            while True:
                connection, _ = listener.accept()
                threading.Thread(target=talk, args=(connection,), daemon=True).start()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
    finally:
        with suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join()


@pytest.fixture(params=[(), ("openai",)], ids=["native", "litellm"])
def through_litellm(request: pytest.FixtureRequest) -> tuple[str, ...]:
    """The providers that litellm asks."""
    return tuple(request.param)


def outcome(
    send: Send,
    monkeypatch: pytest.MonkeyPatch,
    through_litellm: tuple[str, ...],
    seconds: float = 120.0,
) -> Completion | CallFailed:
    async def ask() -> Completion | CallFailed:
        client = HostedClient(through_litellm)
        try:
            return await within(seconds, client.complete(REQUEST))
        except CallFailed as failed:
            return failed
        finally:
            await client.aclose()

    with raw_server(send) as url:
        monkeypatch.setenv("OPENAI_BASE_URL", url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789abcdef")
        return asyncio.run(ask())


def peak_megabytes() -> float:
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def chunk(content: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(content), content)


def endless_text(connection: socket.socket) -> None:
    connection.sendall(CHUNKED + b"\r\n")
    while True:
        connection.sendall(chunk(b" " * 1_000_000))


def endless_length(connection: socket.socket) -> None:
    connection.sendall(HEAD + b"Content-Length: 99999999999\r\n\r\n")
    while True:
        connection.sendall(b" " * 1_000_000)


def gzip_bomb(connection: socket.socket) -> None:
    packed = gzip.compress(bytes(50_000_000)) * 1
    connection.sendall(CHUNKED + b"Content-Encoding: gzip\r\n\r\n" + chunk(packed) + chunk(b""))


def nested_bomb(connection: socket.socket) -> None:
    packed = gzip.compress(gzip.compress(bytes(50_000_000)))
    connection.sendall(
        CHUNKED + b"Content-Encoding: gzip, gzip\r\n\r\n" + chunk(packed) + chunk(b"")
    )


def many_choices(connection: socket.socket) -> None:
    body = b'{"choices":[' + b"{}," * 400_000 + b"{}]}"
    connection.sendall(HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body)


def endless_error(connection: socket.socket) -> None:
    connection.sendall(edited(CHUNKED, b"200 OK", b"500 Error") + b"\r\n")
    while True:
        connection.sendall(chunk(b" " * 1_000_000))


@pytest.mark.long
@pytest.mark.parametrize(
    "send",
    [endless_text, endless_length, gzip_bomb, nested_bomb, many_choices, endless_error],
)
def test_an_answer_without_end_fails_and_takes_little_memory(
    send: Send, monkeypatch: pytest.MonkeyPatch, through_litellm: tuple[str, ...]
) -> None:
    from gatekeeper.providers.litellm import load_litellm

    if through_litellm:  # its import takes memory, too
        load_litellm()
    before = peak_megabytes()
    failed = outcome(send, monkeypatch, through_litellm)
    assert isinstance(failed, CallFailed)
    assert not failed.retryable
    assert peak_megabytes() - before < 20 * MAX_BYTES / 1_000_000


def drip(connection: socket.socket) -> None:
    connection.sendall(CHUNKED + b"\r\n")
    while True:
        connection.sendall(chunk(b" "))
        time.sleep(0.02)


def drip_headers(connection: socket.socket) -> None:
    connection.sendall(HEAD)
    for number in count():
        connection.sendall(b"X-%d: y\r\n" % number)
        time.sleep(0.02)


@pytest.mark.long
@pytest.mark.parametrize("send", [drip, drip_headers])
def test_an_answer_that_drips_ends_with_the_calls_time(
    send: Send, monkeypatch: pytest.MonkeyPatch, through_litellm: tuple[str, ...]
) -> None:
    from gatekeeper.providers.litellm import load_litellm

    if through_litellm:  # its import takes longer than the call may
        load_litellm()
    failed = outcome(send, monkeypatch, through_litellm, seconds=1.0)
    assert isinstance(failed, CallFailed)
    assert failed.retryable


def test_an_answer_packed_with_gzip_is_read(
    monkeypatch: pytest.MonkeyPatch, through_litellm: tuple[str, ...]
) -> None:
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": "Hi"},
        "finish_reason": "stop",
    }
    body = gzip.compress(json.dumps({"model": "m", "choices": [choice]}).encode())

    def send(connection: socket.socket) -> None:
        connection.sendall(CHUNKED + b"Content-Encoding: gzip\r\n\r\n" + chunk(body) + chunk(b""))

    found = outcome(send, monkeypatch, through_litellm)
    assert isinstance(found, Completion)
    assert (found.text, found.finish_reason) == ("Hi", "stop")
