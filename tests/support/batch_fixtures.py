"""Servers of the two batch interfaces, as fixtures of all integration tests (conftest.py).

What they need is loaded when a test uses them, because conftest.py is loaded for each test.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from support.anthropic_batch_server import AnthropicBatchServer
    from support.batch_server import BatchServer
    from support.openai_batch_server import OpenAIBatchServer


def last_word(body: Any) -> str:
    """The number that a request of `batch_clients.requests` says."""
    content = body["messages"][-1]["content"]
    text = content if isinstance(content, str) else content[0]["text"]
    return str(text.split()[-1])


@pytest.fixture
def openai_batches(monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIBatchServer]:
    """OpenAI's Batch API, which answers each request with its number."""
    from support.native_clients import point_at
    from support.openai_batch_server import OpenAIBatchServer

    with OpenAIBatchServer(last_word) as server:
        point_at(server.url, monkeypatch)
        yield server


@pytest.fixture
def anthropic_batches(monkeypatch: pytest.MonkeyPatch) -> Iterator[AnthropicBatchServer]:
    """Anthropic's Message Batches, which answers each request with its number."""
    from support.anthropic_batch_server import AnthropicBatchServer
    from support.native_clients import point_at

    with AnthropicBatchServer(last_word) as server:
        point_at(server.url, monkeypatch)
        yield server


@pytest.fixture(params=["openai", "anthropic"])
def batch_provider(request: pytest.FixtureRequest) -> tuple[str, BatchServer]:
    """Each of the two, with its model."""
    from support.native_clients import CLAUDE, OPENAI

    server: BatchServer = request.getfixturevalue(f"{request.param}_batches")
    return {"openai": OPENAI, "anthropic": CLAUDE}[request.param], server
