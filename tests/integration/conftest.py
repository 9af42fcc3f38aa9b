"""What several integration tests start from: a model on 127.0.0.1, and the ways into the gate."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.checked import check_of
from support.openai_server import OpenAIServer
from support.pull_request import answer
from support.ways_in import run_gate, run_gate_each_way

__all__ = ["check_of", "model", "run_gate", "run_gate_each_way"]


@pytest.fixture
def model() -> Iterator[OpenAIServer]:
    with OpenAIServer(answer) as server:
        yield server
