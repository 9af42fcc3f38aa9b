"""A server answers with far more than anybody reads: all is evaluated, and little is kept."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.edited_text import edited
from support.git_repository import GitRepository
from support.openai_server import OpenAIServer, Reply, bad_request
from support.pull_request import CONTRACT, FILES, HARMLESS, PROMPT

from gatekeeper.cli.main import main

PADDING = "All work and no play makes a dull answer. " * 4_000
CHECKS = "  - {type: contains, value: at the very end}\n"
ENDS = edited(CONTRACT, '  - {type: equals, value: "{{ expected }}"}\n', CHECKS)


@pytest.fixture
def made(
    git_repository: Callable[..., GitRepository], monkeypatch: pytest.MonkeyPatch
) -> GitRepository:
    repository = git_repository("long")
    repository.commit("base", {**FILES, "contracts/sentiment.yaml": ENDS})
    repository.branch("change")
    repository.commit("reword", {PROMPT: HARMLESS})
    monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789abcdef")
    monkeypatch.chdir(repository.path)
    return repository


def _check(answers: Callable[[dict[str, Any]], Any], *arguments: str) -> int:
    with OpenAIServer(answers):
        return main(["check", "--base", "main", *arguments])


@pytest.fixture
def checks() -> Iterator[Callable[..., int]]:
    """Runs the gate with a cache. The model answers in the first run alone: another address would
    be another key for the cache."""
    model: list[Callable[[dict[str, Any]], Any]] = []
    with OpenAIServer(lambda body: model[0](body)):

        def run(answers: Callable[[dict[str, Any]], Any] = bad_request) -> int:
            model[:] = [answers]
            return main(["check", "--base", "main", "--cache", "cache.jsonl"])

        yield run


def _rows(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (out / "samples.jsonl").read_text().splitlines()]


@pytest.mark.long
def test_what_stands_at_the_end_of_a_long_answer_is_checked(made):
    whole = PADDING + "at the very end"
    assert _check(lambda body: whole) == 0
    for row in _rows(made.path / ".gatekeeper/out"):
        assert [check["passed"] for check in row["checks"]] == [True]
        assert row["output_length"] == len(whole)
        assert row["output_sha256"] == hashlib.sha256(whole.encode()).hexdigest()
        assert row["output_raw"].startswith(PADDING[:100_000] + "... [cut")
        assert len(row["output"]) < 100_100


def test_a_short_answer_has_no_length_of_its_own(made):
    assert _check(lambda body: "at the very end") == 0
    rows = _rows(made.path / ".gatekeeper/out")
    assert {(row["output_length"], row["output_sha256"]) for row in rows} == {(None, None)}


@pytest.mark.long
def test_a_cut_answer_is_not_replayed(made):
    assert _check(lambda body: PADDING + "at the very end") == 0
    samples = ".gatekeeper/out/samples.jsonl"
    made.write("kept.jsonl", (made.path / samples).read_text())
    assert main(["check", "--base", "main", "--replay", "kept.jsonl", "--out", "again"]) == 3
    errors = {row["error"] for row in _rows(made.path / "again")}
    assert len(errors) == 1
    assert "cannot evaluate a part" in errors.pop()


@pytest.mark.long
def test_a_repeated_job_gets_the_verdict_of_the_first(made, checks):
    """One answer is too long to be kept, and a later draw of every answer would pass."""
    bad = PADDING + "of nothing"

    def unlucky(body: dict[str, Any]) -> str:
        text = body["messages"][-1]["content"]
        if HARMLESS[:20] not in text:
            return PADDING + "at the very end" if "item 3." in text else "at the very end"
        return bad if "item 3." in text else "no"

    assert checks(unlucky) == 1
    first = json.loads((made.path / ".gatekeeper/out/result.json").read_text())
    for _ in range(3):
        assert checks() == 1
        again = json.loads((made.path / ".gatekeeper/out/result.json").read_text())
        assert again["calls"]["made"] == 0
        assert _reasons(again) == _reasons(first)


@pytest.mark.long
@pytest.mark.parametrize("good", [True, False])
def test_the_outcome_of_a_long_answer_counts_again(made, checks, good):
    """The end decides, and the cache does not hold the end."""
    ends = {True: "at the very end", False: "of nothing"}
    code = 0 if good else 1

    def answers(body: dict[str, Any]) -> str:
        is_head = HARMLESS[:20] in body["messages"][-1]["content"]
        return PADDING + ends[good or not is_head]

    assert checks(answers) == code
    rows = _rows(made.path / ".gatekeeper/out")
    assert (made.path / "cache.jsonl").stat().st_size < 500_000
    assert checks() == code
    assert [row["checks"] for row in _rows(made.path / ".gatekeeper/out")] == [
        row["checks"] for row in rows
    ]


@pytest.mark.long
def test_other_checks_of_a_long_answer_are_unknown_and_not_drawn_again(made, checks, capsys):
    assert checks(lambda body: PADDING + "at the very end") == 0
    laxer = edited(ENDS, "value: at the very end", "value: work")
    assert laxer != ENDS
    made.commit("laxer", {"contracts/sentiment.yaml": laxer})
    assert checks() == 3
    said = capsys.readouterr().out
    assert "kept only its beginning" in said
    result = json.loads((made.path / ".gatekeeper/out/result.json").read_text())
    assert result["calls"]["made"] == 0


def test_a_long_answer_within_a_conversation_is_kept_with_its_outcome(made, checks):
    turns = '    - {id: talk, vars: {review: "I love item 1."}, turns: [more, "and more"]}\n'
    written = edited(ENDS, "fixtures:\n  - file: sentiment.fixtures.jsonl\n", f"fixtures:\n{turns}")
    first = edited(written, "value: at the very end", "value: at the very end, turn: 1")
    assert len({ENDS, written, first}) == 3
    made.git("checkout", "--quiet", "main")
    made.commit("talk", {"contracts/sentiment.yaml": first})
    made.git("checkout", "--quiet", "change")
    made.git("rebase", "--quiet", "main")

    def answers(body: dict[str, Any]) -> str:
        return "short" if len(body["messages"]) > 1 else PADDING + "at the very end"

    code = checks(answers)
    rows = _rows(made.path / ".gatekeeper/out")
    assert [check["passed"] for row in rows for check in row["checks"]] == [True, True]
    assert checks() == code
    again = _rows(made.path / ".gatekeeper/out")
    assert [row["checks"] for row in again] == [row["checks"] for row in rows]


def _reasons(result: dict[str, Any]) -> list[Any]:
    return [contract["reasons"] for contract in result["contracts"]]


@pytest.mark.long
def test_two_runs_with_cut_answers_can_be_compared(made):
    for out in ("one", "two"):
        assert _check(lambda body: PADDING + "at the very end", "--out", out) == 0
    assert main(["diff", "one", "two", "--out", "diff"]) == 0
    found = {(row["output_length"], row["output_sha256"]) for row in _rows(made.path / "diff")}
    assert found == {(r["output_length"], r["output_sha256"]) for r in _rows(made.path / "one")}


@pytest.mark.long
@pytest.mark.parametrize("kind", ["failing", "characters of four bytes", "refused", "names"])
def test_the_reports_stay_small(made, kind):
    def answers(body: dict[str, Any]) -> Any:
        if kind == "refused":
            return bad_request("x" * 1_000_000)
        if kind == "names":
            return Reply("ok", model="m" * 1_000_000)
        text = "😀" * 300_000 if kind != "failing" else PADDING * 3
        return Reply(text, system_fingerprint="f" * 1_000_000)

    _check(answers)
    sizes = {f.name: f.stat().st_size for f in (made.path / ".gatekeeper/out").iterdir()}
    # 48 samples of 100,000 characters, twice each; a result has 20,000 of each text.
    most = 48 * 2 * 420_000
    assert sizes["samples.jsonl"] < most
    assert sizes["result.json"] < most / 5


def test_a_name_that_each_sample_would_repeat_has_a_limit(made):
    long = edited(ENDS, "type: contains", f"name: {'n' * 201}, type: contains")
    made.commit("long name", {"contracts/sentiment.yaml": long})
    assert main(["check", "--base", "main"]) == 2
    made.commit("name", {"contracts/sentiment.yaml": long.replace("n" * 201, "n" * 200)})
    assert _check(lambda body: "at the very end") == 0
    model = edited(ENDS, "openai/gpt-4o-mini", "openai/" + "m" * 500)
    made.commit("model", {"contracts/sentiment.yaml": model})
    assert main(["check", "--base", "main"]) == 2
