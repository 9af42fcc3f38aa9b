from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from gatekeeper.contract.meaning.digests import request_digest
from gatekeeper.contract.values.definition import Message
from gatekeeper.contract.values.trial import Completion, Request
from gatekeeper.errors import CallFailed, NotRecorded
from gatekeeper.providers.recorded import ReplayClient

MODEL = "recorded/past/samples.jsonl"


def request(text: str = "Hi", model: str = MODEL, repetition: int = 0, **params: Any) -> Request:
    return Request(model, (Message("user", text),), params, 42, repetition)


def row(text: str = "Hi", model: str = "openai/a", repetition: int = 0, **changes: Any) -> str:
    return json.dumps(
        {
            "request": request_digest(request(text)),
            "repetition": repetition,
            "model": model,
            "output_raw": f"{model} on {text}",
            "latency_ms": 12.5,
            "prompt_tokens": 3,
            "completion_tokens": 2,
            "cost_usd": 0.25,
            "error": None,
        }
        | changes
    )


def replay(subject: Request, *lines: str, path: str | None = None) -> Completion:
    read: list[str] = []

    def reader(name: str) -> bytes:
        read.append(name)
        return "\n".join([*lines, ""]).encode()

    async def main() -> Completion:
        client = ReplayClient(reader, path)
        try:
            first = await client.complete(subject)
            assert await client.complete(subject) == first
            return first
        finally:
            await client.aclose()

    try:
        return asyncio.run(main())
    finally:
        assert set(read) == {path or "past/samples.jsonl"}


def failure(subject: Request, *lines: str, path: str | None = None) -> CallFailed:
    with pytest.raises(CallFailed) as caught:
        replay(subject, *lines, path=path)
    return caught.value


def test_a_sample_is_found_by_request_and_repetition() -> None:
    lines = [row(), row(repetition=1, output_raw="again"), row("Bye"), ""]
    assert replay(request(), *lines) == Completion(
        "openai/a on Hi", 12.5, 3, 2, 0.25, replayed=True
    )
    assert replay(request(repetition=1), *lines).text == "again"


def test_tokens_of_the_reasoning_are_replayed() -> None:
    assert replay(request(), row(reasoning_tokens=1)).reasoning_tokens == 1
    assert replay(request(), row()).reasoning_tokens is None
    assert "reasoning_tokens" in str(failure(request(), row(reasoning_tokens=-1)))


def test_what_was_not_known_stays_unknown() -> None:
    unknown = dict.fromkeys(("latency_ms", "prompt_tokens", "completion_tokens", "cost_usd"))
    assert replay(request(), row(**unknown)) == Completion("openai/a on Hi", replayed=True)


def test_what_answered_then_is_what_answers_now() -> None:
    assert replay(request(), row(fingerprint="gpt-x fp_1")).fingerprint == "gpt-x fp_1"


def test_a_changed_request_is_not_recorded() -> None:
    for changed in (request("Hello"), request(temperature=1)):
        failed = failure(changed, row())
        assert (failed.fatal, failed.retryable) == (False, False)
        assert str(failed).endswith("no sample has these messages and parameters")
        assert isinstance(failed, NotRecorded)
        assert failed.path == "past/samples.jsonl"


def test_too_few_repetitions() -> None:
    failed = failure(request(repetition=2), row(), row(repetition=1))
    assert not failed.fatal
    assert "2 samples of this request, but not sample number 3" in str(failed)


def test_a_recorded_failure_fails_again() -> None:
    failed = failure(request(), row(output_raw=None, error="HTTP 500"))
    assert str(failed) == "this call failed when past/samples.jsonl was recorded: HTTP 500"
    assert "no reason given" in str(failure(request(), row(output_raw=None)))


@pytest.mark.parametrize("other", ["whole", "alone"])
def test_an_answer_that_was_cut_cannot_stand_in_for_the_model(other: str) -> None:
    cut = row("Hi", output_length=5_000_000, output_sha256="0" * 64)
    whole = [row("Hi")] if other == "whole" else []
    if whole:
        assert replay(request(), cut, *whole).text == "openai/a on Hi"
        return
    found = failure(request(), cut)
    assert isinstance(found, NotRecorded)
    assert "5,000,000" in str(found)


@pytest.mark.parametrize("length", ["many", -1, None])
def test_a_length_that_is_none_never_makes_a_cut_answer_whole(length: object) -> None:
    found = failure(request(), row("Hi", output_length=length, output_sha256="0" * 64))
    assert isinstance(found, CallFailed)


def test_the_first_answer_stands_for_fixtures_that_ask_the_same() -> None:
    failed = row(output_raw=None, error="HTTP 500")
    assert replay(request(), failed, row(), row(output_raw="other")).text == "openai/a on Hi"


def test_a_replay_of_everything_tells_models_apart() -> None:
    lines = [row(), row(model="openai/b")]
    for model in ("openai/a", "openai/b"):
        assert replay(request(model=model), *lines, path="f").text == f"{model} on Hi"
    failed = failure(request(model="openai/c"), *lines, path="f")
    assert "not recorded in f for openai/c, only for openai/a, openai/b" in str(failed)


def test_a_recording_of_several_models_is_ambiguous_as_a_model() -> None:
    failed = failure(request(), row(), row(model="openai/b"))
    assert (failed.fatal, failed.author) == (True, True)
    assert "several models (openai/a, openai/b)" in str(failed)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("{", "Expecting"),
        ("[]", "must be integers"),
        ('"text"', "must be integers"),
        ("7", "not subscriptable"),
        (row(repetition="x"), "invalid literal"),
        (row(repetition=None), "int()"),
        (row(request=7), "request is not text"),
        (row(model=None), "model is not text"),
        (row(output_raw=7), "output_raw is not text"),
        (row(latency_ms="fast"), "latency_ms is not a number"),
        (row(cost_usd=True), "cost_usd is not a number"),
        (row(cost_usd=1e308), "cost_usd is not a number from 0"),
        (json.dumps({"request": "x"}), "no 'repetition'"),
    ],
)
def test_a_corrupt_line_is_named(line: str, why: str) -> None:
    failed = failure(request(), row(), line)
    assert (failed.fatal, failed.author) == (True, True)
    assert str(failed).startswith("recording past/samples.jsonl:2: not a line of samples.jsonl")
    assert why in str(failed)


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (FileNotFoundError("x"), "the file does not exist; to get a recording"),
        (IsADirectoryError(21, "Is a directory"), "the file cannot be read: Is a directory"),
        (OSError("odd"), "the file cannot be read: odd"),
    ],
)
def test_a_recording_that_cannot_be_read(error: OSError, why: str) -> None:
    def reader(_: str) -> bytes:
        raise error

    with pytest.raises(CallFailed) as caught:
        asyncio.run(ReplayClient(reader).complete(request()))
    assert (caught.value.fatal, caught.value.author) == (True, True)
    assert f"recording past/samples.jsonl: {why}" in str(caught.value)


def test_a_recording_that_is_not_text() -> None:
    with pytest.raises(CallFailed, match="not UTF-8"):
        asyncio.run(ReplayClient(lambda _: b"\xff").complete(request()))
