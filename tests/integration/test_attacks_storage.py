"""A server answers with far more than anybody reads: all is evaluated, and little is kept."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.git_repository import GitRepository
from support.openai_server import OpenAIServer, Reply, bad_request
from support.pull_request import CONTRACT, FILES, HARMLESS, PROMPT

from gatekeeper.cli.main import main

PADDING = "All work and no play makes a dull answer. " * 4_000
CHECKS = "  - {type: contains, value: at the very end}\n"
ENDS = CONTRACT.replace('  - {type: equals, value: "{{ expected }}"}\n', CHECKS)


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
    with OpenAIServer(answers) as server, pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_BASE_URL", server.url)
        return main(["check", "--base", "main", *arguments])


def _rows(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (out / "samples.jsonl").read_text().splitlines()]


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


def test_a_cut_answer_is_neither_replayed_nor_cached(made, capsys):
    assert _check(lambda body: PADDING + "at the very end", "--cache", "cache.jsonl") == 0
    assert "one answer is too long" in capsys.readouterr().out
    assert not (made.path / "cache.jsonl").exists()
    samples = ".gatekeeper/out/samples.jsonl"
    made.write("kept.jsonl", (made.path / samples).read_text())
    assert main(["check", "--base", "main", "--replay", "kept.jsonl", "--out", "again"]) == 3
    errors = {row["error"] for row in _rows(made.path / "again")}
    assert len(errors) == 1
    assert "cannot evaluate a part" in errors.pop()


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
    long = ENDS.replace("type: contains", f"name: {'n' * 201}, type: contains")
    made.commit("long name", {"contracts/sentiment.yaml": long})
    assert main(["check", "--base", "main"]) == 2
    made.commit("name", {"contracts/sentiment.yaml": long.replace("n" * 201, "n" * 200)})
    assert _check(lambda body: "at the very end") == 0
    model = ENDS.replace("openai/gpt-4o-mini", "openai/" + "m" * 500)
    made.commit("model", {"contracts/sentiment.yaml": model})
    assert main(["check", "--base", "main"]) == 2
