"""Servers of the two batch interfaces, as fixtures of all integration tests (conftest.py)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from support.anthropic_batch_server import AnthropicBatchServer
from support.batch_server import BatchServer
from support.native_clients import CLAUDE, OPENAI, point_at
from support.openai_batch_server import OpenAIBatchServer


def last_word(body: Any) -> str:
    """The number that a request of `batch_clients.requests` says."""
    content = body["messages"][-1]["content"]
    text = content if isinstance(content, str) else content[0]["text"]
    return str(text.split()[-1])


@pytest.fixture
def openai_batches(monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIBatchServer]:
    """OpenAI's Batch API, which answers each request with its number."""
    with OpenAIBatchServer(last_word) as server:
        point_at(server.url, monkeypatch)
        yield server


@pytest.fixture
def anthropic_batches(monkeypatch: pytest.MonkeyPatch) -> Iterator[AnthropicBatchServer]:
    """Anthropic's Message Batches, which answers each request with its number."""
    with AnthropicBatchServer(last_word) as server:
        point_at(server.url, monkeypatch)
        yield server


@pytest.fixture(params=[OPENAI, CLAUDE])
def batch_provider(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[str, BatchServer]]:
    """Each of the two, with its model."""
    kinds: dict[str, Callable[[Any], BatchServer]] = {
        OPENAI: OpenAIBatchServer,
        CLAUDE: AnthropicBatchServer,
    }
    with kinds[request.param](last_word) as server:
        point_at(server.url, monkeypatch)
        yield request.param, server
