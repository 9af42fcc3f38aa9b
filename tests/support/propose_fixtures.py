"""A pull request with a prompt that has no contract, as fixtures of all integration tests
(conftest.py)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.scripted_author import MODEL, PROMPT, author

if TYPE_CHECKING:
    from support.bot_comments import CheckedPull
    from support.github_server import FakeGithub
    from support.openai_server import OpenAIServer

NEW = "prompts/review.txt"
POLICY = {".github/gatekeeper.yml": f"propose: {{model: {MODEL}, cost_usd: 0.20}}\n"}


@pytest.fixture(scope="module")
def writer() -> Iterator[OpenAIServer]:
    """The model that writes the proposals."""
    from support.openai_server import OpenAIServer

    with OpenAIServer(author()) as server:
        yield server


@pytest.fixture
def pull(
    github: FakeGithub, writer: OpenAIServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Callable[..., CheckedPull]:
    """Makes the pull request: the files that it changes, and more files of both sides."""
    from support.action_job import Job
    from support.bot_comments import CheckedPull

    def make(
        files: Mapping[str, str] = {NEW: PROMPT},
        more: Mapping[str, str | bytes] = POLICY,
    ) -> CheckedPull:
        writer.requests.clear()
        monkeypatch.setenv("OPENAI_API_KEY", "sk-not-a-real-key-0123456789")
        return CheckedPull.make(Job(github, monkeypatch, tmp_path), files, more)

    return make
