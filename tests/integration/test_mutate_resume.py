"""`gatekeeper mutate --resume` after a run that ended early, with a model on 127.0.0.1."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.git_repository import GitRepository
from support.openai_server import OpenAIServer
from support.recorded_repository import csv
from support.scripted_author import stage_of

from gatekeeper.cli.main import main

PARTS = 21
"""One more than a model is shown in one question."""
PROMPT = "".join(f"Say no{n} never.\n" for n in range(PARTS)) + "\n{{ word }}\n"
CONTRACT = """\
contract: 1
name: words
prompt: ../prompts/words.txt
model: openai/gpt-4o-mini
fixtures: [{file: words.csv}]
checks: [{type: equals, value: ok}]
"""
BY_MODEL = ("--mutations", "model", "--model", "openai/gpt-4o")
FIXTURES = 6


class Author:
    """Rewrites the first part of each question, and says ok to each word unless a part is gone.
    The stages of `broken` get an answer that cannot be read, if their question has the text."""

    def __init__(self) -> None:
        self.broken = ""

    def __call__(self, body: dict[str, Any]) -> str:
        said = str(body["messages"][-1]["content"])
        if stage_of(body) != "mutations":
            return "ok" if said.count("never") == PARTS else "no"
        first = str(body["messages"][1]["content"])
        if self.broken and self.broken in first:
            return "no"
        part = 1 if "Part 1:" in first else PARTS
        return json.dumps({"mutations": [{"part": part, "now": f"Say {part}.", "why": "vague"}]})


@pytest.fixture
def author() -> Author:
    return Author()


@pytest.fixture
def server(author: Author, monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIServer]:
    monkeypatch.setenv("OPENAI_API_KEY", "test-key")
    with OpenAIServer(author) as running:
        yield running


@pytest.fixture
def repository(git_repository: Callable[..., GitRepository]) -> GitRepository:
    made = git_repository("mutate-resume")
    made.write("contracts/words.yaml", CONTRACT)
    made.write("contracts/words.csv", csv(tuple(f"word{n:02}" for n in range(FIXTURES))))
    made.write("prompts/words.txt", PROMPT)
    made.commit("sound")
    return made


def mutate(made: GitRepository, out: Path, *flags: str) -> int:
    return main(["mutate", "words", "--repo", str(made.path), "--out", str(out), *flags])


def allow(made: GitRepository, calls: int) -> None:
    made.write(".github/gatekeeper.yml", f"limits: {{calls: {calls}}}\n")


def test_no_answer_of_a_run_that_ended_early_is_paid_for_twice(
    repository: GitRepository,
    server: OpenAIServer,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    allow(repository, 2 + 8)
    assert mutate(repository, tmp_path, *BY_MODEL) == 3
    assert "--resume" in capsys.readouterr().out
    assert len(server.requests) == 2 + 8

    allow(repository, 100)
    assert mutate(repository, tmp_path, *BY_MODEL, "--resume") == 0
    asked = Counter(json.dumps(request, sort_keys=True) for request in server.requests)
    assert set(asked.values()) == {1}
    found = json.loads((tmp_path / "mutation.json").read_text("utf-8"))
    assert [one["id"] for one in found["mutants"]] == ["1-model", f"{PARTS}-model"]
    assert {one["finding"] for one in found["mutants"]} == {"noticed"}
    assert any("Resumed with 8 answers" in said for said in found["notices"])
    assert not (tmp_path / "unfinished.jsonl").exists()

    # It decides as a run that nothing interrupted.
    flags = ("--mutations", "model", "--mutations-from", str(tmp_path / "mutate.answers.jsonl"))
    order = ("--order-seed", found["order_seed"])
    assert mutate(repository, tmp_path / "whole", *flags, *order) == 0
    whole = json.loads((tmp_path / "whole" / "mutation.json").read_text("utf-8"))
    assert whole["mutants"] == found["mutants"]


def test_proposals_that_failed_are_asked_for_again_and_the_others_are_not(
    repository: GitRepository,
    server: OpenAIServer,
    author: Author,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    author.broken = f"Part {PARTS}:"
    assert mutate(repository, tmp_path, *BY_MODEL) == 3
    assert "--resume" in capsys.readouterr().err
    author.broken = ""
    allow(repository, 1)  # the comparisons are another matter
    before = len(server.requests)
    assert mutate(repository, tmp_path, *BY_MODEL, "--resume") == 3
    stages = [stage_of(request) for request in server.requests[before:]]
    assert stages == ["mutations"]
    rows = (tmp_path / "mutate.answers.jsonl").read_text("utf-8").splitlines()
    assert {json.loads(row)["stage"] for row in rows} == {"mutations"}
    printed = capsys.readouterr().out
    assert "could be measured" in printed
    assert "changed an output" not in printed


@pytest.mark.parametrize(
    ("flags", "named"),
    [
        (("--mutations", "drop", "--resume"), "unfinished.jsonl"),
        ((*BY_MODEL, "--resume"), "mutate.answers.jsonl"),
        (("--resume", "--replay", "samples.jsonl"), "--replay"),
    ],
)
def test_what_cannot_be_continued_is_refused(
    repository: GitRepository,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    flags: tuple[str, ...],
    named: str,
) -> None:
    assert mutate(repository, tmp_path, *flags) == 2
    assert named in capsys.readouterr().err


def test_proposals_that_git_tracks_are_not_taken_for_those_of_an_earlier_run(
    repository: GitRepository,
    server: OpenAIServer,
    author: Author,
    capsys: pytest.CaptureFixture[str],
) -> None:
    author.broken = f"Part {PARTS}:"
    out = repository.path / "out"
    assert mutate(repository, out, *BY_MODEL) == 3
    repository.git("add", "--force", "out")
    before = len(server.requests)
    assert mutate(repository, out, *BY_MODEL, "--resume") == 2
    assert "git tracks" in capsys.readouterr().err
    assert len(server.requests) == before
