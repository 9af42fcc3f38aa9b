"""When a provider says that nothing remains: strictly read, and bounded."""

from __future__ import annotations

import asyncio
import math
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from multidict import CIMultiDict
from support.answering_server import Answer, AnsweringServer
from support.edited_text import edited

from gatekeeper.contract.values.definition import Message
from gatekeeper.contract.values.trial import Completion, Request
from gatekeeper.errors import CallFailed
from gatekeeper.providers.hosted import HostedClient
from gatekeeper.providers.http.rate_limits import (
    LONGEST_PAUSE,
    pause_until_reset,
    read_duration,
    seconds_until,
)
from gatekeeper.sampling.completion_record import completion_record

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)


def pause(**headers: str) -> float | None:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return pause_until_reset(CIMultiDict(named), NOW)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1s", 1.0),
        ("6m0s", 360.0),
        ("12ms", 0.012),
        ("7.66s", 7.66),
        ("2m59.56s", 179.56),
        ("1h0m0s", 3600.0),
        ("1m30s500ms", 90.5),
        ("4d", LONGEST_PAUSE),
        ("999999999s", LONGEST_PAUSE),
        ("0s", 0.0),
        ("", 0.0),
    ],
)
def test_durations(text: str, seconds: float) -> None:
    found = read_duration(text)
    assert found == (pytest.approx(seconds) if text else None)


@pytest.mark.parametrize(
    "text",
    [
        "-1s",
        "1",
        "1.5",
        "nan",
        "NaNs",
        "infs",
        "1e9s",
        "1s1m",
        " 1s",
        "1s\n",
        "１s",
        "١s",
        "1.s",
        ".5s",
        "9" * 50 + "s",
        "1s" * 30,
        "s",
        "1 s",
        "+1s",
    ],
)
def test_what_is_no_duration_is_ignored(text: str) -> None:
    assert read_duration(text) is None
    assert pause(x_ratelimit_remaining_requests="0", x_ratelimit_reset_requests=text) is None


@given(st.text(max_size=60) | st.from_regex(r"[0-9.]*[dhms]+[0-9.]*(ms)?", fullmatch=True))
def test_any_text_is_a_bounded_wait_or_nothing(text: str) -> None:
    for found in (read_duration(text), seconds_until(text, NOW)):
        assert found is None or (math.isfinite(found) and 0 <= found <= LONGEST_PAUSE)


@given(st.integers(0, 23), st.integers(0, 59), st.integers(0, 59), st.integers(0, 999))
def test_a_duration_is_the_sum_of_its_parts(h: int, m: int, s: int, ms: int) -> None:
    total = h * 3600 + m * 60 + s + ms / 1000
    assert read_duration(f"{h}h{m}m{s}s{ms}ms") == pytest.approx(min(total, LONGEST_PAUSE))


@given(st.datetimes(timezones=st.just(UTC)))
def test_a_moment_is_waited_for(moment: datetime) -> None:
    text = edited(moment.isoformat(), "+00:00", "Z")
    expected = min(max(0.0, (moment - NOW) / timedelta(seconds=1)), LONGEST_PAUSE)
    assert seconds_until(text, NOW) == pytest.approx(expected)


@pytest.mark.parametrize(
    "text",
    [
        "2026-11-22",
        "2026-11-22T12:00:30",
        "2026-13-01T00:00:00Z",
        "20261122T120030Z",
        "30",
        "２026-11-22T12:00:30Z",
        "2026-11-22T12:00:30+99:99",
        "9999-12-31T23:59:59-23:59x",
    ],
)
def test_what_is_no_moment_is_ignored(text: str) -> None:
    assert seconds_until(text, NOW) is None


def test_the_longest_of_the_used_up_limits_counts() -> None:
    assert pause(
        x_ratelimit_remaining_requests="0",
        x_ratelimit_reset_requests="2s",
        x_ratelimit_remaining_tokens="0",
        x_ratelimit_reset_tokens="6m0s",
    ) == pytest.approx(360)
    assert pause(
        X_RateLimit_Remaining_Requests="0",
        x_ratelimit_reset_requests="2s",
        x_ratelimit_remaining_tokens="17",
        x_ratelimit_reset_tokens="6m0s",
    ) == pytest.approx(2)
    assert pause(
        anthropic_ratelimit_output_tokens_remaining="0",
        anthropic_ratelimit_output_tokens_reset="2026-11-22T12:00:30Z",
    ) == pytest.approx(30)


@pytest.mark.parametrize("remaining", ["1", "-0", "0.0", "", "none", "０", "0x0", "00 "])
def test_what_remains_or_is_not_said_is_no_pause(remaining: str) -> None:
    assert pause(x_ratelimit_remaining_requests=remaining, x_ratelimit_reset_requests="9s") is None
    assert pause(x_ratelimit_reset_requests="9s") is None
    assert pause(x_ratelimit_remaining_requests="0") is None


USED_UP = {"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "6m0s"}
CHAT = {
    "model": "gpt-4o-mini",
    "choices": [{"message": {"content": "Hi"}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 10, "completion_tokens": 2},
}


def ask(answer: Answer, monkeypatch: pytest.MonkeyPatch) -> Completion:
    async def main(url: str) -> Completion:
        monkeypatch.setenv("OPENAI_BASE_URL", url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-test-0123456789abcdef")
        client = HostedClient()
        try:
            messages = (Message("user", "Hello"),)
            return await client.complete(Request("openai/gpt-4o-mini", messages, {}, None, 0))
        finally:
            await client.aclose()

    with AnsweringServer(answer) as server:
        return asyncio.run(main(server.url))


def test_an_answer_carries_the_pause_and_no_file_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    found = ask(Answer(200, CHAT, USED_UP), monkeypatch)
    assert found.pause == 360
    assert "pause" not in completion_record(found)
    assert found == replace(found, pause=None)
    assert "pause" not in repr(found)
    assert ask(Answer(200, CHAT, {"x-ratelimit-remaining-tokens": "5"}), monkeypatch).pause is None


@pytest.mark.parametrize(("more", "wait"), [({}, 360.0), ({"Retry-After": "3"}, 3.0)])
def test_a_refusal_waits_for_the_reset_unless_it_names_a_pause(
    more: dict[str, str], wait: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(CallFailed) as failed:
        ask(Answer(429, {"error": {"message": "slow down"}}, {**USED_UP, **more}), monkeypatch)
    assert (failed.value.throttled, failed.value.retry_after) == (True, wait)
