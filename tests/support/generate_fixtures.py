"""`gatekeeper generate` on a small repository, as fixtures of all integration tests (conftest.py).

What they need is loaded when a test uses them, because conftest.py is loaded for each test.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from support.git_repository import GitRepository
    from support.openai_server import OpenAIServer

PROMPT_FILE = "prompts/review.txt"
SPEC = "prompts/review.spec.yaml"
FIXTURES = "contracts/review.fixtures.jsonl"
CONTRACT = "contracts/review.yaml"
ANSWERS = ".gatekeeper/generate/generate.answers.jsonl"

Generate = Callable[..., "tuple[int, OpenAIServer]"]


@pytest.fixture
def repository(
    git_repository: Callable[..., GitRepository], monkeypatch: pytest.MonkeyPatch
) -> GitRepository:
    """The working directory: a repository with the prompt of `scripted_author` and no contract."""
    from support.scripted_author import PROMPT

    made = git_repository("generate")
    made.write(PROMPT_FILE, PROMPT)
    made.commit("a prompt without a contract")
    monkeypatch.chdir(made.path)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-not-a-real-key-0123456789")
    return made


@pytest.fixture
def generate(repository: GitRepository) -> Generate:
    """Runs the command with these flags and a model that answers so, by default the scripted
    author. Returns its exit code, and the server with the requests."""
    from support.openai_server import OpenAIServer
    from support.scripted_author import MODEL, author

    from gatekeeper.cli.main import main

    def run(
        *flags: str, answer: Any = None, prompt: str = PROMPT_FILE, model: str = MODEL
    ) -> tuple[int, OpenAIServer]:
        with OpenAIServer(answer or author()) as server:
            return main(["generate", prompt, "--model", model, *flags]), server

    return run
