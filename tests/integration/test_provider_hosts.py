"""Every provider that litellm knows, asked by name with one key set: what is reached, what is sent.
Those that have a native client are asked in both ways.

Nothing leaves this machine: each lookup and each connection is noted and fails.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

import aiohttp
import pytest

from gatekeeper.contract.values.definition import Message
from gatekeeper.contract.values.trial import Request
from gatekeeper.errors import CallFailed, UsageError
from gatekeeper.providers.hosted import NATIVE_APIS, HostedClient
from gatekeeper.providers.models.catalogue import CATALOGUE
from gatekeeper.providers.models.cost_estimate import expected_cost, worst_cost
from gatekeeper.providers.models.endpoint import endpoint_of, is_expected_host

# Some of litellm's modules warn when they are imported, which would be taken for a failed call.
pytestmark = pytest.mark.filterwarnings("ignore")

OWN_MACHINE = {"localhost", "127.0.0.1"}

KEYS = {
    "OPENAI_API_KEY": "sk-openai-0123456789abcdef",
    "AWS_BEARER_TOKEN_BEDROCK": "aws-bearer-0123456789abcdef",
    "ANTHROPIC_API_KEY": "sk-ant-0123456789abcdef",
}

ISSUE = (
    "deepinfra/x",
    "chutes/x",
    "zai/x",
    "perplexity/x",
    "nvidia_nim/x",
    "cerebras/x",
    "dashscope/x",
    "moonshot/x",
    "poe/x",
    "nano-gpt/x",
    "baseten/ID",
    "baseten/abcd1234",
    "bedrock/agentcore/arn:aws:bedrock-agentcore:evil.example/:123456789012:runtime/x",
    "bedrock/agent/ABCDEFGHIJ/KLMNOPQRST",
    "bedrock/evil.example/anthropic.claude-3-haiku-20240307-v1:0",
    "bedrock/anthropic.claude-3-haiku-20240307-v1:0",
    "bedrock/converse/anthropic.claude-3-haiku-20240307-v1:0",
    "sagemaker_chat/x",
    "azure/command-r-plus",
    "azure_ai/claude-x",
    "huggingface/together/meta-llama/Llama-3-8b",
    "huggingface/https://evil.example",
    "gpt-4o-mini",
    "claude-3-haiku-20240307",
    "command-nightly",
)


@dataclass
class Seen:
    """What was looked up or connected to, what was handed to a connection (address, headers and
    body of each request), and how it ended."""

    hosts: list[str] = field(default_factory=list)
    sent: list[str] = field(default_factory=list)
    error: str = ""


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> Seen:
    seen = Seen()

    def look(host: Any, *_: Any, **__: Any) -> None:
        seen.hosts.append(host.decode() if isinstance(host, bytes) else str(host))
        raise socket.gaierror("nothing is looked up in this test")

    def connect(_: socket.socket, address: Any) -> None:
        seen.hosts.append(str(address[0]) if isinstance(address, tuple) else "a file")
        raise OSError("nothing is connected to in this test")

    send = aiohttp.ClientSession._request

    async def note(
        session: aiohttp.ClientSession, method: str, url: Any, **named: Any
    ) -> aiohttp.ClientResponse:
        assert named["allow_redirects"] is False
        seen.sent.append(carried(str(url), dict(named["headers"]), named["data"]))
        return await send(session, method, url, **named)

    monkeypatch.setattr(socket, "getaddrinfo", look)
    monkeypatch.setattr(socket, "gethostbyname", look)
    monkeypatch.setattr(socket.socket, "connect", connect)
    monkeypatch.setattr(aiohttp.ClientSession, "_request", note)
    for name in [
        n for n in os.environ if n.lower().endswith(("_proxy", "_key", "_token", "_base"))
    ]:
        monkeypatch.delenv(name)
    # No credentials of whoever runs the tests, and no waiting for those of a machine.
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_REGION", "eu-west-1")
    return seen


def names_of_litellm() -> list[str]:
    from gatekeeper.providers.litellm import load_litellm

    litellm = load_litellm()
    from litellm.llms.openai_like.json_loader import JSONProviderRegistry

    known = [provider.value for provider in litellm.LlmProviders]
    known += [str(getattr(each, "value", each)) for each in litellm.provider_list]
    return sorted({*known, *JSONProviderRegistry.list_providers()})


def ask(
    models: Sequence[str], seen: Seen, through_litellm: Collection[str] = ()
) -> dict[str, Seen]:
    """Ask each model once, key or no key; what was seen of each."""
    found: dict[str, Seen] = {}

    async def main() -> None:
        client = HostedClient(through_litellm)
        for model in models:
            seen.hosts, seen.sent = [], []
            request = Request(model, (Message("user", "Hello"),), {}, None, 0)
            try:
                await client.require_key(model)
                await client.complete(request)
            except (CallFailed, UsageError) as error:
                found[model] = Seen(seen.hosts, seen.sent, str(error))
        await client.aclose()

    asyncio.run(main())
    return found


def test_a_forecast_asks_nobody(seen: Seen, monkeypatch: pytest.MonkeyPatch) -> None:
    """litellm signs in to some providers before it says what they cost."""
    monkeypatch.setenv("OPENAI_API_KEY", KEYS["OPENAI_API_KEY"])
    sign_in = ("github_copilot/x", "chatgpt/x", "huggingface/a/b")
    for model in (*sign_in, "vertex_ai/x", "bedrock/x", "openai/x"):
        asked = Request(model, (Message("user", "Hello"),), {}, None, 0)
        expected_cost(asked)
        worst_cost(asked)
    assert set(seen.hosts) <= OWN_MACHINE


def carried(url: str, headers: Any, content: bytes) -> str:
    """All that a request says."""
    named = " ".join(f"{name}: {value}" for name, value in headers.items())
    return f"{url} {named} {content.decode('utf-8', 'replace')}"


@pytest.mark.parametrize(
    ("key", "owners"),
    [
        ("OPENAI_API_KEY", {"openai", "text-completion-openai"}),
        ("AWS_BEARER_TOKEN_BEDROCK", {"bedrock"}),
        ("ANTHROPIC_API_KEY", {"anthropic"}),
    ],
)
def test_one_key_opens_one_provider(
    key: str, owners: set[str], seen: Seen, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(key, KEYS[key])
    names = names_of_litellm()
    assert len(names) > 150
    found = ask([*(f"{name}/x" for name in names), *ISSUE], seen, NATIVE_APIS)
    require_own_hosts(found, key, owners)
    found = ask([*(f"{name}/x" for name in NATIVE_APIS), *ISSUE], seen)
    require_own_hosts(found, key, owners)


def require_own_hosts(found: dict[str, Seen], key: str, owners: set[str]) -> None:
    """Only the owners of the key are reached, and nobody else gets it."""
    expected = {h for n in owners for h in endpoint_of(f"{n}/x", os.environ).host_patterns}
    reached = {host for each in found.values() for host in each.hosts}
    assert reached
    strange = {h for h in reached - OWN_MACHINE if not is_expected_host(h, expected)}
    assert strange == set()
    for model, each in found.items():
        if model.split("/")[0] in owners or "/" not in model:
            continue
        assert set(each.hosts) <= OWN_MACHINE, model
        for request in each.sent:
            assert KEYS[key] not in request, model


@pytest.mark.long
@pytest.mark.parametrize("through_litellm", [(), tuple(NATIVE_APIS)], ids=["native", "litellm"])
def test_each_provider_is_asked_at_its_own_host_with_its_own_key(
    seen: Seen, monkeypatch: pytest.MonkeyPatch, through_litellm: tuple[str, ...]
) -> None:
    """All keys are set, so that a mistake would show."""
    own: dict[str, str] = {}
    for name, provider in CATALOGUE.items():
        for variable in provider.keys[:1]:
            own[name] = f"sk-{variable.lower()}-0123456789abcdef"
            monkeypatch.setenv(variable, own[name])
        if provider.address is None and not provider.hosts:
            monkeypatch.setenv(
                provider.addresses[0], f"https://{name.replace('_', '-')}.example/v1"
            )
    models = {
        f"{name}/some-model": name for name in CATALOGUE if name not in ("vertex_ai", "bedrock")
    }
    models["bedrock/anthropic.claude-3-haiku-20240307-v1:0"] = "bedrock"
    models["huggingface/together/meta-llama/Llama-3-8b"] = "huggingface"
    del models["huggingface/some-model"]
    found = ask(list(models), seen, through_litellm)
    for model, name in models.items():
        endpoint = endpoint_of(model, os.environ)
        hosts = set(found[model].hosts)
        assert hosts, found[model].error
        assert all(is_expected_host(host, endpoint.host_patterns) for host in hosts), model
        # Hugging Face is first asked which of its partners has the model, by another way.
        assert found[model].sent or name == "huggingface", found[model].error
        for request in found[model].sent:
            assert own[name] in request, model
            assert not [v for v in own.values() if v in request and v != own[name]], model
