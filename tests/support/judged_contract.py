"""A contract whose judge is a scripted server, and a pull request that makes its prompt rude."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from support.git_repository import GitRepository
from support.judges import verdict
from support.openai_server import Fault, OpenAIServer

from gatekeeper.cli.main import main

KEY = "sk-0123456789abcdef"
WORDS = [f"word{number}" for number in range(24)]
GOOD_PROMPT = "Say {{ word }} politely.\n"
RUDE_PROMPT = "Say {{ word }} rudely.\n"
CONTRACT = """\
contract: 1
name: polite
prompt: ../prompts/polite.txt
model: openai/gpt-4o-mini
params: {temperature: 0, max_tokens: 20}
judge: {model: openai/gpt-4o, params: {max_tokens: 200}}
fixtures:
  - file: words.csv
checks:
  - {judge: rubric, criteria: The output is polite., name: is polite}
sampling: {samples: 1, mode: fixed}
gate: {margin: 0.3}
"""
FILES = {
    "contracts/polite.yaml": CONTRACT,
    "contracts/words.csv": "id,word\n" + "".join(f"{word},{word}\n" for word in WORDS),
    "prompts/polite.txt": GOOD_PROMPT,
}
JUDGE = "gpt-4o"


def is_question(body: Mapping[str, Any]) -> bool:
    return body["model"] == JUDGE


def answer(body: Mapping[str, Any]) -> str:
    """Answer as the prompt asks; as the judge, look whether the output says please."""
    text = body["messages"][-1]["content"]
    if is_question(body):
        return verdict("yes" if "please" in text else "no", "the REASON of the judge")
    word = text.split()[1]
    return f"{word}, please" if "politely" in text else word


def start_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIServer]:
    """Start the scripted server, and lead the key and the address of OpenAI to it."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with OpenAIServer(answer) as started:
        yield started


def propose(git_repository: Callable[..., GitRepository]) -> GitRepository:
    """Return a repository whose branch `pr` makes the prompt rude."""
    made = git_repository("proposed")
    made.commit("polite", FILES)
    made.branch("pr")
    made.commit("reword", {"prompts/polite.txt": RUDE_PROMPT})
    return made


def check(repository: GitRepository, out: Path, *more: str) -> tuple[int, dict[str, Any]]:
    named = ["check", "--repo", str(repository.path), "--base", "main", "--head", "pr"]
    code = main([*named, "--out", str(out), *more])
    file = out / "result.json"
    return code, json.loads(file.read_text("utf-8")) if file.exists() else {}


def samples(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (out / "samples.jsonl").read_text("utf-8").splitlines()]


def questions(server: OpenAIServer) -> list[dict[str, Any]]:
    return [body for body in server.requests if is_question(body)]


def with_server(server: OpenAIServer, other: Callable[[Mapping[str, Any]], str | Fault]) -> None:
    server._answer = other
