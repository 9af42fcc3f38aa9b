"""Signs in to a cloud with the identity of the job, so that no key is stored anywhere.

The clouds' own libraries (azure-identity, google-auth, botocore) exchange the job's identity token
for a credential of an hour, and renew it. All that they send goes over `HttpClient`: only to the
hosts that the catalogue names for an exchange, without redirects, and with a limit on the answer.
What they get stays in memory.
"""

from __future__ import annotations

import asyncio
import os
import re
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlencode, urlsplit

from gatekeeper.contract.models.names import read_model_name
from gatekeeper.errors import CallFailed
from gatekeeper.providers.failures import plain
from gatekeeper.providers.http.http_client import Exchange, HttpClient
from gatekeeper.providers.http.network_guard import NetworkGuard
from gatekeeper.providers.models.catalogue import Provider
from gatekeeper.providers.models.endpoint import (
    GITHUB_ID_ADDRESS,
    GITHUB_ID_BEARER,
    ID_TOKEN,
    Endpoint,
    exchange_endpoint,
)
from gatekeeper.providers.native.endings import read_document

_SECONDS = 30.0
_TOKEN = re.compile(r"[\w-]+\.[\w-]+\.[\w-]+", re.ASCII)
_SECRET = re.compile(r"[!-~]{8,20000}")
_OF_THE_CONNECTION = ("accept-encoding", "connection", "content-length", "host")

Lease = Mapping[str, str]
"""A credential, by the names of litellm's arguments."""


class Keyless:
    """Has the credentials of a run, one for each cloud. `connect` returns the HTTP client to use,
    and `guard` lets its connections pass."""

    def __init__(self, connect: Callable[[], HttpClient], guard: NetworkGuard) -> None:
        self._connect = connect
        self._guard = guard
        self._clouds: dict[str, tuple[_Wire, Callable[[], Lease]]] = {}
        self._signing_in = asyncio.Lock()

    async def signed_in(self, endpoint: Endpoint) -> Endpoint:
        """Return the endpoint with a credential that is valid now, if it needs one. Raises
        CallFailed."""
        if not endpoint.signs_in:
            return endpoint
        async with self._signing_in:
            return replace(endpoint, lease=await self._lease(endpoint))

    async def _lease(self, endpoint: Endpoint) -> Lease:
        name = read_model_name(endpoint.model).provider
        wire = None
        try:
            if name not in self._clouds:
                wire = _Wire(endpoint, self._connect())
                self._guard.allow((*wire.cloud.hosts, *wire.issuer.hosts))
                self._clouds[name] = wire, await asyncio.to_thread(_CLOUDS[name], wire)
            wire, lease = self._clouds[name]
            wire.exchange = Exchange()
            found = await asyncio.to_thread(lease)
            if not all(isinstance(v, str) and _SECRET.fullmatch(v) for v in found.values()):
                raise ValueError("the credential that came back is no text for a header")
            return found
        except Exception as error:
            raise _failed(endpoint.model, error, wire.exchange if wire else Exchange()) from error


class _Wire:
    """Sends what a library wants to send, from its thread, over the client of the event loop.
    `exchange` is the last one."""

    def __init__(self, endpoint: Endpoint, client: HttpClient) -> None:
        self.model = endpoint.model
        self.cloud = Provider(hosts=endpoint.provider.exchanges, private=(ID_TOKEN,))
        self.issuer = Provider(hosts=_issuers(os.environ), private=(GITHUB_ID_BEARER,))
        self.exchange = Exchange()
        self._client = client
        self._loop = asyncio.get_running_loop()

    def send(
        self,
        party: Provider,
        method: str,
        url: str,
        headers: Iterable[tuple[Any, Any]],
        body: bytes | str | None,
    ) -> tuple[Exchange, Mapping[str, str]]:
        """Send a request to a host of the party; return what came back, and its headers."""
        endpoint = exchange_endpoint(self.model, party, os.environ)
        exchange = self.exchange = Exchange(endpoint, unwatched=True)
        texts = [(_text(name), _text(value)) for name, value in headers]
        sent = [each for each in texts if each[0].lower() not in _OF_THE_CONNECTION]
        data = body.encode() if isinstance(body, str) else body or b""

        async def send() -> Mapping[str, str]:
            async with asyncio.timeout(_SECONDS):
                return await self._client.send(method, url, sent, data, exchange)

        answered = asyncio.run_coroutine_threadsafe(send(), self._loop).result()
        return exchange, {"Content-Type": answered.get("Content-Type", "")}

    def identity(self, audience: str) -> str:
        """Return the job's identity token for an audience."""
        given = os.environ.get(ID_TOKEN, "").strip()
        if given:
            return given
        address = os.environ[GITHUB_ID_ADDRESS]
        url = f"{address}{'&' if '?' in address else '?'}{urlencode({'audience': audience})}"
        bearer = ("Authorization", f"Bearer {os.environ[GITHUB_ID_BEARER]}")
        headers = [bearer, ("Accept", "application/json"), ("User-Agent", "gatekeeper")]
        exchange, _ = self.send(self.issuer, "GET", url, headers, None)
        document = read_document(exchange.body)
        token = document.get("value") if isinstance(document, Mapping) else None
        if exchange.status != 200 or not isinstance(token, str) or not _TOKEN.fullmatch(token):
            raise ValueError(f"GitHub gave no identity token (HTTP {exchange.status})")
        return token

    def session(self) -> Any:
        """Return a session of `requests` that sends to the cloud."""
        import requests

        class Adapter(requests.adapters.BaseAdapter):  # type: ignore[misc]
            def send(_, request: Any, **__: Any) -> Any:  # noqa: N805
                exchange, headers = self.send(
                    self.cloud, request.method, request.url, request.headers.items(), request.body
                )
                response = requests.Response()
                response.status_code, response.url = exchange.status, request.url
                response.headers.update(headers)
                response._content, response._content_consumed = exchange.body, True
                response.raw, response.request = SimpleNamespace(), request
                return response

            def close(_) -> None:  # noqa: N805
                """Do nothing: the client of the event loop has the connections."""

        session = requests.Session()
        session.trust_env = False  # it would read passwords from ~/.netrc
        session.mount("https://", Adapter())
        session.mount("http://", Adapter())
        return session


def _azure(wire: _Wire) -> Callable[[], Lease]:
    """https://learn.microsoft.com/entra/workload-id/workload-identity-federation"""
    from azure.core.pipeline.transport import RequestsTransport
    from azure.identity import ClientAssertionCredential

    credential = ClientAssertionCredential(
        os.environ["AZURE_TENANT_ID"],
        os.environ["AZURE_CLIENT_ID"],
        lambda: wire.identity("api://AzureADTokenExchange"),
        transport=RequestsTransport(session=wire.session(), session_owner=False),
        retry_total=0,
    )
    scope = os.environ.get("AZURE_SCOPE") or "https://cognitiveservices.azure.com/.default"

    def lease() -> Lease:
        token = credential.get_token(scope)
        _require_valid(token.expires_on > time.time())
        return {"azure_ad_token": token.token}

    return lease


def _bedrock(wire: _Wire) -> Callable[[], Lease]:
    """https://docs.aws.amazon.com/STS/latest/APIReference/API_AssumeRoleWithWebIdentity.html"""
    from botocore.awsrequest import AWSResponse
    from botocore.config import Config
    from botocore.credentials import (
        AssumeRoleWithWebIdentityCredentialFetcher,
        DeferredRefreshableCredentials,
    )
    from botocore.session import Session

    names = ("AWS_REGION_NAME", "AWS_REGION", "AWS_DEFAULT_REGION")
    region = next((os.environ[name] for name in names if os.environ.get(name)), None)

    def send(request: Any, **_: Any) -> Any:
        exchange, headers = wire.send(
            wire.cloud, request.method, request.url, request.headers.items(), request.body
        )
        raw = SimpleNamespace(stream=lambda: [exchange.body])
        return AWSResponse(request.url, exchange.status, headers, raw)

    def create_client(service: str, config: Any) -> Any:
        once = config.merge(Config(retries={"total_max_attempts": 1}))
        client = Session().create_client(service, region_name=region, config=once)
        client.meta.events.register("before-send.sts", send)
        return client

    fetcher = AssumeRoleWithWebIdentityCredentialFetcher(
        create_client,
        lambda: wire.identity("sts.amazonaws.com"),
        os.environ["AWS_ROLE_ARN"],
        {"RoleSessionName": os.environ.get("AWS_ROLE_SESSION_NAME") or "gatekeeper"},
    )
    credentials = DeferredRefreshableCredentials(fetcher.fetch_credentials, "web identity")

    def lease() -> Lease:
        frozen = credentials.get_frozen_credentials()
        return {
            "aws_access_key_id": frozen.access_key,
            "aws_secret_access_key": frozen.secret_key,
            "aws_session_token": frozen.token,
        }

    return lease


def _vertex(wire: _Wire) -> Callable[[], Lease]:
    """https://cloud.google.com/iam/docs/workload-identity-federation"""
    from google.auth.credentials import TokenState
    from google.auth.identity_pool import Credentials
    from google.auth.transport.requests import Request

    pool = os.environ["GOOGLE_WORKLOAD_IDENTITY_PROVIDER"].strip("/")
    account = os.environ.get("GOOGLE_SERVICE_ACCOUNT")
    accounts = "https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts"
    identity = lambda *_: wire.identity(f"https://iam.googleapis.com/{pool}")  # noqa: E731
    credentials = Credentials(
        f"//iam.googleapis.com/{pool}",
        "urn:ietf:params:oauth:token-type:jwt",
        subject_token_supplier=SimpleNamespace(get_subject_token=identity),
        service_account_impersonation_url=account and f"{accounts}/{account}:generateAccessToken",
        scopes=["https://www.googleapis.com/auth/cloud-platform"],
    )
    request = Request(wire.session())

    def lease() -> Lease:
        if credentials.token_state is not TokenState.FRESH:
            credentials.refresh(request)
        _require_valid(credentials.token_state is not TokenState.INVALID)
        return {"vertex_credentials": credentials.token}

    return lease


_CLOUDS: Mapping[str, Callable[[_Wire], Callable[[], Lease]]] = {
    "azure": _azure,
    "bedrock": _bedrock,
    "vertex_ai": _vertex,
}


def _require_valid(valid: bool) -> None:
    if not valid:
        raise ValueError("the credential that came back is not valid any more")


def _issuers(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return the hosts that issue identity tokens: GitHub's, or those of a company's own GitHub."""
    own = urlsplit(environ.get("GITHUB_SERVER_URL", "")).hostname
    more = (own, f"*.actions.{own}") if own and own != "github.com" else ()
    return ("*.actions.githubusercontent.com", *more)


def _text(part: bytes | str) -> str:
    return part if isinstance(part, str) else part.decode("latin-1")


def _failed(model: str, error: Exception, exchange: Exchange) -> CallFailed:
    said = f"{model}: the job's identity got no credential"
    if isinstance(error, ImportError):
        text = f"{said}: {error}; install gatekeeper with the extra `keyless`"
        return CallFailed(text, fatal=True, author=True)
    status = exchange.status
    final = exchange.fault or (status and 400 <= status < 500 and status not in (408, 429))
    text = f"{said}: {plain(exchange.fault or str(error) or type(error).__name__)}"
    return CallFailed(text, retryable=not final, fatal=bool(final))
