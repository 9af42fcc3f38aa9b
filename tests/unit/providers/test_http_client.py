"""The HTTP client of the native clients, against real servers on this machine."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import aiohttp
import certifi
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from support.answering_server import Answer, AnsweringServer

from gatekeeper.providers.http.http_client import (
    Exchange,
    HttpClient,
    HttpRequest,
    RequestRefused,
    tls_settings,
)
from gatekeeper.providers.models.endpoint import Endpoint, endpoint_of

KEY = "sk-own-0123456789abcdef"
OTHER = "gsk-other-0123456789abcdef"


def endpoint(address: str) -> Endpoint:
    environ = {"OPENAI_API_KEY": KEY, "GROQ_API_KEY": OTHER, "OPENAI_BASE_URL": address}
    return endpoint_of("openai/gpt-4o-mini", environ)


@pytest.fixture
def server() -> Iterator[AnsweringServer]:
    with AnsweringServer(Answer(200, {"a": 1})) as server:
        yield server


def post(server: AnsweringServer, url: str = "", **parts: Any) -> tuple[Exception | None, Exchange]:
    """What becomes of one request."""
    exchange = Exchange(endpoint(server.url))
    request = HttpRequest(url or f"{server.url}/v1/chat/completions", {"Authorization": KEY}, b"{}")

    async def main() -> Exception | None:
        client = HttpClient()
        try:
            await client.post(replace(request, **parts), exchange)
        except RequestRefused as error:
            return error
        finally:
            await client.aclose()
        return None

    return asyncio.run(main()), exchange


def test_what_happened_is_noted(server: AnsweringServer) -> None:
    server.answer = Answer(503, b"later", {"Retry-After": "9"})
    error, exchange = post(server)
    assert error is None
    assert exchange.latency_ms is not None
    assert exchange.latency_ms > 0
    assert exchange == Exchange(
        endpoint=exchange.endpoint,
        sent=True,
        reached=True,
        latency_ms=exchange.latency_ms,
        status=503,
        retry_after="9",
        body=b"later",
    )


def test_what_can_be_unpacked_is_asked_for_alone(server: AnsweringServer) -> None:
    post(server)
    assert server.requests[0].headers["accept-encoding"] == "gzip"


@pytest.mark.parametrize(
    "url",
    [
        "https://evil.example/v1/chat/completions",
        "http://127.0.0.1:1/v1/chat/completions",
        "http://127.0.0.1@evil.example/",
        "https://api.groq.com/openai/v1/chat/completions",
    ],
)
def test_other_hosts_are_not_asked(server: AnsweringServer, url: str) -> None:
    error, exchange = post(server, url)
    assert isinstance(error, RequestRefused)
    assert exchange.fault is not None
    assert not exchange.reached
    assert server.requests == []


@pytest.mark.parametrize(
    "parts",
    [
        {"headers": {"Authorization": f"Bearer {OTHER}"}},
        {"headers": {"X-Anything": OTHER}},
        {"body": f'{{"messages": "say {OTHER}"}}'.encode()},
    ],
)
def test_the_secret_of_another_provider_is_not_sent(
    server: AnsweringServer, parts: dict[str, Any]
) -> None:
    error, exchange = post(server, **parts)
    assert isinstance(error, RequestRefused)
    assert exchange.fault is not None
    assert "GROQ_API_KEY" in exchange.fault
    assert OTHER not in exchange.fault
    assert server.requests == []


@pytest.mark.parametrize("status", [300, 301, 302, 303, 304, 307, 308])
@pytest.mark.parametrize("location", ["https://evil.example/v1", "/v1/other", "http://[bad", ""])
def test_a_redirect_is_neither_followed_nor_believed(
    server: AnsweringServer, status: int, location: str
) -> None:
    body = b"" if status == 304 else b'{"choices": []}'
    server.answer = Answer(status, body, {"Location": location})
    error, exchange = post(server)
    assert isinstance(error, RequestRefused)
    assert len(server.requests) == 1
    assert (exchange.status, exchange.body) == (status, b"")


def test_a_cancelled_call_leaves_no_connection_behind() -> None:
    async def main() -> list[str]:
        asked = asyncio.Event()
        closed = asyncio.Event()
        seen: list[str] = []

        async def hang(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            seen.append("opened")
            await reader.readuntil(b"\r\n\r\n")
            asked.set()
            while await reader.read(1000):
                pass
            seen.append("closed by the client")
            closed.set()
            writer.close()

        listening = await asyncio.start_server(hang, "127.0.0.1", 0)
        url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
        client = HttpClient()
        call = asyncio.ensure_future(
            client.post(HttpRequest(f"{url}/v1", {}, b"{}"), Exchange(endpoint(url)))
        )
        await asked.wait()
        call.cancel()
        await asyncio.wait([call])
        assert call.cancelled()
        await asyncio.wait_for(closed.wait(), 60)
        listening.close()
        await listening.wait_closed()
        await client.aclose()
        return seen

    assert asyncio.run(main()) == ["opened", "closed by the client"]


def test_connections_are_kept_for_the_next_request(server: AnsweringServer) -> None:
    async def main() -> None:
        client = HttpClient()
        request = HttpRequest(f"{server.url}/v1", {}, b"{}")
        for _ in range(3):
            await client.post(request, Exchange(endpoint(server.url)))
        await client.aclose()

    asyncio.run(main())
    assert len(server.requests) == 3
    assert len({request.peer for request in server.requests}) == 1


def test_names_are_looked_up_in_view_of_the_network_guard(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looked_up: list[str] = []

    def look(host: str, *_: Any, **__: Any) -> Any:
        looked_up.append(host)
        raise socket.gaierror("nothing is looked up in this test")

    monkeypatch.setattr(socket, "getaddrinfo", look)

    async def main() -> None:
        client = HttpClient()
        request = HttpRequest("https://api.example/v1", {}, b"{}")
        try:
            with pytest.raises(OSError, match="Cannot connect to host"):
                await client.post(request, Exchange(endpoint("https://api.example")))
        finally:
            await client.aclose()

    asyncio.run(main())
    assert looked_up == ["api.example"]


def test_a_proxy_of_the_environment_is_used(
    server: AnsweringServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("http_proxy", server.url)
    exchange = Exchange(endpoint("http://models.example"))

    async def main() -> None:
        client = HttpClient()
        await client.post(HttpRequest("http://models.example/v1", {}, b"{}"), exchange)
        await client.aclose()

    asyncio.run(main())
    (received,) = server.requests
    assert received.path == "http://models.example/v1"
    assert exchange.status == 200


def test_an_error_that_cannot_be_unpacked_keeps_its_status(server: AnsweringServer) -> None:
    server.answer = Answer(503, b"later", {"Retry-After": "9", "Content-Encoding": "br"})
    error, exchange = post(server)
    assert error is None
    assert (exchange.status, exchange.retry_after, exchange.body) == (503, "9", b"")
    assert exchange.fault is None


def test_an_answer_that_cannot_be_unpacked_is_refused(server: AnsweringServer) -> None:
    server.answer = Answer(200, b"{}", {"Content-Encoding": "br"})
    error, exchange = post(server)
    assert isinstance(error, RequestRefused)
    assert exchange.fault is not None


def test_certificates_are_verified_as_the_environment_says() -> None:
    own = {"SSL_CERT_FILE": certifi.where()}
    for environ in ({}, own, {"SSL_VERIFY": certifi.where()}, {"SSL_CERT_FILE": "/no/such/file"}):
        context = tls_settings(environ)
        assert isinstance(context, ssl.SSLContext)
        assert context.verify_mode is ssl.CERT_REQUIRED
        assert context.minimum_version is ssl.TLSVersion.TLSv1_2
    assert tls_settings({"SSL_VERIFY": "False"}) is False
    exact = {"SSL_SECURITY_LEVEL": "ECDHE-RSA-AES128-GCM-SHA256", "SSL_ECDH_CURVE": "prime256v1"}
    context = tls_settings(exact)
    assert isinstance(context, ssl.SSLContext)
    chosen = {cipher["name"] for cipher in context.get_ciphers() if "TLS_" not in cipher["name"]}
    assert chosen == {"ECDHE-RSA-AES128-GCM-SHA256"}


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate for localhost that no authority has signed, with its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    signed = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    file = tmp_path_factory.mktemp("tls") / "localhost.pem"
    file.write_bytes(private + signed.public_bytes(serialization.Encoding.PEM))
    return file


@pytest.mark.parametrize("known", [True, False])
def test_only_a_server_with_a_known_certificate_gets_the_key(
    certificate: Path, known: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SSL_VERIFY", raising=False)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate if known else certifi.where()))
    with AnsweringServer(Answer(200, {"a": 1}), certificate) as server:
        if known:
            assert post(server)[1].status == 200
        else:
            with pytest.raises(aiohttp.ClientConnectorCertificateError):
                post(server)
        assert len(server.requests) == known
