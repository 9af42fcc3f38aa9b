"""`generate` and `mutate` with `--cache`: what a model answered once is not paid for again."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.generate_fixtures import ANSWERS, CONTRACT, FIXTURES, PROMPT_FILE, SPEC
from support.git_repository import GitRepository
from support.openai_server import OpenAIServer, Reply
from support.scripted_author import MODEL, PROMPT, author, stage_of
from support.words_repository import commit_words

from gatekeeper.cli.main import main

KEY = "sk-not-a-real-key-0123456789"
WORDS = "Answer politely.\nAnswer with ok only.\nNever mention tables.\n\n{{ word }}\n"


class Author:
    """Answers as the scripted author does, a stage of `changes` otherwise."""

    def __init__(self) -> None:
        self.changes: dict[str, Any] = {}

    def __call__(self, body: dict[str, Any]) -> Any:
        if stage_of(body) in self.changes:
            return self.changes[stage_of(body)]
        if stage_of(body) == "mutations":
            changed = {"part": 2, "now": "Answer with ok and a word.", "why": "it can confuse"}
            return json.dumps({"mutations": [changed]})
        if body["messages"][0]["content"].startswith("Answer"):
            return "ok" if "ok only" in body["messages"][0]["content"] else "ok, gladly"
        return author()(body)


@pytest.fixture
def says() -> Author:
    return Author()


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, says: Author) -> Iterator[OpenAIServer]:
    """One server for all runs of a test, because its address is a part of the cache's key."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with OpenAIServer(says) as running:
        yield running


@pytest.fixture
def run(repository: GitRepository, server: OpenAIServer) -> Callable[..., tuple[int, int]]:
    def ask(*flags: str, cache: str = "cache.jsonl") -> tuple[int, int]:
        """Return the exit code and the number of calls."""
        before = len(server.requests)
        code = main(["generate", PROMPT_FILE, "--model", MODEL, *flags, "--cache", cache])
        return code, len(server.requests) - before

    return ask


def contents(made: GitRepository) -> dict[str, bytes]:
    return {name: (made.path / name).read_bytes() for name in (SPEC, FIXTURES, CONTRACT, ANSWERS)}


def remove(made: GitRepository) -> None:
    for name in (SPEC, FIXTURES, CONTRACT, ANSWERS):
        (made.path / name).unlink()


@pytest.mark.parametrize("flags", [(), ("--effort", "medium", "--prove-with", "openai/gpt-4o")])
def test_generating_the_same_again_makes_no_call_and_writes_the_same(
    repository, run, says, capsys, flags
):
    says.changes["rating"] = json.dumps({"duplicates": [[1, 2]], "missing": []})
    code, calls = run(*flags)
    assert code == 0
    assert calls > 6
    before = contents(repository)
    remove(repository)
    capsys.readouterr()
    says.changes = {"rules": "another answer, which nobody may ask for"}
    assert run(*flags) == (0, 0)
    assert contents(repository) == before
    said = capsys.readouterr()
    assert "\n0 calls" in said.out
    assert "cache" not in said.err


def test_another_prompt_is_asked_about(repository, run):
    assert run() == (0, 7)
    remove(repository)
    repository.write(PROMPT_FILE, f"Be brief.\n{PROMPT}")
    assert run()[1] > 0


def test_a_run_that_failed_adds_nothing_and_the_run_that_continues_it_adds_all(
    repository, run, says
):
    says.changes = {"rule_checks": "no JSON"}
    assert run()[0] == 3
    assert not Path("cache.jsonl").exists()
    says.changes = {}
    assert run("--resume") == (0, 3)
    before = contents(repository)
    remove(repository)
    assert run() == (0, 0)
    assert contents(repository) == before


def test_a_replay_neither_reads_nor_writes_the_cache(run):
    assert run() == (0, 7)
    assert run("--replay", ANSWERS, cache="other.jsonl") == (0, 0)
    assert not Path("other.jsonl").exists()


def test_without_a_key_that_can_sign_there_is_no_cache(run, monkeypatch, capsys):
    monkeypatch.setenv("OPENAI_API_KEY", "short")
    monkeypatch.setenv("GITHUB_API_KEY", "ghs_0123456789abcdef")
    assert run() == (0, 7)
    said = capsys.readouterr().err
    assert "no API key can sign" in said
    assert "The token of a GitHub job does not count" in said
    assert "set GATEKEEPER_API_KEY to a long random text" in said
    assert not Path("cache.jsonl").exists()


def test_another_key_finds_nothing(repository, run, monkeypatch, capsys):
    assert run() == (0, 7)
    remove(repository)
    monkeypatch.setenv("OPENAI_API_KEY", f"{KEY}-another")
    assert run() == (0, 7)
    assert "not signed with the keys of this run" in capsys.readouterr().err


def test_an_answer_that_repeats_a_secret_is_not_kept(repository, run, says):
    questions = [{"kind": "ambiguity", "text": f"What is {KEY}?", "lines": [1]}]
    says.changes["open_questions"] = json.dumps({"questions": questions})
    assert run()[0] == 0
    assert KEY not in Path("cache.jsonl").read_text("utf-8")
    remove(repository)
    assert run() == (0, 1)


@pytest.fixture
def mutate(
    git_repository: Callable[..., GitRepository], server: OpenAIServer, tmp_path: Path
) -> Callable[..., tuple[int, int, dict[str, Any]]]:
    made = commit_words(git_repository("mutate"), WORDS)

    def measure(out: str, *flags: str) -> tuple[int, int, dict[str, Any]]:
        """Return the exit code, the number of calls, and the result."""
        before, folder = len(server.requests), tmp_path / out
        where = ("--repo", str(made.path), "--out", str(folder))
        cache = ("--cache", str(tmp_path / "cache.jsonl"))
        code = main(["mutate", "words", *where, *cache, *flags])
        found = json.loads((folder / "mutation.json").read_text("utf-8"))
        return code, len(server.requests) - before, found

    return measure


@pytest.mark.long
def test_mutating_the_same_again_makes_no_call_and_finds_the_same(mutate, says):
    flags = ("--mutations", "drop,model", "--model", "openai/gpt-4o")
    code, calls, first = mutate("one", *flags)
    assert (code, len(first["mutants"])) == (0, 4)
    assert calls > 20
    says.changes = {"": Reply("another answer"), "mutations": "another answer"}
    code, calls, second = mutate("two", *flags)
    assert (code, calls, second["calls"]) == (0, 0, 0)
    assert second["mutants"] == first["mutants"]


@pytest.mark.long
def test_a_mutation_that_was_not_tried_yet_is_measured(mutate):
    assert mutate("one", "--mutations", "drop")[0] == 0
    calls = mutate("two", "--mutations", "drop,negate")[1]
    assert calls > 0
    assert mutate("three", "--mutations", "drop,negate")[1] == 0


def test_mutations_are_measured_without_a_cache_that_cannot_be_signed(mutate, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "short")
    code, _, found = mutate("one", "--mutations", "model", "--model", "openai/gpt-4o")
    assert code == 0
    # Both the mutations and their comparisons would use it.
    assert len([text for text in found["notices"] if "no API key can sign" in text]) == 1


def test_fixtures_for_survivors_come_from_the_cache(repository, server, says, monkeypatch, capsys):
    commit_words(repository, WORDS)
    monkeypatch.setattr("gatekeeper.cli.commands.generate.write_new_files", lambda _: None)
    assert main(["mutate", "words", "--mutations", "drop"]) == 0
    tests = [{"kind": "edge", "scenario": "s", "reason": "r", "vars": {"word": "a chair"}}]
    says.changes["survivors"] = json.dumps({"tests": tests})
    flags = ("--model", MODEL, "--for-survivors", "--cache", "cache.jsonl")
    counts = []
    for _ in range(2):
        before = len(server.requests)
        assert main(["generate", "prompts/words.txt", *flags]) == 0
        counts.append(len(server.requests) - before)
    assert counts[0] > 0
    assert counts[1] == 0
    monkeypatch.setenv("OPENAI_API_KEY", "short")
    capsys.readouterr()
    assert main(["generate", "prompts/words.txt", *flags]) == 0
    assert "no API key can sign" in capsys.readouterr().err
