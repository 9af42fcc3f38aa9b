"""The file to which a run appends its answers."""

from __future__ import annotations

import json

import pytest
from support.edited_text import edited

from gatekeeper.author.generation.recording import Recording
from gatekeeper.contract.values.definition import Message
from gatekeeper.contract.values.trial import Completion, Request
from gatekeeper.errors import UsageError, WriteError

KEY = "sk-not-a-real-key-0123456789"


def request(text: str) -> Request:
    return Request("openai/m", (Message("user", text),), {}, 1, 0)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "out" / "answers.jsonl"


def outputs(path) -> list[str | None]:
    return [json.loads(line)["output_raw"] for line in path.read_text().splitlines()]


def test_an_answer_is_in_the_file_at_once_and_without_secrets(path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    earlier = Recording(path)
    earlier.add(request("a"), "tests", Completion("one"))
    recording = Recording(path, resume=True)
    recording.add(request("b"), "rules", Completion("two"))
    recording.add(request("c"), "rules", f"refused {KEY}")
    assert outputs(path) == ["one", "two", None]
    assert KEY not in path.read_text()
    recording.finish(failed=True)
    assert sorted(outputs(path), key=str) == [None, "one", "two"]
    assert [json.loads(line)["stage"] for line in path.read_text().splitlines()][-1] == "tests"


def test_an_earlier_answer_is_recalled_until_it_is_forgotten(path):
    earlier = Recording(path)
    earlier.add(request("a"), "tests", Completion("one"))
    earlier.add(request("b"), "tests", "failed")
    recording = Recording(path, resume=True)
    assert recording.recall(request("a")) == Completion("one", replayed=True)
    assert recording.recall(request("b")) is None
    recording.forget(request("a"))
    assert recording.recall(request("a")) is None


def test_a_run_goes_on_if_its_answers_cannot_be_kept_and_says_so_at_its_end(path):
    path.parent.write_text("a file")
    recording = Recording(path)
    recording.add(request("a"), "tests", Completion("one"))
    recording.add(request("b"), "tests", Completion("two"))
    with pytest.raises(WriteError):
        recording.finish(failed=True)


def test_without_an_answer_the_file_of_an_earlier_run_stays(path):
    path.parent.mkdir()
    path.write_text("earlier\n")
    Recording(path).finish(failed=False)
    assert path.read_text() == "earlier\n"


@pytest.mark.parametrize("line", ["no", "[]", '{"stage": "a"}', "[" * 3_000, "\ud800"])
def test_a_file_of_something_else_is_refused(path, line):
    path.parent.mkdir()
    path.write_text(f"{line}\n{line}", errors="replace")
    with pytest.raises(UsageError, match="does not hold answers"):
        Recording(path, resume=True)


@pytest.mark.parametrize("end", ["", "\n", '\n{"stage": "tests", "output_raw": "cut}'])
def test_a_last_line_without_its_end_is_used_if_it_is_whole(path, end):
    earlier = Recording(path)
    earlier.add(request("a"), "tests", Completion("one"))
    earlier.add(request("b"), "tests", Completion("two"))
    earlier.finish(failed=True)
    path.write_text(path.read_text().rstrip("\n") + end)
    recording = Recording(path, resume=True)
    assert [recording.recall(request(name)).text for name in "ab"] == ["one", "two"]


def test_a_number_without_end_is_refused(path):
    earlier = Recording(path)
    earlier.add(request("a"), "tests", Completion("one"))
    earlier.finish(failed=True)
    path.write_text(edited(path.read_text(), '"repetition": 0', '"repetition": 1e999'))
    with pytest.raises(UsageError, match="does not hold answers"):
        Recording(path, resume=True)
