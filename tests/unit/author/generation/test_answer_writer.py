"""The file to which a run appends its answers."""

from __future__ import annotations

import json

import pytest

from gatekeeper.author.generation.model_run import AnswerWriter
from gatekeeper.errors import WriteError

KEY = "sk-not-a-real-key-0123456789"


def test_an_answer_is_in_the_file_at_once_and_without_secrets(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    path = tmp_path / "out" / "answers.jsonl"
    file = AnswerWriter(path, '{"n": 0}\n')
    file.add({"n": 1, "said": f"the key is {KEY}"})
    file.add({"n": 2})
    assert [json.loads(line)["n"] for line in path.read_text().splitlines()] == [0, 1, 2]
    assert KEY not in path.read_text()
    file.finish("all\n")
    assert path.read_text() == "all\n"


def test_a_run_goes_on_if_its_answers_cannot_be_kept_and_says_so_at_its_end(tmp_path):
    (tmp_path / "out").write_text("a file")
    file = AnswerWriter(tmp_path / "out" / "answers.jsonl")
    file.add({"n": 1})
    file.add({"n": 2})
    with pytest.raises(WriteError):
        file.finish("all\n")


def test_without_an_answer_the_file_of_an_earlier_run_stays(tmp_path):
    path = tmp_path / "answers.jsonl"
    path.write_text("earlier\n")
    AnswerWriter(path).finish("")
    assert path.read_text() == "earlier\n"
