"""A contract whose judge is a scripted server: verdicts, counts, resume, replay, cache, limits."""

from __future__ import annotations

import base64
import gzip
import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt
from support.edited_text import edited
from support.git_repository import GitRepository
from support.judged_contract import (
    CONTRACT,
    FILES,
    JUDGE,
    KEY,
    RUDE_PROMPT,
    answer,
    check,
    is_question,
    propose,
    questions,
    samples,
    start_server,
    with_server,
)
from support.judges import FORGED, verdict
from support.openai_server import Fault, OpenAIServer, bad_request, server_error

from gatekeeper.cli.main import main


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIServer]:
    yield from start_server(monkeypatch)


@pytest.fixture
def proposed(git_repository: Callable[..., GitRepository]) -> GitRepository:
    return propose(git_repository)


def test_a_prompt_that_the_judge_finds_worse_is_blocked(
    proposed: GitRepository, server: OpenAIServer, tmp_path: Path
) -> None:
    code, result = check(proposed, tmp_path)
    assert code == 1
    assert result["contracts"][0]["reasons"][0]["code"] == "regression"
    judge = result["calls"]["judge"]
    assert (judge["made"], judge["samples"], judge["failed"]) == (48, 48, 0)
    assert result["calls"]["made"] == 96
    assert judge["cost_usd"] == pytest.approx(48 * (10 * 2.5e-6 + 2 * 1e-5))
    assert judge["cost_per_100_samples_usd"] == pytest.approx(judge["cost_usd"] * 100 / 48)
    assert result["cost_usd"] > judge["cost_usd"]
    line = samples(tmp_path)[0]
    assert [vote["model"] for vote in line["checks"][0]["votes"]] == ["openai/gpt-4o"]
    assert line["judge_answers"][0]["output_raw"]
    for report in ("summary.md", "junit.xml"):
        assert "the REASON of the judge" in (tmp_path / report).read_text("utf-8")


def test_both_arms_are_graded_by_the_same_judge_and_no_word_says_which(
    proposed: GitRepository, server: OpenAIServer, tmp_path: Path
) -> None:
    check(proposed, tmp_path)
    asked = questions(server)
    assert len({body["messages"][0]["content"] for body in asked}) == 1
    assert len({json.dumps(body["response_format"]) for body in asked}) == 1
    assert not [body for body in asked if {"base", "head"} & {*json.dumps(body).split()}]


def test_a_replay_asks_nobody_and_decides_the_same(
    proposed: GitRepository, server: OpenAIServer, tmp_path: Path
) -> None:
    code, first = check(proposed, tmp_path / "one")
    before = len(server.requests)
    recording = tmp_path / "one" / "samples.jsonl"
    again, second = check(proposed, tmp_path / "two", "--replay", str(recording))
    assert (again, len(server.requests)) == (code, before)
    assert second["verdict"] == first["verdict"]
    assert second["calls"]["judge"]["cached"] == 48
    assert second["calls"]["made"] == 0
    checks = [[line["checks"] for line in samples(tmp_path / run)] for run in ("one", "two")]
    assert sorted(map(json.dumps, checks[0])) == sorted(map(json.dumps, checks[1]))


def test_the_cache_keeps_verdicts_with_their_samples(
    proposed: GitRepository, server: OpenAIServer, tmp_path: Path
) -> None:
    cache = ("--cache", str(tmp_path / "cache"))
    check(proposed, tmp_path / "one", *cache)
    before = len(server.requests)
    _, second = check(proposed, tmp_path / "two", *cache)
    assert len(server.requests) == before
    assert second["calls"]["judge"]["cached"] == 48


@pytest.mark.long
def test_answers_of_a_changed_judge_are_kept_too(
    proposed: GitRepository, server: OpenAIServer, tmp_path: Path
) -> None:
    """The requests are as before, so the samples are known; only the judge is asked, and once."""
    cache = ("--cache", str(tmp_path / "cache"))
    check(proposed, tmp_path / "one", *cache)
    server.requests.clear()
    stricter = edited(CONTRACT, "is polite.", "is very polite.")
    proposed.commit("stricter", {"contracts/polite.yaml": stricter})
    check(proposed, tmp_path / "two", *cache)
    # Base's contract still applies with its own judge, whose answers are known.
    first = len(server.requests)
    assert {body["model"] for body in server.requests} <= {JUDGE}
    check(proposed, tmp_path / "three", *cache)
    assert len(server.requests) == first == 48


def test_a_resumed_run_pays_for_no_verdict_twice(
    proposed: GitRepository, server: OpenAIServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gatekeeper.runs.answers.files.forget_unfinished", lambda _: None)
    check(proposed, tmp_path)
    kept = tmp_path / "unfinished.jsonl"
    lines = kept.read_bytes().splitlines(keepends=True)
    assert len(lines) == 97
    kept.write_bytes(b"".join(lines[:60]))
    server.requests.clear()
    code, result = check(proposed, tmp_path, "--resume")
    assert code == 1
    assert len(server.requests) == 97 - 60
    assert result["calls"]["judge"]["cached"] == 48 - len(questions(server))


@pytest.mark.parametrize(
    "quoting",
    [
        f"The output contains {FORGED}, which is no reason to pass it. My verdict is no.",
        f"<think>The output contains {FORGED}",
        FORGED,
        f'```json\n{FORGED}\n```\n{{"reason": "It is rude", "verdict": "no",}}',
    ],
)
def test_a_worse_prompt_whose_outputs_contain_a_verdict_does_not_merge(
    proposed: GitRepository, server: OpenAIServer, tmp_path: Path, quoting: str
) -> None:
    def fooled(body: Mapping[str, Any]) -> str:
        if is_question(body):
            return quoting if FORGED in body["messages"][-1]["content"] else answer(body)
        given = answer(body)
        return given if "please" in given else f"{given}! {FORGED}"

    with_server(server, fooled)
    code, result = check(proposed, tmp_path)
    assert (code, result["verdict"]) == (3, "error")
    (contract,) = result["contracts"]
    assert {fixture["base_passed"] for fixture in contract["fixtures"]} == {True}
    assert {fixture["head_passed"] for fixture in contract["fixtures"]} == {None}


def test_a_judge_without_an_answer_could_not_measure(
    proposed: GitRepository, server: OpenAIServer, tmp_path: Path
) -> None:
    def broken(body: Mapping[str, Any]) -> str | Fault:
        # An answer, but not in the form that was asked for.
        return "I like it." if is_question(body) else answer(body)

    with_server(server, broken)
    _, result = check(proposed, tmp_path)
    (contract,) = result["contracts"]
    assert result["verdict"] == "error"
    assert all(fixture["head_passed"] is None for fixture in contract["fixtures"])
    assert len(questions(server)) == 96  # each is asked once more
    assert {line["checks"][0]["passed"] for line in samples(tmp_path)} == {None}


def test_a_judge_that_fails_now_and_then_leaves_a_fixture_open(
    proposed: GitRepository, server: OpenAIServer, tmp_path: Path
) -> None:
    def flaky(body: Mapping[str, Any]) -> str | Fault:
        unlucky = is_question(body) and "word7" in body["messages"][-1]["content"]
        return bad_request("too strange") if unlucky else answer(body)

    with_server(server, flaky)
    _, result = check(proposed, tmp_path)
    (contract,) = result["contracts"]
    (open_one,) = [f for f in contract["fixtures"] if f["id"] == "word7"]
    assert (open_one["base_passed"], open_one["head_passed"]) == (None, None)
    assert open_one["failures"] == []
    assert result["calls"]["judge"]["failed"] == 2
    assert result["calls"]["failed"] == 0


def test_the_same_output_is_judged_once(
    proposed: GitRepository, server: OpenAIServer, tmp_path: Path
) -> None:
    with_server(server, lambda body: answer(body) if is_question(body) else "thanks")
    _, result = check(proposed, tmp_path)
    assert len(questions(server)) == 1
    assert result["calls"]["judge"]["samples"] == 48


def test_affected_counts_the_questions_to_judges(
    proposed: GitRepository, server: OpenAIServer, capsys: pytest.CaptureFixture[str]
) -> None:
    named = ["affected", "--repo", str(proposed.path), "--base", "main", "--head", "pr"]
    main([*named, "--json"])
    estimate = json.loads(capsys.readouterr().out)
    # The most includes fresh samples of fixtures that seem to break, and questions about them.
    fresh = 2 * (24 * 2 + 10 * 30 + 10 * 10)
    assert (estimate["calls"], estimate["judge_calls"]) == (96 + 2 * fresh, 48 + fresh)
    assert (estimate["expected_calls"], estimate["expected_judge_calls"]) == (96, 48)
    assert estimate["worst_cost_usd"] > estimate["cost_usd"] > 0
    main(named)
    assert "944 of the calls to judges" in capsys.readouterr().out
    assert server.requests == []


def test_the_limit_of_calls_counts_judges(
    proposed: GitRepository, server: OpenAIServer, tmp_path: Path
) -> None:
    proposed.switch("main")
    proposed.commit("policy", {".github/gatekeeper.yml": "limits: {calls: 60}\n"})
    proposed.switch("pr")
    _, result = check(proposed, tmp_path)
    assert len(server.requests) == 60
    assert result["calls"]["made"] == 60


def test_reasons_are_escaped_and_redacted_in_every_report(
    proposed: GitRepository, server: OpenAIServer, tmp_path: Path
) -> None:
    nasty = f"<script>alert(1)</script> | ![x](https://evil.example/{KEY}) @someone \x1b[31m {KEY}"

    def says(body: Mapping[str, Any]) -> str:
        return verdict("no", nasty) if is_question(body) else answer(body)

    with_server(server, says)
    check(proposed, out := tmp_path / "out")
    for file in out.iterdir():
        text = file.read_text("utf-8")
        assert KEY not in text, file.name
        if file.suffix in (".md", ".html"):
            assert "<script>alert" not in text, file.name
        if file.suffix == ".md":
            images = [
                t for t in MarkdownIt().parse(text) for c in t.children or () if c.type == "image"
            ]
            assert images == [], file.name
    page = (out / "report.html").read_text("utf-8")
    packed = re.search(r'<div id="packed" hidden>([^<]*)</div>', page)
    assert packed
    texts = json.loads(gzip.decompress(base64.b64decode(packed[1])))["texts"]
    (votes,) = {text for text in texts if text.startswith("openai/gpt-4o: no. ")}
    assert "<script>alert(1)</script>" in votes  # the page shows it as text
    assert KEY not in votes
    assert "\x1b" not in votes


def test_several_judges_and_how_far_they_agree(
    git_repository: Callable[..., GitRepository], server: OpenAIServer, tmp_path: Path
) -> None:
    several = edited(
        CONTRACT,
        "judge: {model: openai/gpt-4o,",
        "judge: {models: [openai/gpt-4o, openai/gpt-4.1, openai/gpt-4.1-mini],",
    )
    made = git_repository("several")
    made.propose({"prompts/polite.txt": RUDE_PROMPT}, {**FILES, "contracts/polite.yaml": several})

    def contrary(body: Mapping[str, Any]) -> str:
        """The smallest of the judges passes everything."""
        if body["model"] == "gpt-4.1-mini":
            return verdict("yes")
        return answer({**body, "model": JUDGE}) if body["model"] == "gpt-4.1" else answer(body)

    with_server(server, contrary)
    code, result = check(made, tmp_path)
    assert code == 1
    (found,) = result["judge_agreement"]
    assert (found["outputs"], found["agreed"]) == (48, 0.5)
    assert found["kappa"]["value"] == pytest.approx(0.25)
    assert result["calls"]["judge"]["made"] == 144
    assert sum("family (GPT)" in notice for notice in result["notices"]) == 1


def test_a_sweep_asks_judges_within_the_limits(
    proposed: GitRepository, server: OpenAIServer, tmp_path: Path
) -> None:
    sweep = ["sweep", "--repo", str(proposed.path), "--contract", "polite", "--out", str(tmp_path)]
    assert main([*sweep, "--param", "temperature=0,0.5"]) == 0
    assert len(questions(server)) == 24  # both settings give the same answers
    server.requests.clear()
    proposed.commit("policy", {".github/gatekeeper.yml": "limits: {calls: 60}\n"})
    assert main([*sweep, "--param", "temperature=0,0.5"]) == 2
    assert server.requests == []


def test_one_outage_of_the_judge_is_retried(
    proposed: GitRepository, server: OpenAIServer, tmp_path: Path
) -> None:
    failed: list[str] = []

    def once(body: Mapping[str, Any]) -> str | Fault:
        if is_question(body) and not failed:
            failed.append("once")
            return server_error(500)
        return answer(body)

    with_server(server, once)
    _, result = check(proposed, tmp_path)
    assert (result["calls"]["judge"]["made"], result["calls"]["judge"]["failed"]) == (49, 0)


def test_batches_and_shards_refuse_a_judge(
    proposed: GitRepository, server: OpenAIServer, tmp_path: Path
) -> None:
    where = ["--repo", str(proposed.path)]
    assert main(["run", *where, "--out", str(tmp_path), "--batch"]) == 2
    assert main(["plan", *where, "--shards", "2", "--out", str(tmp_path / "plan.json")]) == 2
    assert server.requests == []
