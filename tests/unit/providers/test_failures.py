from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatekeeper.errors import CallFailed
from gatekeeper.providers.failures import call_failed, plain, seconds_to_wait
from gatekeeper.providers.http.http_client import Exchange
from gatekeeper.providers.http.network_guard import HostRefused

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


class Timeout(Exception):
    """Stands for litellm.Timeout: failures are told apart by the names of their types."""


def with_status(status: int, text: str = "said the server") -> CallFailed:
    return call_failed("openai/m", Exception(text), Exchange(status=status, retry_after="5"))


@pytest.mark.parametrize("status", [402, 403, 405, 410])
def test_a_refusal_is_fatal_and_not_the_authors(status: int) -> None:
    failure = with_status(status)
    assert (failure.fatal, failure.author, failure.retryable) == (True, False, False)
    assert str(failure).startswith(f"openai/m: HTTP {status}: said the server")
    assert ("is gone" in str(failure)) == (status == 410)


def test_a_refused_key_is_fatal_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AZURE_API_KEY", raising=False)
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", "0123456789abcdef")
    failures = [
        call_failed(model, Exception("said the server"), Exchange(status=401))
        for model in ("openai/m", "azure/m", "unheard/m")
    ]
    assert {(f.fatal, f.author, f.retryable) for f in failures} == {(True, False, False)}
    names = [str(failure).partition("; ")[2].rpartition(" ")[2] for failure in failures]
    assert names == ["OPENAI_API_KEY", "AZURE_OPENAI_API_KEY", ""]


@pytest.mark.parametrize(
    ("model", "status", "text", "fix"),
    [
        (
            "azure/my-own",
            400,
            "Function tools with reasoning_effort are not supported for gpt-5.6 in "
            "/v1/chat/completions. To use function tools, use /v1/responses",
            "azure/responses/my-own",
        ),
        ("gpt-9", 404, "only supported in v1/responses and not in", "openai/responses/gpt-9"),
        ("groq/openai/gpt-9", 400, "use /v1/responses", ""),
        ("azure/my-own", 500, "use /v1/responses", ""),
    ],
)
def test_the_name_that_chooses_the_other_api_is_given(
    model: str, status: int, text: str, fix: str
) -> None:
    failure = call_failed(model, Exception(text), Exchange(status=status))
    assert str(failure).partition("write the model as ")[2] == fix
    assert (failure.fatal, failure.author) == (bool(fix), bool(fix))


@pytest.mark.parametrize("status", [408, 409, 425, 429, 500, 502, 503, 529])
def test_what_may_pass_is_worth_another_try(status: int) -> None:
    failure = with_status(status)
    assert (failure.fatal, failure.retryable, failure.retry_after) == (False, True, 5)


@pytest.mark.parametrize(
    ("status", "text", "slows_down"),
    [
        (429, "said the server", True),
        (529, "said the server", True),
        (503, "server busy, please try again. maximum pending requests exceeded", True),
        (503, "The model is overloaded. Please try again later.", True),
        (503, "Slow down", True),
        (503, "upstream connect error", False),
        (500, "The model is overloaded.", False),
    ],
)
def test_a_refusal_because_of_load_slows_down_all_calls(
    status: int, text: str, slows_down: bool
) -> None:
    assert with_status(status, text).throttled is slows_down


def test_a_spent_quota_does_not_come_back_by_waiting() -> None:
    assert with_status(429, "insufficient_quota: check your plan").fatal


@pytest.mark.parametrize(
    ("status", "text"),
    [(404, "no such page"), (400, "The model `x` does not exist"), (400, "invalid model ID")],
)
def test_an_unknown_model_is_the_authors(status: int, text: str) -> None:
    failure = with_status(status, text)
    assert failure.fatal
    assert failure.author


@pytest.mark.parametrize("status", [400, 413, 422])
def test_a_refused_request_is_neither_fatal_nor_retried(status: int) -> None:
    failure = with_status(status, "context length exceeded")
    assert (failure.fatal, failure.retryable) == (False, False)


def test_rubbish_with_status_200_is_worth_another_try() -> None:
    failure = with_status(200, "Expecting value: line 1 column 1")
    assert failure.retryable
    assert "cannot be read" in str(failure)


def test_a_refused_connection_is_named_even_deep_inside() -> None:
    """litellm wraps what its clients raise, more than once."""
    try:
        try:
            raise HostRefused("evil.example is not a host")
        except OSError as inner:
            raise ValueError("wrapped") from inner
    except ValueError as error:
        outer = Exception("wrapped again")
        outer.__context__ = error
    failed = call_failed("openai/m", outer, Exchange())
    assert (failed.fatal, failed.retryable) == (True, False)
    assert "evil.example" in str(failed)


def test_what_the_wire_refuses_is_not_tried_again() -> None:
    unsent = call_failed("openai/m", Exception("x"), Exchange(fault="a request to evil.example"))
    assert (unsent.fatal, unsent.retryable, unsent.author) == (True, False, False)
    moved = call_failed("openai/m", Exception("x"), Exchange(fault="a redirect", status=302))
    assert (moved.fatal, moved.retryable, moved.author) == (False, False, False)
    assert "302" in str(moved)


def test_no_answer_in_time() -> None:
    failure = call_failed("openai/m", Timeout("x"), Exchange())
    assert (str(failure), failure.retryable) == ("openai/m: no answer within the time limit", True)


@pytest.mark.parametrize(
    ("name", "fatal", "author", "retryable"),
    [
        ("UnsupportedParamsError", True, True, False),
        ("AuthenticationError", True, False, False),
        ("BadRequestError", False, False, False),
        ("APIConnectionError", False, False, True),
    ],
)
def test_failures_without_an_answer(name: str, fatal: bool, author: bool, retryable: bool) -> None:
    failure = call_failed("openai/m", type(name, (Exception,), {})("why"), Exchange())
    assert (failure.fatal, failure.author, failure.retryable) == (fatal, author, retryable)
    assert "why" in str(failure)


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        (None, None),
        ("7", 7.0),
        ("0.5", 0.5),
        ("-1", None),
        ("inf", None),
        ("nan", None),
        ("soon", None),
        ("Mon, 01 Jan 99999999999999999999 00:00:00 GMT", None),
        ("Mon, 01 Jan 2026 99999999999999999999:00:00 GMT", None),
        ("Mon, 01 Jan 2026 00:00:00 +99999999999999999999", None),
        ("Fri, 02 Jan 2026 03:05:05 GMT", 60.0),
        ("Fri, 02 Jan 2026 03:05:05 -0000", 60.0),
        ("Fri, 02 Jan 2026 03:00:00 GMT", 0.0),
    ],
)
def test_retry_after_has_two_forms(header: str | None, seconds: float | None) -> None:
    assert seconds_to_wait(header, NOW) == seconds


@given(st.text())
def test_any_retry_after_is_a_wait_or_nothing(header: str) -> None:
    seconds = seconds_to_wait(header, NOW)
    assert seconds is None or seconds >= 0


def test_litellms_wrapping_and_tracebacks_are_left_out() -> None:
    text = "litellm.RateLimitError: RateLimitError: OpenAIException - Slow\n down"
    assert plain(text + " Traceback (most recent call last): …") == "Slow down"


def test_a_full_stop_is_left_to_the_sentence_that_quotes_the_text() -> None:
    assert plain("litellm.InternalServerError: OpenAIException - Connection error.").endswith(
        "Connection error"
    )
    assert plain("Wait ...") == "Wait ..."


def test_long_texts_are_cut() -> None:
    assert len(plain("x" * 1000)) == 301


def test_secrets_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "correct-horse-battery")
    monkeypatch.setenv("SHORT_KEY", "a")
    text = "key correct-horse-battery, sk-abcdefghijklmnop1234, Bearer abc.def, ?key=zzz&a=1"
    assert plain(text) == "key ***, ***, Bearer ***, ?key=***&a=1"
    proxies = "http://me:hunter2@proxy:1, https://me:p@ss@other, http://a/b@c, ://" + "x" * 9
    assert plain(proxies) == "http://***@proxy:1, https://***@other, http://a/b@c, ://xxxxxxxxx"


def test_a_package_that_is_not_there_is_asked_for_once() -> None:
    error = ConnectionError("APIConnectionError: No module named 'mcp'")
    error.__cause__ = ModuleNotFoundError("No module named 'mcp'")
    failure = call_failed("openai/o1-pro", error, Exchange())
    assert (failure.fatal, failure.author, failure.retryable) == (True, True, False)
    assert "mcp" in str(failure)
    assert "remove `litellm` from `providers`" in str(failure)
    error.__cause__ = ModuleNotFoundError("No module named 'boto3'")
    other = call_failed("bedrock/x", ConnectionError("No module named 'boto3'"), Exchange())
    assert "Responses API" not in str(other)
