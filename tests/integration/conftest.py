"""What several integration tests start from: a model on 127.0.0.1, and the ways into the gate."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.batch_fixtures import anthropic_batches, batch_provider, openai_batches
from support.checked import check_of
from support.generate_fixtures import generate, repository
from support.openai_server import OpenAIServer
from support.propose_fixtures import pull, writer
from support.pull_request import answer
from support.ways_in import run_gate, run_gate_each_way

__all__ = [
    "anthropic_batches",
    "batch_provider",
    "check_of",
    "generate",
    "model",
    "openai_batches",
    "pull",
    "repository",
    "run_gate",
    "run_gate_each_way",
    "writer",
]


@pytest.fixture(autouse=True)
def without_drawings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Charts keep their titles and tables and have no curves, which take a tenth of the time of a
    check. A module that looks at a curve overrides this fixture."""
    monkeypatch.setattr("gatekeeper.reports.html.charts._svg", lambda *_: "<svg></svg>")


@pytest.fixture
def model() -> Iterator[OpenAIServer]:
    with OpenAIServer(answer) as server:
        yield server
