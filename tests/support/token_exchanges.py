"""GitHub's tokens, three clouds that exchange them, and their models, behind one proxy.

All requests go to the real addresses. The proxy ends each tunnel itself, with a certificate that
the test makes known, notes what was sent to which host, and answers by a script. A host without an
answer is noted and closes the connection.
"""

from __future__ import annotations

import base64
import json
import socketserver
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from support.local_server import JsonHandler, LocalServer, QuietHttpServer

ISSUER = "pipelines1.actions.githubusercontent.com"
HOSTS = (
    ISSUER,
    "login.microsoftonline.com",
    "unit.openai.azure.com",
    "sts.eu-west-1.amazonaws.com",
    "bedrock-runtime.eu-west-1.amazonaws.com",
    "sts.googleapis.com",
    "iamcredentials.googleapis.com",
    "europe-west1-aiplatform.googleapis.com",
    "evil.example",
)
BEARER = "bearer-of-the-job-0123456789"


def jwt(**claims: Any) -> str:
    """A token in the form of an identity token, which nobody signed."""
    parts = [json.dumps(part).encode() for part in ({"alg": "none"}, claims)]
    return ".".join([*(base64.urlsafe_b64encode(p).decode().rstrip("=") for p in parts), "c2ln"])


IDENTITY = jwt(sub="repo:owner/name:pull_request", iss="https://token.actions.example")


@dataclass(frozen=True)
class Sent:
    """One request as it came in."""

    host: str
    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def form(self) -> dict[str, str]:
        return {name: values[0] for name, values in parse_qs(self.body.decode()).items()}


@dataclass(frozen=True)
class Reply:
    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)


def reply(document: Any, status: int = 200, **headers: str) -> Reply:
    """An answer in JSON."""
    return Reply(
        status, json.dumps(document).encode(), {"Content-Type": "application/json"} | headers
    )


class Clouds:
    """The hosts by name, each a function from a request to its reply; `sent` is all that came."""

    def __init__(self) -> None:
        self.sent: list[Sent] = []
        self.lasts = 3600
        self.issued = 0
        self.hosts: dict[str, Callable[[Sent], Reply]] = {
            ISSUER: lambda _: reply({"value": IDENTITY}),
            "login.microsoftonline.com": lambda _: reply(
                {
                    "access_token": self._new("azure"),
                    "expires_in": self.lasts,
                    "token_type": "Bearer",
                }
            ),
            "unit.openai.azure.com": lambda _: reply(CHAT),
            "sts.eu-west-1.amazonaws.com": lambda _: self.role(),
            "bedrock-runtime.eu-west-1.amazonaws.com": lambda _: reply(BEDROCK),
            "sts.googleapis.com": lambda _: reply(
                {
                    "access_token": self._new("federated"),
                    "expires_in": self.lasts,
                    "issued_token_type": "urn:ietf:params:oauth:token-type:access_token",
                    "token_type": "Bearer",
                }
            ),
            "iamcredentials.googleapis.com": lambda _: reply(
                {
                    "accessToken": self._new("google"),
                    "expireTime": self._until("%Y-%m-%dT%H:%M:%SZ"),
                }
            ),
            "europe-west1-aiplatform.googleapis.com": lambda _: reply(GEMINI),
        }

    def role(self) -> Reply:
        """AWS's answer to AssumeRoleWithWebIdentity."""
        secret = self._new("aws")
        body = (
            '<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/">'
            "<AssumeRoleWithWebIdentityResult><AssumedRoleUser><AssumedRoleId>A:gatekeeper"
            "</AssumedRoleId><Arn>arn:aws:sts::123456789012:assumed-role/gate/gatekeeper</Arn>"
            f"</AssumedRoleUser><Credentials><AccessKeyId>ASIA{self.issued:016}</AccessKeyId>"
            f"<SecretAccessKey>secret-{secret}</SecretAccessKey><SessionToken>{secret}"
            f"</SessionToken><Expiration>{self._until('%Y-%m-%dT%H:%M:%SZ')}</Expiration>"
            "</Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>"
        )
        return Reply(200, body.encode(), {"Content-Type": "text/xml"})

    def _new(self, cloud: str) -> str:
        self.issued += 1
        return f"{cloud}-access-{self.issued}-0123456789abcdef"

    def _until(self, form: str) -> str:
        return (datetime.now(UTC) + timedelta(seconds=self.lasts)).strftime(form)

    def to(self, host: str) -> list[Sent]:
        return [sent for sent in self.sent if sent.host == host]


CHAT = {
    "id": "1",
    "object": "chat.completion",
    "created": 1,
    "model": "gpt-4o-mini",
    "choices": [
        {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "yes"}}
    ],
    "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
}
BEDROCK = {
    "output": {"message": {"role": "assistant", "content": [{"text": "yes"}]}},
    "stopReason": "end_turn",
    "usage": {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2},
    "metrics": {"latencyMs": 1},
}
GEMINI = {
    "candidates": [
        {"content": {"role": "model", "parts": [{"text": "yes"}]}, "finishReason": "STOP"}
    ],
    "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2},
}


def certificate(file: Path) -> Path:
    """A certificate for all hosts, with its key, that no authority has signed."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "clouds")])
    now = datetime.now(UTC)
    names = x509.SubjectAlternativeName([x509.DNSName(host) for host in HOSTS])
    signed = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(names, critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    file.write_bytes(private + signed.public_bytes(serialization.Encoding.PEM))
    return file


def proxy(clouds: Clouds, file: Path) -> LocalServer:
    """A proxy that answers in the name of every host."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)

    class Inside(JsonHandler):
        host = ""

        def answer(self) -> None:
            sent = Sent(self.host, self.command, self.path, dict(self.headers), self.read_body())
            clouds.sent.append(sent)
            script = clouds.hosts.get(self.host)
            if script is None:
                self.close_connection = True
                return
            found = script(sent)
            self.send(found.status, found.body, found.headers)

        do_GET = do_POST = answer  # noqa: N815

    class Tunnel(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            host = urlsplit(f"//{self.rfile.readline().split()[1].decode()}").hostname or ""
            while self.rfile.readline().strip():
                pass
            self.wfile.write(b"HTTP/1.1 200 OK\r\n\r\n")
            with context.wrap_socket(self.request, server_side=True) as secured:
                kind = type("Named", (Inside,), {"host": host})
                kind(secured, self.client_address, self.server)

    return LocalServer(QuietHttpServer(("127.0.0.1", 0), Tunnel))


def point_at(server: LocalServer, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Send everything through the proxy, from a job of GitHub without any key."""
    for name in ("https_proxy", "no_proxy", "NO_PROXY", "SSL_VERIFY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HTTPS_PROXY", server.url)
    monkeypatch.setenv("SSL_CERT_FILE", str(file))
    monkeypatch.setenv("ACTIONS_ID_TOKEN_REQUEST_URL", f"https://{ISSUER}/id?api-version=2.0")
    monkeypatch.setenv("ACTIONS_ID_TOKEN_REQUEST_TOKEN", BEARER)
    for name, value in SETTINGS.items():
        monkeypatch.setenv(name, value)


SETTINGS = {
    "AZURE_API_BASE": "https://unit.openai.azure.com",
    "AZURE_TENANT_ID": "11111111-2222-3333-4444-555555555555",
    "AZURE_CLIENT_ID": "99999999-2222-3333-4444-555555555555",
    "AWS_ROLE_ARN": "arn:aws:iam::123456789012:role/gate",
    "AWS_REGION_NAME": "eu-west-1",
    "AWS_EC2_METADATA_DISABLED": "true",
    "GOOGLE_WORKLOAD_IDENTITY_PROVIDER": (
        "projects/1/locations/global/workloadIdentityPools/ci/providers/github"
    ),
    "GOOGLE_SERVICE_ACCOUNT": "gate@unit.iam.gserviceaccount.com",
    "VERTEXAI_PROJECT": "unit",
    "VERTEXAI_LOCATION": "europe-west1",
}
