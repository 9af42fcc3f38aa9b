"""A job signs in to a cloud with its own identity: who gets what, and what hostile answers do."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support import token_exchanges
from support.native_clients import ask, asked
from support.token_exchanges import (
    BEARER,
    CHAT,
    IDENTITY,
    ISSUER,
    SETTINGS,
    Clouds,
    Reply,
    Sent,
    certificate,
    jwt,
    proxy,
    reply,
)

from gatekeeper.contract.values.trial import Completion
from gatekeeper.errors import CallFailed, UsageError
from gatekeeper.providers.hosted import HostedClient
from gatekeeper.providers.http.http_client import HttpClient
from gatekeeper.providers.http.network_guard import NetworkGuard
from gatekeeper.providers.keyless import Keyless
from gatekeeper.providers.models.endpoint import Endpoint, endpoint_of, is_expected_host
from gatekeeper.runs.request_log import logged_requests

AZURE = "azure/gpt-4o-mini"
BEDROCK = "bedrock/anthropic.claude-3-5-sonnet-20240620-v1:0"
VERTEX = "vertex_ai/gemini-2.5-flash"

EXCHANGES = {
    AZURE: "login.microsoftonline.com",
    BEDROCK: "sts.eu-west-1.amazonaws.com",
    VERTEX: "sts.googleapis.com",
}
AUDIENCES = {
    AZURE: "audience=api%3A%2F%2FAzureADTokenExchange",
    BEDROCK: "audience=sts.amazonaws.com",
    VERTEX: "audience=https%3A%2F%2Fiam.googleapis.com%2Fprojects%2F1%2Flocations%2Fglobal%2F"
    "workloadIdentityPools%2Fci%2Fproviders%2Fgithub",
}


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return certificate(tmp_path_factory.mktemp("tls") / "clouds.pem")


@pytest.fixture
def clouds(file: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Clouds]:
    found = Clouds()
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in [n for n in os.environ if n.startswith(("AZURE_", "AWS_", "GOOGLE_", "VERTEXAI_"))]:
        monkeypatch.delenv(name)
    with proxy(found, file) as server:
        token_exchanges.point_at(server, file, monkeypatch)
        yield found


def sign_in(model: str, times: int = 1, together: int = 1) -> list[Endpoint]:
    """What the endpoint has after each time."""

    async def main() -> list[Endpoint]:
        client, guard = HttpClient(), NetworkGuard()
        guard.start()
        keyless = Keyless(lambda: client, guard)
        try:
            endpoint = endpoint_of(model, os.environ)
            found: list[Endpoint] = []
            for _ in range(times):
                calls = (keyless.signed_in(endpoint) for _ in range(together))
                found += await asyncio.gather(*calls)
            return found
        finally:
            guard.stop()
            await client.aclose()

    return asyncio.run(main())


def refused(model: str) -> CallFailed:
    with pytest.raises(CallFailed) as failed:
        sign_in(model)
    return failed.value


@pytest.mark.parametrize("model", EXCHANGES)
def test_a_job_without_a_key_gets_a_credential_for_its_identity(model: str, clouds: Clouds) -> None:
    before = dict(os.environ)
    first, *rest = sign_in(model, times=2, together=8)
    assert first.lease
    assert all(each.lease == first.lease for each in rest)
    asked_for = [sent for sent in clouds.sent if sent.host == ISSUER]
    assert [AUDIENCES[model] in sent.path for sent in asked_for] == [True], "one exchange for all"
    (exchange,) = clouds.to(EXCHANGES[model])
    assert IDENTITY in exchange.form.values()
    for sent in clouds.sent:
        said = str(sent.headers) + sent.body.decode() + sent.path
        assert (BEARER in said) == (sent.host == ISSUER)
        assert (IDENTITY in said) == (sent.host == EXCHANGES[model])
    assert dict(os.environ) == before, "no child process may inherit a credential"
    assert not any(secret in repr(first) for secret in first.lease.values())


def test_google_gives_the_token_of_the_service_account(
    clouds: Clouds, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert sign_in(VERTEX)[0].lease == {"vertex_credentials": "google-access-2-0123456789abcdef"}
    (impersonation,) = clouds.to("iamcredentials.googleapis.com")
    assert impersonation.headers["authorization"] == "Bearer federated-access-1-0123456789abcdef"
    monkeypatch.delenv("GOOGLE_SERVICE_ACCOUNT")
    assert sign_in(VERTEX)[0].lease == {"vertex_credentials": "federated-access-3-0123456789abcdef"}


@pytest.mark.parametrize("model", EXCHANGES)
def test_a_credential_that_ends_soon_is_renewed(
    model: str, clouds: Clouds, monkeypatch: pytest.MonkeyPatch
) -> None:
    # azure-identity asks at most every 30 seconds.
    delay = "azure.identity._internal.utils.DEFAULT_TOKEN_REFRESH_RETRY_DELAY"
    monkeypatch.setattr(delay, 0)
    clouds.lasts = 120
    first, second = sign_in(model, times=2)
    assert first.lease != second.lease
    assert len(clouds.to(ISSUER)) == 2, "each exchange takes a new identity token"


@pytest.mark.parametrize("model", EXCHANGES)
def test_an_expired_credential_is_none(model: str, clouds: Clouds) -> None:
    clouds.lasts = -60
    failed = refused(model)
    assert "the job's identity got no credential" in str(failed)


HOSTILE: dict[str, Callable[[Sent], Reply]] = {
    "redirect": lambda _: Reply(307, b"", {"Location": "https://evil.example/token"}),
    "redirect within the cloud": lambda s: Reply(302, b"", {"Location": f"https://{s.host}/x"}),
    "huge": lambda _: Reply(200, b"a" * 11_000_000),
    "a list": lambda _: reply([1, 2]),
    "a number": lambda _: reply(7),
    "nothing": lambda _: reply({}),
    "wrong types": lambda _: reply(
        {"value": 5, "access_token": ["x"], "expires_in": "soon", "token_type": 3}
    ),
    "a header within": lambda _: reply(
        {"value": "a.b.c\r\nX: 1", "access_token": "x\r\nHost: evil", "expires_in": 3600}
    ),
    "a page": lambda _: Reply(200, b"<html>sign in</html>", {"Content-Type": "text/html"}),
    "not UTF-8": lambda _: Reply(200, b"\xff\xfe{", {"Content-Type": "application/json"}),
    "refused": lambda _: reply({"error": "invalid_client", "error_description": IDENTITY}, 401),
    "repeated": lambda s: Reply(403, s.body + str(s.headers).encode()),
}


@pytest.mark.parametrize("answer", HOSTILE)
@pytest.mark.parametrize(
    ("whose", "model"), [("github", AZURE), *(("cloud", model) for model in EXCHANGES)]
)
def test_a_hostile_answer_gets_nothing(model: str, answer: str, whose: str, clouds: Clouds) -> None:
    clouds.hosts[ISSUER if whose == "github" else EXCHANGES[model]] = HOSTILE[answer]
    if answer == "wrong types" and whose == "cloud":
        clouds.hosts["iamcredentials.googleapis.com"] = HOSTILE[answer]
    failed = refused(model)
    assert str(failed).startswith(f"{model}: the job's identity got no credential: ")
    assert not clouds.to("evil.example")
    assert IDENTITY not in str(failed)
    assert BEARER not in str(failed)
    assert len(str(failed)) < 450
    if answer in ("refused", "redirect"):
        assert failed.fatal
        assert not failed.retryable


@pytest.mark.parametrize("model", EXCHANGES)
def test_trouble_that_may_pass_is_tried_again(model: str, clouds: Clouds) -> None:
    clouds.hosts[EXCHANGES[model]] = lambda _: reply({"error": "busy"}, 503)
    assert refused(model).retryable
    del clouds.hosts[EXCHANGES[model]]  # closes the connection
    assert refused(model).retryable


@pytest.mark.parametrize(
    ("variable", "value", "model"),
    [
        ("ACTIONS_ID_TOKEN_REQUEST_URL", "https://evil.example/id?x=1", AZURE),
        ("ACTIONS_ID_TOKEN_REQUEST_URL", f"http://{ISSUER}/id?x=1", BEDROCK),
        ("ACTIONS_ID_TOKEN_REQUEST_URL", f"https://{ISSUER}.evil.example/id", VERTEX),
        ("ACTIONS_ID_TOKEN_REQUEST_URL", f"https://{ISSUER}@evil.example/id", AZURE),
        ("AZURE_AUTHORITY_HOST", "evil.example", AZURE),
        ("AWS_ENDPOINT_URL_STS", "https://evil.example", BEDROCK),
        ("AWS_REGION_NAME", "evil.example/", BEDROCK),
    ],
)
def test_no_token_leaves_for_another_host(
    variable: str, value: str, model: str, clouds: Clouds, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, value)
    failed = refused(model)
    assert not failed.retryable or variable == "AWS_REGION_NAME"
    assert {sent.host for sent in clouds.sent} <= {ISSUER}


def test_the_token_of_another_system_is_given_in_a_variable(
    clouds: Clouds, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = jwt(sub="project_path:group/project")
    monkeypatch.setenv("GATEKEEPER_ID_TOKEN", own)
    monkeypatch.delenv("ACTIONS_ID_TOKEN_REQUEST_URL")
    assert isinstance(ask(asked(AZURE), through_litellm=False), Completion)
    assert [sent.host for sent in clouds.sent] == [EXCHANGES[AZURE], "unit.openai.azure.com"]
    assert clouds.sent[0].form["client_assertion"] == own


def test_the_token_of_the_job_goes_to_no_model(
    clouds: Clouds, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AZURE_API_VERSION", BEARER)
    failed = ask(asked(AZURE), through_litellm=False)
    assert isinstance(failed, CallFailed)
    assert "ACTIONS_ID_TOKEN_REQUEST_TOKEN" in str(failed)
    assert not clouds.to("unit.openai.azure.com")


def test_a_model_that_repeats_its_credential_does_not_get_it_into_a_report(clouds: Clouds) -> None:
    def repeat(sent: Sent) -> Reply:
        said = {"role": "assistant", "content": f"I got {sent.headers['Authorization']}."}
        return reply({**CHAT, "choices": [{"index": 0, "finish_reason": "stop", "message": said}]})

    clouds.hosts["unit.openai.azure.com"] = repeat
    answered = ask(asked(AZURE), through_litellm=False)
    assert isinstance(answered, Completion)
    assert answered.text == "I got Bearer ***."
    clouds.hosts["unit.openai.azure.com"] = lambda sent: reply({"error": str(sent.headers)}, 400)
    assert "azure-access" not in str(ask(asked(AZURE), through_litellm=False))


def escaped(text: str) -> str:
    return "".join(f"\\u{ord(character):04x}" for character in text)


@pytest.mark.parametrize(
    "repeat",
    [
        lambda got: Reply(200, json.dumps(CHAT).replace("yes", escaped(got)).encode()),
        lambda got: Reply(400, f'{{"error": {{"message": "{escaped(got)}"}}}}'.encode()),
        lambda got: Reply(307, b"", {"Location": f"https://{got}/x"}),
        lambda got: Reply(200, b"{}", {"Content-Encoding": got}),
    ],
    ids=["escaped", "an error", "a redirect", "a packing"],
)
def test_a_credential_is_hidden_in_every_form_of_an_answer(
    repeat: Callable[[str], Reply], clouds: Clouds
) -> None:
    clouds.hosts["unit.openai.azure.com"] = lambda sent: repeat(
        sent.headers["Authorization"].removeprefix("Bearer ")
    )
    answered = str(ask(asked(AZURE), through_litellm=False))
    assert "***" in answered
    assert "azure-access" not in answered


def test_a_key_is_used_rather_than_the_identity(
    clouds: Clouds, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AZURE_API_KEY", "azure-key-0123456789")
    assert isinstance(ask(asked(AZURE), through_litellm=False), Completion)
    (sent,) = clouds.sent
    assert sent.headers["api-key"] == "azure-key-0123456789"


def test_a_log_of_requests_has_no_credential(clouds: Clouds, tmp_path: Path) -> None:
    with logged_requests(tmp_path / "requests.jsonl"):
        assert isinstance(ask(asked(AZURE), through_litellm=False), Completion)
    (line,) = (tmp_path / "requests.jsonl").read_text().splitlines()
    assert "unit.openai.azure.com" in line
    assert not any(secret in line for secret in (IDENTITY, BEARER, "azure-access"))


@pytest.mark.parametrize("absent", ["ACTIONS_ID_TOKEN_REQUEST_TOKEN", "AZURE_CLIENT_ID"])
def test_what_is_missing_is_said_before_any_call(
    absent: str, clouds: Clouds, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(absent)

    async def main() -> None:
        client = HostedClient()
        try:
            await client.require_key(AZURE)
        finally:
            await client.aclose()

    with pytest.raises(UsageError) as said:
        asyncio.run(main())
    for word in ("AZURE_API_KEY", "AZURE_TENANT_ID and AZURE_CLIENT_ID", "id-token: write"):
        assert word in str(said.value)
    assert not clouds.sent


def test_a_package_that_is_missing_is_named(
    clouds: Clouds, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "azure.identity", None)
    failed = refused(AZURE)
    assert failed.author
    assert "extra `keyless`" in str(failed)


def test_a_company_has_its_own_github(clouds: Clouds, monkeypatch: pytest.MonkeyPatch) -> None:
    from gatekeeper.providers.keyless import _issuers

    own = _issuers({"GITHUB_SERVER_URL": "https://octo.ghe.com"})
    assert is_expected_host("token.actions.octo.ghe.com", own)
    assert not is_expected_host("token.actions.octo.ghe.com.evil.example", own)
    assert not is_expected_host(
        "gist.github.com", _issuers({"GITHUB_SERVER_URL": "https://github.com"})
    )


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("model", "host"),
    [
        (AZURE, "unit.openai.azure.com"),
        (BEDROCK, "bedrock-runtime.eu-west-1.amazonaws.com"),
        (VERTEX, "europe-west1-aiplatform.googleapis.com"),
    ],
)
def test_litellm_sends_the_credential_to_the_model_alone(
    model: str, host: str, clouds: Clouds
) -> None:
    answered = ask(asked(model), through_litellm=True)
    assert isinstance(answered, Completion)
    assert answered.text == "yes"
    (sent,) = clouds.to(host)
    said = str(sent.headers)
    assert "-access-" in said
    assert not any(SETTINGS["AWS_ROLE_ARN"] in str(each.headers) for each in clouds.sent)
    assert IDENTITY not in said
    assert {each.host for each in clouds.sent} <= {
        ISSUER,
        EXCHANGES[model],
        "iamcredentials.googleapis.com",
        host,
    }
