from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
from support.openai_server import (
    Fault,
    OpenAIServer,
    Reply,
    close_connection,
    gone,
    hang,
    rate_limited,
    rubbish,
    server_error,
    unauthorized,
)

from gatekeeper.contract.meaning.schemas import policy_schema
from gatekeeper.contract.values.definition import Message
from gatekeeper.contract.values.trial import Completion, Request
from gatekeeper.errors import CallFailed, UsageError
from gatekeeper.providers import litellm as litellm_client
from gatekeeper.providers.hosted import NATIVE_APIS, HostedClient
from gatekeeper.providers.http.http_client import HttpClient
from gatekeeper.providers.litellm import HttpxTransport
from gatekeeper.providers.models.cost_estimate import expected_cost
from gatekeeper.providers.models.endpoint import endpoint_of

KEY = "sk-test-0123456789abcdef"


def request(model: str = "openai/gpt-4o-mini", seed: int | None = 7, **params: Any) -> Request:
    messages = (Message("system", "Be short."), Message("user", "Hello"))
    return Request(model, messages, params, seed, 0)


THROUGH = {"native": (), "litellm": ("openai",)}
"""The providers that litellm asks, in each of the two ways in which a model is asked."""

Way = tuple[str, ...]


@pytest.fixture(params=THROUGH)
def way(request: pytest.FixtureRequest) -> Way:
    return THROUGH[request.param]


def complete(*requests: Request, way: Way = ()) -> list[Completion | BaseException]:
    async def main() -> list[Completion | BaseException]:
        client = HostedClient(way)
        try:
            calls = (client.complete(each) for each in requests)
            return await asyncio.gather(*calls, return_exceptions=True)
        finally:
            await client.aclose()
            await client.aclose()

    return asyncio.run(main())


def failure(subject: Request, way: Way = ()) -> CallFailed:
    (outcome,) = complete(subject, way=way)
    assert isinstance(outcome, CallFailed), outcome
    return outcome


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Any], OpenAIServer]]:
    servers: list[OpenAIServer] = []

    def start(answer: Any) -> OpenAIServer:
        server = OpenAIServer(answer if callable(answer) else lambda _: answer).__enter__()
        servers.append(server)
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        return server

    yield start
    for server in servers:
        server.__exit__(None, None, None)


Serve = Callable[[Any], OpenAIServer]


def test_an_answer_with_its_tokens_cost_and_own_time(serve: Serve, way: Way) -> None:
    server = serve(Reply("Hi", prompt_tokens=1000, completion_tokens=100))
    (completion,) = complete(request(temperature=0.5, max_tokens=5), way=way)
    assert isinstance(completion, Completion)
    assert (completion.text, completion.prompt_tokens, completion.completion_tokens) == (
        "Hi",
        1000,
        100,
    )
    assert completion.cost_usd == pytest.approx(1000 * 0.15e-6 + 100 * 0.6e-6)
    assert completion.latency_ms is not None
    assert completion.latency_ms > 0
    (sent,) = server.requests
    assert sent == {
        "model": "gpt-4o-mini",
        "messages": [
            {"role": "system", "content": "Be short."},
            {"role": "user", "content": "Hello"},
        ],
        "temperature": 0.5,
        "max_tokens": 5,
        "seed": 7,
    }
    assert server.headers[0]["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize(
    ("reply", "fingerprint"),
    [
        (Reply("Hi"), "gpt-4o-mini"),
        (Reply("Hi", model="gpt-4o-mini-2024-07-18"), "gpt-4o-mini-2024-07-18"),
        (
            Reply("Hi", model="gpt-4o-mini-2024-07-18", system_fingerprint="fp_44709d6fcb"),
            "gpt-4o-mini-2024-07-18 fp_44709d6fcb",
        ),
        (Reply("Hi", system_fingerprint="fp\u202e1"), "gpt-4o-mini"),
        (Reply("Hi", model="m" * 300), "m" * 100),
    ],
)
def test_what_answered_is_known_by_what_the_provider_says(
    serve: Serve, way: Way, reply: Reply, fingerprint: str
) -> None:
    serve(reply)
    (completion,) = complete(request(), way=way)
    assert isinstance(completion, Completion)
    assert completion.fingerprint == fingerprint


def test_without_a_seed_none_is_sent(serve: Serve, way: Way) -> None:
    server = serve("Hi")
    complete(request(seed=None), way=way)
    assert "seed" not in server.requests[0]


def test_many_calls_at_once(serve: Serve, way: Way) -> None:
    server = serve("Hi")
    outcomes = complete(*(request() for _ in range(20)), way=way)
    assert {outcome.text for outcome in outcomes if isinstance(outcome, Completion)} == {"Hi"}
    assert len(server.requests) == 20


def test_an_unknown_price_and_no_usage_are_unknown(
    serve: Serve, way: Way, capfd: pytest.CaptureFixture[str]
) -> None:
    serve(lambda body: Reply("Hi") if "llama" in body["model"] else Reply("Hi", None, None))
    unpriced, unmetered = complete(request("openai/llama3.2:1b"), request(), way=way)
    assert isinstance(unpriced, Completion)
    assert (unpriced.prompt_tokens, unpriced.cost_usd) == (10, None)
    assert isinstance(unmetered, Completion)
    assert (unmetered.prompt_tokens, unmetered.completion_tokens, unmetered.cost_usd) == (
        None,
        None,
        None,
    )
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("fault", "retryable", "fatal", "retry_after"),
    [
        (rate_limited("3"), True, False, 3.0),
        (rate_limited(None), True, False, None),
        (server_error(503), True, False, None),
        (gone(), False, True, None),
        (close_connection(), True, False, None),
        (rubbish(), True, False, None),
        (rubbish('{"choices": []}'), True, False, None),
        (rubbish('{"error": "x"}'), True, False, None),
        (Reply(None, finish_reason=None), True, False, None),
    ],
)
def test_faults_are_tried_once_and_told_apart(
    serve: Serve, way: Way, fault: Fault, retryable: bool, fatal: bool, retry_after: float | None
) -> None:
    server = serve(fault)
    failed = failure(request(), way=way)
    assert (failed.retryable, failed.fatal, failed.retry_after) == (retryable, fatal, retry_after)
    assert len(server.requests) == 1


def test_a_refused_key_is_fatal_and_not_shown(
    serve: Serve, way: Way, capfd: pytest.CaptureFixture[str]
) -> None:
    serve(unauthorized(f"Incorrect API key provided: {KEY}"))
    failed = failure(request(), way=way)
    assert failed.fatal
    assert str(failed) == (
        "openai/gpt-4o-mini: HTTP 401: Incorrect API key provided: ***; "
        "check the key in the environment variable OPENAI_API_KEY"
    )
    assert capfd.readouterr() == ("", "")


def test_a_missing_key_says_which(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    failed = failure(request())
    assert (failed.fatal, failed.author) == (True, True)
    said = "openai/gpt-4o-mini: no API key, so no model was called; set OPENAI_API_KEY in the"
    assert str(failed) == f"{said} environment"


def required(*models: str, way: Way = ()) -> None:
    async def ask() -> None:
        client = HostedClient(way)
        try:
            for model in models:
                await client.require_key(model)
        finally:
            await client.aclose()

    asyncio.run(ask())


def test_a_missing_key_is_found_before_any_call(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    server = serve("Hi")
    required("openai/gpt-4o-mini", "ollama/llama3.2:1b")
    monkeypatch.setenv("OPENAI_API_KEY", "")  # GitHub's word for a secret that is not there
    with pytest.raises(UsageError) as refused:
        required("openai/gpt-4o-mini")
    assert str(refused.value) == (
        "openai/gpt-4o-mini: no API key, so no model was called; set OPENAI_API_KEY in the "
        "environment"
    )
    assert server.requests == []
    assert capfd.readouterr() == ("", "")


class Litellm:
    """Takes no notice of variables: it asks at once, or looks for credentials for ever."""

    def __init__(self, *, asks: bool) -> None:
        self._asks = asks

    async def acompletion(self, **_: object) -> None:
        if self._asks:
            http = HttpClient()
            try:
                async with httpx.AsyncClient(transport=HttpxTransport(http)) as client:
                    await client.get("https://sts.amazonaws.com/")
            finally:
                await http.aclose()
        await asyncio.sleep(60)

    def get_supported_openai_params(self, _: str) -> None:
        return None


BEDROCK = endpoint_of("bedrock/anthropic.claude-3-haiku-20240307-v1:0", {})


def test_what_reaches_the_wire_needs_no_variable() -> None:
    """As Bedrock's, which takes the role of the machine it runs on."""
    assert asyncio.run(litellm_client._sends_a_request(Litellm(asks=True), BEDROCK.model, BEDROCK))


def test_credentials_that_take_long_to_find_may_be_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(litellm_client, "_REHEARSAL_SECONDS", 0.0)
    assert asyncio.run(litellm_client._sends_a_request(Litellm(asks=False), BEDROCK.model, BEDROCK))


@pytest.mark.parametrize(
    "model", ["no-such/model", "no-such-model", "deepinfra/x", "baseten/ID", "chutes/x"]
)
def test_a_model_that_has_no_key_of_its_own_is_the_authors(
    serve: Serve, way: Way, model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = serve("Hi")
    monkeypatch.delenv("DEEPINFRA_API_KEY", raising=False)
    failed = failure(request(model), way=way)
    assert (failed.fatal, failed.author) == (True, True)
    assert model in str(failed)
    with pytest.raises(UsageError):
        required(model)
    assert server.requests == []


@pytest.mark.parametrize("name", ["api_base", "api_key", "extra_headers", "n", "stream"])
def test_a_contract_cannot_redirect_a_call(serve: Serve, way: Way, name: str) -> None:
    server = serve("Hi")
    failed = failure(request(**{name: "http://127.0.0.1:1"}), way=way)
    assert (failed.fatal, failed.author) == (True, True)
    assert repr(name) in str(failed)
    assert server.requests == []


def test_a_model_cannot_be_an_address() -> None:
    assert failure(request("huggingface/https://example.org")).author


def test_a_hung_call_can_be_cancelled(serve: Serve, way: Way) -> None:
    server = serve(hang())

    async def main() -> None:
        client = HostedClient()
        call = asyncio.create_task(client.complete(request()))
        while not server.requests:
            await asyncio.sleep(0.01)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await client.aclose()

    asyncio.run(main())


def test_closing_what_was_never_used_is_fine() -> None:
    asyncio.run(HostedClient().aclose())


def test_expected_costs() -> None:
    assert expected_cost(request("local/smollm2")) == 0.0
    assert expected_cost(request("recorded/samples.jsonl")) == 0.0
    assert expected_cost(request("openai/llama3.2:1b")) is None
    # "Be short." and "Hello" are 14 characters, 4 tokens.
    assert expected_cost(request(max_tokens=10)) == pytest.approx(4 * 0.15e-6 + 10 * 0.6e-6)


def test_with_the_proxy_of_litellm_no_model_is_asked_natively(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = serve("Hi")
    complete(request())
    monkeypatch.setenv("USE_LITELLM_PROXY", "true")
    monkeypatch.setenv("LITELLM_PROXY_API_BASE", server.url)
    monkeypatch.setenv("LITELLM_PROXY_API_KEY", KEY)
    complete(request())
    native, proxied = (headers["user-agent"] for headers in server.headers)
    assert native == "gatekeeper"
    assert proxied != "gatekeeper"


def test_the_policy_knows_which_providers_are_asked_natively() -> None:
    schema = policy_schema()["properties"]["providers"]
    assert set(schema["properties"]) == set(NATIVE_APIS)


def test_importing_the_providers_loads_no_litellm() -> None:
    import subprocess

    program = (
        "import sys, gatekeeper.providers as p; p.ModelRouter(lambda path: b'');"
        "print([m for m in ('litellm', 'httpx', 'openai', 'xllamacpp') if m in sys.modules])"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert ran.stdout == "[]\n"
