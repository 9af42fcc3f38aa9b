"""`gatekeeper generate --for-survivors` after `gatekeeper mutate`, with a model on 127.0.0.1."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support.edited_text import edited
from support.openai_server import OpenAIServer
from support.recorded_repository import csv
from support.scripted_author import stage_of
from support.words_repository import WITH_OBJECTIVE, commit_words

from gatekeeper.cli.main import main

PROMPT = """\
Answer with ok only.
Answer with no if the word is a colour.
Never mention tables.

{{ word }}
"""
LONG = "a chair that stands beside the window"
GENERATE = ("generate", "prompts/words.txt", "--model", "openai/gpt-4o")
SURVIVORS = "contracts/words.survivors.jsonl"


def row_of(word: str) -> dict[str, Any]:
    return {"kind": "edge", "scenario": "a word", "reason": "r", "vars": {"word": word}}


def answer(body: dict[str, Any]) -> str:
    """Do as the prompt says; propose words of colours for the rule on colours, and others else."""
    if stage_of(body):
        about_colours = "colour" in body["messages"][1]["content"].split("<data part ")[1]
        words = ["red", "green", "table"] if about_colours else [LONG, f"{LONG}!", " "]
        return json.dumps({"tests": [row_of(word) for word in words]})
    said = body["messages"][0]["content"]
    word = said.rstrip().splitlines()[-1]
    if "ok only" not in said:
        return "ok, gladly"
    return "no" if "no if the word" in said and word in ("red", "green") else "ok"


@pytest.fixture
def repository(git_repository, monkeypatch):
    made = commit_words(git_repository("survivors"), PROMPT, WITH_OBJECTIVE)
    monkeypatch.setenv("OPENAI_API_KEY", "test-key")
    monkeypatch.chdir(made.path)
    with OpenAIServer(answer):
        assert main(["mutate", "words", "--mutations", "drop"]) == 0
        yield made


def test_inputs_that_depend_on_an_unprotected_part_become_fixtures(repository, capsys):
    assert main([*GENERATE, "--for-survivors"]) == 0
    said = capsys.readouterr().out
    assert "line 2 " in said
    assert "2 of 3 inputs" in said
    # One input repeats the other.
    assert "0 of 1 input, the output depends on this part; 1 input left out" in said
    written = (repository.path / SURVIVORS).read_text("utf-8")
    rows = [json.loads(line) for line in written.splitlines()]
    assert [row["vars"]["word"] for row in rows] == ["red", "green"]
    assert {row["category"] for row in rows} == {"survivor"}
    assert len({row["cluster"] for row in rows}) == 1
    assert not any("expected" in row for row in rows)

    # Nothing is overwritten, and the recording gives the same bytes.
    assert main([*GENERATE, "--for-survivors"]) == 2
    (repository.path / SURVIVORS).unlink()
    recording = ".gatekeeper/generate/generate.answers.jsonl"
    assert main([*GENERATE, "--for-survivors", "--replay", recording]) == 0
    assert (repository.path / SURVIVORS).read_text("utf-8") == written

    # With these fixtures, the contract has something that the part decides.
    contract = edited(WITH_OBJECTIVE, "csv}]", "csv}, {file: words.survivors.jsonl}]")
    repository.write("contracts/words.yaml", contract)
    assert main(["validate"]) == 0


@pytest.mark.long
def test_a_part_on_which_no_output_depends_gets_no_fixture(repository, capsys):
    repository.write("prompts/words.txt", edited(PROMPT, "Answer with no if the word", "Say it if"))
    repository.write("contracts/words.yaml", WITH_OBJECTIVE)
    repository.write("contracts/words.csv", csv((LONG, *(f"word{n:02}" for n in range(20)))))
    assert main(["mutate", "words", "--mutations", "drop"]) == 0
    assert main([*GENERATE, "--for-survivors", "--estimate"]) == 0
    said = capsys.readouterr().out
    assert "2 parts, at most 20 calls" in said
    assert "Cost: about" in said
    assert main([*GENERATE, "--for-survivors"]) == 0
    said = capsys.readouterr().out
    assert "No fixture was written" in said
    assert "not tried; 2 inputs left out" in said
    assert not (repository.path / SURVIVORS).exists()


@pytest.mark.long
def test_a_part_whose_removal_is_noticed_is_protected(repository, capsys):
    assert main(["mutate", "words"]) == 0
    path = repository.path / ".gatekeeper/mutation/mutation.json"
    found = json.loads(path.read_text("utf-8"))
    for row in found["mutants"]:
        row["finding"] = "noticed" if row["mutation"] == "drop" else "no_effect"
    path.write_text(json.dumps(found), "utf-8")
    capsys.readouterr()
    assert main([*GENERATE, "--for-survivors", "--estimate"]) == 0
    assert "nothing to do" in capsys.readouterr().out


@pytest.mark.parametrize("spoil", ["missing", "rubbish", "other prompt", "older prompt"])
def test_a_file_that_does_not_fit_is_refused(repository, capsys, spoil):
    path = repository.path / ".gatekeeper/mutation/mutation.json"
    if spoil == "missing":
        path.unlink()
    elif spoil == "rubbish":
        path.write_text("[1]", "utf-8")
    elif spoil == "other prompt":
        path.write_text(edited(path.read_text("utf-8"), "prompts/words.txt", "a.txt"), "utf-8")
    else:
        repository.write("prompts/words.txt", edited(PROMPT, "tables", "chairs"))
    assert main([*GENERATE, "--for-survivors"]) == 2
    assert "mutat" in capsys.readouterr().err
    assert not (repository.path / SURVIVORS).exists()
