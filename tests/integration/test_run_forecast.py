"""The forecast of a run in its reports: that of `affected`, for the calls that are left to make."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from support.edited_text import edited
from support.git_repository import GitRepository
from support.judged_contract import CONTRACT as JUDGED
from support.judged_contract import FILES as JUDGED_FILES
from support.judged_contract import RUDE_PROMPT, check, start_server, with_server
from support.judged_contract import propose as propose_judged
from support.judges import verdict
from support.openai_server import OpenAIServer
from support.pull_request import CONTRACT, FILES, HARMLESS, PROMPT, answer
from support.random_model import BASE, HEAD, WORDS, Model, revision
from support.random_model import check as check_by_chance

from gatekeeper.cli.main import main
from gatekeeper.gate import work

ADAPTIVE = edited(
    CONTRACT,
    "samples: 1, mode: fixed",
    "samples: 3, mode: adaptive",
    "{temperature: 0}",
    "{temperature: 0, max_tokens: 9}\ngate: {margin: 0.4, claim: inputs}",
)
CALLS = 2 * 3 * 24


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIServer]:
    yield from start_server(monkeypatch)


@pytest.fixture
def proposed(
    git_repository: Callable[..., GitRepository], server: OpenAIServer
) -> Callable[[str], GitRepository]:
    server._answer = answer

    def make(policy: str = "") -> GitRepository:
        made = git_repository("proposed")
        files = {"contracts/sentiment.yaml": ADAPTIVE, ".github/gatekeeper.yml": policy}
        return made.propose({PROMPT: HARMLESS}, {**FILES, **files})

    return make


def estimate(repository: GitRepository, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    capsys.readouterr()
    main(["affected", "--repo", str(repository.path), "--base", "main", "--head", "pr", "--json"])
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def tokens(amounts: Mapping[str, int]) -> int:
    return amounts["prompt_tokens"] + amounts["completion_tokens"]


def test_a_check_reports_what_affected_forecast(
    proposed: Callable[..., GitRepository], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    repository = proposed("limits: {concurrency: 4}\n")
    before = estimate(repository, capsys)
    _, result = check(repository, tmp_path)
    expected, most = result["forecast"]["expected"], result["forecast"]["most"]
    assert (expected["calls"], most["calls"]) == (before["expected_calls"], before["calls"])
    assert expected["calls"] < most["calls"] == CALLS
    assert (tokens(expected), tokens(most)) == (before["tokens"], before["most_tokens"])
    assert most["completion_tokens"] == CALLS * 9
    assert expected["cost_usd"] == pytest.approx(before["cost_usd"])
    assert most["cost_usd"] == pytest.approx(before["worst_cost_usd"])
    assert result["most_cost_usd"] == most["cost_usd"]
    said = (
        f"Forecast before the first call: expected {expected['calls']} calls, "
        f"{before['tokens']:,} tokens"
    )
    comment = (tmp_path / "comment.md").read_text("utf-8")
    assert comment.count(said) == 1
    assert "forecast before the first call: expected" in capsys.readouterr().out


def test_the_cost_limit_bounds_the_forecast(
    proposed: Callable[..., GitRepository], tmp_path: Path
) -> None:
    _, result = check(proposed("limits: {cost_usd: 0.0002}\n"), tmp_path)
    amounts = [result["forecast"][name]["cost_usd"] for name in ("expected", "most")]
    assert amounts == [0.0002, 0.0002]


def test_a_replay_has_no_forecast(proposed: Callable[..., GitRepository], tmp_path: Path) -> None:
    repository, first, again = proposed(), tmp_path / "first", tmp_path / "again"
    check(repository, first)
    _, result = check(repository, again, "--replay", str(first / "samples.jsonl"))
    assert (result["forecast"], result["most_cost_usd"]) == (None, None)
    assert "orecast" not in (again / "comment.md").read_text("utf-8")


def test_answers_of_the_cache_are_no_part_of_the_forecast(tmp_path: Path) -> None:
    cache = tmp_path / "cache.jsonl"
    first = check_by_chance(Model(), cache).forecast
    assert first is not None
    assert (first.expected.calls, first.most.calls) == (48, 48)
    assert (first.expected.cost_usd, first.most.cost_usd) == (None, None)
    assert check_by_chance(Model(), cache).forecast is None


def test_part_of_the_answers_leaves_part_of_the_calls(tmp_path: Path) -> None:
    """One of two contracts is changed again after its samples were kept."""
    cache = tmp_path / "cache.jsonl"
    both = [revision(arm, sha, WORDS, contracts=2) for arm, sha in (("Base", "b"), ("Head", "c"))]
    check_by_chance(Model(), cache, BASE, HEAD)
    found = check_by_chance(Model(), cache, *both).forecast
    assert found is not None
    assert found.most.calls == 48


def test_judges_are_forecast_without_writing_their_questions_again(
    git_repository: Callable[..., GitRepository],
    server: OpenAIServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    repository = propose_judged(git_repository)
    before = estimate(repository, capsys)
    written: list[int] = []
    forecast_judges = work.forecast_judges

    def counted(*jobs: Any) -> Any:
        written.append(1)
        return forecast_judges(*jobs)

    monkeypatch.setattr(work, "forecast_judges", counted)
    _, result = check(repository, tmp_path)
    assert len(server.requests) == 96
    expected, most = (result["forecast"][name] for name in ("expected", "most"))
    assert expected["calls"] == before["expected_calls"] == 96
    assert expected["cost_usd"] == pytest.approx(min(before["cost_usd"], 2.0))  # the limit
    # Each fresh sample of a fixture that seems to have broken is graded as well.
    fresh = 2 * (24 * 2 + 10 * 30 + 10 * 10)
    assert most["calls"] == before["calls"] == 96 + 2 * fresh
    assert before["judge_calls"] == 48 + fresh
    assert min(before["worst_cost_usd"], 2.0) <= most["cost_usd"] <= 2.0
    assert len(written) == 1


@pytest.mark.long
def test_the_cache_leaves_only_the_questions_that_judges_have_not_answered(
    git_repository: Callable[..., GitRepository], server: OpenAIServer, tmp_path: Path
) -> None:
    """A new rubric needs no new sample, but every sample is graded again."""
    repository, cache = propose_judged(git_repository), str(tmp_path / "cache.jsonl")
    check(repository, tmp_path, "--cache", cache)
    _, again = check(repository, tmp_path, "--cache", cache)
    assert (again["calls"]["made"], again["forecast"]) == (0, None)
    stricter = edited(JUDGED, "is polite.", "is very polite.")
    repository.commit("stricter", {"contracts/polite.yaml": stricter})
    _, graded = check(repository, tmp_path, "--cache", cache)
    found = graded["forecast"]
    assert graded["calls"]["made"] == found["expected"]["calls"] == 48
    assert 0 < found["expected"]["cost_usd"] < found["most"]["cost_usd"]
    assert found["most"]["calls"] >= 48


def test_comparisons_of_samples_in_the_cache_bound_the_forecast(
    git_repository: Callable[..., GitRepository], server: OpenAIServer, tmp_path: Path
) -> None:
    repository, cache = git_repository("compared"), str(tmp_path / "cache.jsonl")
    policy = {".github/gatekeeper.yml": "allow: {weakening: true}\n"}
    repository.propose({"prompts/polite.txt": RUDE_PROMPT}, {**JUDGED_FILES, **policy})
    check(repository, tmp_path, "--cache", cache)
    with_server(server, lambda body: verdict("tie"))
    prefer = edited(JUDGED, "judge: rubric, criteria", "judge: prefer, criteria")
    repository.commit("compare", {"contracts/polite.yaml": prefer})
    _, found = check(repository, tmp_path, "--cache", cache)
    assert found["calls"]["cached"] == 48
    # Ties end the comparison early.
    assert 0 < found["calls"]["made"] <= found["forecast"]["most"]["calls"] == 48
