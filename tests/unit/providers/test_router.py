from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from gatekeeper.contract.values.definition import Message
from gatekeeper.contract.values.trial import Completion, Request
from gatekeeper.errors import CallFailed, UsageError
from gatekeeper.providers import ModelRouter, hosted, local


def request(model: str) -> Request:
    return Request(model, (Message("user", "Hi"),), {}, None, 0)


@dataclass
class Spy:
    """Stands for a client, and remembers what became of it."""

    name: str
    made: list[str] = field(default_factory=list)
    closed: list[str] = field(default_factory=list)

    def __call__(self, *_: object) -> Spy:
        self.made.append(self.name)
        return self

    async def complete(self, request: Request) -> Completion:
        return Completion(f"{self.name}: {request.model}")

    async def aclose(self) -> None:
        self.closed.append(self.name)


def no_file(path: str) -> bytes:
    raise FileNotFoundError(path)


def test_only_who_is_opened_by_keys_is_asked_for_them(monkeypatch: pytest.MonkeyPatch) -> None:
    class Keyed(Spy):
        async def require_key(self, model: str) -> None:
            self.made.append(model)

    api, embedded = Keyed("hosted"), Spy("local")
    monkeypatch.setattr(hosted, "HostedClient", api)
    monkeypatch.setattr(local, "LocalClient", embedded)

    asyncio.run(ModelRouter(no_file).require_keys(["openai/a", "local/x", "recorded/y"]))
    assert api.made == ["hosted", "openai/a"]
    api.made.clear()
    asyncio.run(ModelRouter(no_file, replay=Path("x")).require_keys(["openai/a"]))
    assert api.made == []


def test_all_missing_keys_are_named_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("GEMINI_API_KEY", "set")
    models = ["openai/gpt-4o", "gemini/gemini-2.0-flash", "anthropic/claude-haiku-4-5"]

    async def ask() -> None:
        router = ModelRouter(no_file)
        try:
            await router.require_keys(models)
        finally:  # else later tests in this process may connect to no other host
            await router.aclose()

    with pytest.raises(UsageError) as caught:
        asyncio.run(ask())

    first, second = str(caught.value).splitlines()
    assert first.startswith("openai/gpt-4o: no API key")
    assert "OPENAI_API_KEY" in first
    assert second.startswith("anthropic/claude-haiku-4-5: no API key")
    assert "ANTHROPIC_API_KEY" in second


def test_a_client_is_picked_by_prefix_and_built_once(monkeypatch: pytest.MonkeyPatch) -> None:
    api, embedded = Spy("hosted"), Spy("local")
    monkeypatch.setattr(hosted, "HostedClient", api)
    monkeypatch.setattr(local, "LocalClient", embedded)

    async def main() -> list[str]:
        router = ModelRouter(no_file)
        assert (api.made, embedded.made) == ([], [])
        models = ("openai/a", "local/x", "gpt-4o", "localhost/x")
        texts = [(await router.complete(request(model))).text for model in models]
        with pytest.raises(CallFailed, match=r"recording a\.jsonl: "):
            await router.complete(request("recorded/a.jsonl"))
        assert router.slots("openai/a") is None
        await router.aclose()
        await router.aclose()
        return texts

    assert asyncio.run(main()) == [
        "hosted: openai/a",
        "local: local/x",
        "hosted: gpt-4o",
        "hosted: localhost/x",
    ]
    assert (api.made, api.closed) == (["hosted"], ["hosted"])
    assert (embedded.made, embedded.closed) == (["local"], ["local"])


def test_the_embedded_model_takes_few_requests_at_a_time() -> None:
    async def main() -> int | None:
        router = ModelRouter(no_file)
        slots = router.slots("local/smollm2")
        await router.aclose()
        return slots

    assert asyncio.run(main()) == 2


def test_a_replay_answers_for_every_model(tmp_path: Path) -> None:
    file = tmp_path / "samples.jsonl"
    file.write_text("", encoding="utf-8")
    router = ModelRouter(no_file, replay=file)
    for model in ("openai/a", "local/smollm2", "recorded/x"):
        with pytest.raises(CallFailed, match=r"not recorded in .*samples\.jsonl"):
            asyncio.run(router.complete(request(model)))
