"""`gatekeeper mutate --mutations model` as its user runs it, with a model on 127.0.0.1."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.git_repository import GitRepository
from support.openai_server import OpenAIServer, Reply
from support.scripted_author import stage_of
from support.words_repository import commit_words

from gatekeeper.cli.main import main

PROMPT = """\
Answer politely.
Answer with ok only.
Never mention tables.

{{ word }}
"""
AUTHOR = "openai/gpt-4o"


def row(part: int, now: str) -> dict[str, Any]:
    return {"part": part, "now": now, "why": "it can confuse the model"}


PROPOSED = [
    row(1, "Answer  politely."),  # nothing changed
    row(1, "Answer {{ word }} politely."),
    row(2, "Answer with ok, and a word of your own."),
    row(2, "Answer."),  # a second one
    row(3, "Rarely mention tables."),  # `soften` makes the same
    row(3, "Mention tables. {% if"),
    row(3, ""),
    row(9, "Sing."),
    row(3, "Never mention chairs."),
]


@pytest.fixture
def repository(
    git_repository: Callable[..., GitRepository], monkeypatch: pytest.MonkeyPatch
) -> GitRepository:
    monkeypatch.setenv("OPENAI_API_KEY", "test-key")
    return commit_words(git_repository("mutate"), PROMPT)


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer(answer) as running:
        yield running


def answer(body: dict[str, Any]) -> Reply:
    if stage_of(body) == "mutations":
        return Reply(json.dumps({"mutations": PROPOSED}))
    said = body["messages"][0]["content"]
    return Reply("ok" if "Answer with ok only" in said else "ok, gladly")


def mutate(made: GitRepository, out: Path, *flags: str) -> tuple[int, dict[str, Any]]:
    code = main(["mutate", "words", "--repo", str(made.path), "--out", str(out), *flags])
    file = out / "mutation.json"
    return code, json.loads(file.read_text()) if file.exists() else {}


BY_MODEL = ("--mutations", "model", "--model", AUTHOR)


def test_a_model_rewrites_parts_and_unusable_proposals_are_counted(
    repository: GitRepository,
    server: OpenAIServer,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, found = mutate(repository, tmp_path, *BY_MODEL)
    assert code == 0
    by_id = {one["id"]: one for one in found["mutants"]}
    assert {name: (one["now"], one["finding"]) for name, one in by_id.items()} == {
        "2-model": ("Answer with ok, and a word of your own.", "noticed"),
        "3-model": ("Rarely mention tables.", "no_effect"),
    }
    notices = " ".join(found["notices"])
    assert f"2 usable mutations proposed by {AUTHOR} (1 call" in notices
    assert "2 proposals left out: variables or other parts" in notices
    counted = [int(said.split(" ")[0]) for said in found["notices"] if "left out" in said]
    assert sum(counted) == len(PROPOSED) - 2
    page = (tmp_path / "mutation.html").read_text()
    assert '<tr class="pass"><th scope="row">2</th><td>noticed</td>' in page
    assert "sentence rewritten" in (tmp_path / "mutation.md").read_text()

    # The recording gives the same mutants without the author.
    answers = tmp_path / "mutate.answers.jsonl"
    kept = answers.read_bytes()
    asked = len(server.requests)
    again = tmp_path / "again"
    code, other = mutate(
        repository, again, "--mutations", "model", "--mutations-from", str(answers)
    )
    same = [[(one["id"], one["now"]) for one in run["mutants"]] for run in (found, other)]
    assert (code, same[1]) == (0, same[0])
    assert AUTHOR.removeprefix("openai/") not in {
        request["model"] for request in server.requests[asked:]
    }
    assert not (again / "mutate.answers.jsonl").exists()
    assert answers.read_bytes() == kept

    # With the samples and their order, the whole run is repeated without any model.
    asked = len(server.requests)
    recorded = ("--mutations-from", str(answers), "--replay", str(tmp_path / "samples.jsonl"))
    order = ("--order-seed", found["order_seed"])
    code, other = mutate(repository, again, "--mutations", "model", *recorded, *order)
    assert (code, other["mutants"]) == (0, found["mutants"])
    assert len(server.requests) == asked

    # Fixtures for what was not noticed are made from the same file.
    capsys.readouterr()
    flags = ("--model", AUTHOR, "--for-survivors", str(tmp_path / "mutation.json"), "--estimate")
    prompt = str(repository.path / "prompts/words.txt")
    assert main(["generate", prompt, "--repo", str(repository.path), *flags]) == 0
    assert capsys.readouterr().out.startswith("1 part")


def test_both_kinds_of_mutations_run_together_without_the_same_twice(
    repository: GitRepository, server: OpenAIServer, tmp_path: Path
) -> None:
    code, found = mutate(repository, tmp_path, "--mutations", "soften,model", "--model", AUTHOR)
    assert code == 0
    assert [one["id"] for one in found["mutants"]] == ["2-soften", "2-model", "3-soften", "3-model"]
    assert found["mutants"][3]["now"] == "Never mention chairs."
    assert "another mutation makes the same change" in " ".join(found["notices"])


def test_an_estimate_counts_the_author_and_calls_no_model(
    repository: GitRepository, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert mutate(repository, tmp_path, *BY_MODEL, "--estimate") == (0, {})
    first, cost, second, other = capsys.readouterr().out.splitlines()
    assert first == "3 mutants, at most 80 calls"
    assert second == f"1 call to {AUTHOR} for the mutations"
    assert cost.startswith("Cost: about ")
    assert other.startswith("Cost: about ")
    unpriced = ("--mutations", "model", "--model", "ollama/unknown")
    assert mutate(repository, tmp_path, *unpriced, "--estimate")[0] == 0


def test_an_author_that_proposes_nothing_usable_ends_the_run(
    repository: GitRepository,
    server: OpenAIServer,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(f"{__name__}.PROPOSED", PROPOSED[:2])
    assert mutate(repository, tmp_path, *BY_MODEL) == (3, {})
    assert "left out: nothing changed" in capsys.readouterr().err
    assert (tmp_path / "mutate.answers.jsonl").exists()  # it was paid for
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("flags", "named"),
    [
        (("--mutations", "model"), "--model"),
        (("--model", AUTHOR), "--mutations model"),
        (("--mutations-from", "x.jsonl"), "--mutations model"),
        (("--mutations", "model", "--mutations-from", "gone.jsonl"), "gone.jsonl"),
        ((*BY_MODEL, "--replay", "samples.jsonl"), "--mutations-from"),
        (("--mutations", "model", "--model", "openay/gpt-4o"), "openay"),
    ],
)
def test_flags_that_do_not_fit_are_refused_before_any_call(
    repository: GitRepository,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    flags: tuple[str, ...],
    named: str,
) -> None:
    assert mutate(repository, tmp_path, *flags) == (2, {})
    assert named in capsys.readouterr().err


def test_a_recording_without_mutations_and_a_prompt_without_parts_are_refused(
    repository: GitRepository, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "other.jsonl"
    other.write_text('{"stage": "rules", "model": "m"}\n')
    flags = ("--mutations", "model", "--mutations-from", str(other))
    assert mutate(repository, tmp_path, *flags) == (2, {})
    assert "mutate.answers.jsonl" in capsys.readouterr().err
    repository.write("prompts/words.txt", "{{ word }}\n")
    assert mutate(repository, tmp_path, *BY_MODEL) == (2, {})
    assert "prompts/words.txt" in capsys.readouterr().err


def test_what_the_author_costs_counts_against_the_limits(
    repository: GitRepository, server: OpenAIServer, tmp_path: Path
) -> None:
    repository.write(".github/gatekeeper.yml", "limits: {calls: 21}\n")
    _, found = mutate(repository, tmp_path, *BY_MODEL)
    assert found["mutants"][1]["finding"] == "unknown"
    assert found["calls"] == 20
    assert len(server.requests) == 21
