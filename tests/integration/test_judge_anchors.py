"""A full suite grades the anchors of a calibration again: a scripted judge that drifts."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from support.edited_text import edited
from support.git_repository import GitRepository
from support.judges import verdict
from support.openai_server import Fault, OpenAIServer

from gatekeeper.cli.main import main

WORDS = [f"word{number}" for number in range(24)]
CONTRACT = """\
contract: 1
name: polite
prompt: ../prompts/polite.txt
model: openai/gpt-4o-mini
params: {temperature: 0, max_tokens: 20}
judge: {model: openai/gpt-4o, params: {max_tokens: 200}}
fixtures:
  - file: words.csv
checks:
  - {judge: rubric, criteria: The output is polite., name: is polite}
sampling: {samples: 1, mode: fixed}
slo: {success_rate: 0.9}
"""
FILES = {
    "contracts/polite.yaml": CONTRACT,
    "contracts/words.csv": "id,word\n" + "".join(f"{word},{word}\n" for word in WORDS),
    "prompts/polite.txt": "Say {{ word }} politely.\n",
}
CALIBRATION = "contracts/polite.judge.json"


class Judge:
    """Passes what is polite, and everything once it is `lenient`, or nothing once it is `strict`.
    `asked` counts its questions, and after `patience` of them it refuses the key."""

    def __init__(self) -> None:
        self.mood = "fair"
        self.patience = 1_000
        self.asked = 0

    def __call__(self, body: Mapping[str, Any]) -> str | Fault:
        text = body["messages"][-1]["content"]
        if body["model"] != "gpt-4o":
            return f"{text.split()[1]}, please"
        self.asked += 1
        if self.asked > self.patience:
            return Fault("status", 401)
        fair = "please" in text.split("<data output")[1].split("\n")[1]
        return verdict("yes" if {"fair": fair}.get(self.mood, self.mood == "lenient") else "no")


@pytest.fixture
def judge() -> Judge:
    return Judge()


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, judge: Judge) -> Iterator[OpenAIServer]:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789abcdef")
    with OpenAIServer(judge) as started:
        yield started


@pytest.fixture
def repository(
    git_repository: Callable[..., GitRepository], server: OpenAIServer, tmp_path: Path, judge: Judge
) -> GitRepository:
    """A contract whose judge was calibrated with forty labels and twenty anchors."""
    made = git_repository("calibrated")
    made.commit("base", FILES)
    rows = []
    for number in range(20):
        polite, rude = f"word{number}, please", f"go away {number}!"
        rows.append({"fixture": WORDS[number], "output": polite, "verdict": "pass"})
        rows.append({"fixture": WORDS[number], "output": rude, "verdict": "fail"})
    labels = tmp_path / "labels.jsonl"
    labels.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    command = ["judge", "--repo", str(made.path), "calibrate", "polite", "--labels", str(labels)]
    assert main([*command, "--anchors", "20"]) == 0
    made.commit("calibrate", {CALIBRATION: (made.path / CALIBRATION).read_text()})
    judge.asked = 0
    return made


def run(repository: GitRepository, tmp_path: Path, *more: str) -> tuple[int, dict[str, Any]]:
    out = tmp_path / "out"
    code = main(["run", "--repo", str(repository.path), "--out", str(out), *more])
    return code, json.loads((out / "result.json").read_text("utf-8"))["contracts"][0]


def codes(contract: Mapping[str, Any]) -> dict[str, str]:
    return {reason["code"]: reason["verdict"] for reason in contract["reasons"]}


def test_half_of_the_anchors_are_outputs_that_people_pass(repository: GitRepository) -> None:
    kept = json.loads((repository.path / CALIBRATION).read_text("utf-8"))
    labels = kept["checks"]["is polite"]["labels"]
    anchors = [label for label in labels if "text" in label]
    assert len(labels) == 40
    assert [anchor["human"] for anchor in anchors].count(True) == 10
    assert len(anchors) == 20


def test_a_steady_judge_costs_a_call_for_each_anchor_and_is_not_mentioned(
    repository: GitRepository, judge: Judge, tmp_path: Path
) -> None:
    history = tmp_path / "history.jsonl"
    code, contract = run(repository, tmp_path, "--history", str(history))
    assert code == 0
    assert judge.asked == 24 + 20
    assert json.loads(history.read_text("utf-8"))["asked"]["openai/gpt-4o"][0] == 44
    (found,) = contract["anchors"]
    assert (found["anchors"], found["agreed_before"], found["agrees_now"]) == (20, 20, 20)
    assert "judge_drifted" not in codes(contract)
    result = json.loads((tmp_path / "out" / "result.json").read_text("utf-8"))
    assert result["calls"]["judge"]["made"] == 44
    assert result["calls"]["made"] == result["forecast"]["most"]["calls"] == 24 + 44


def test_a_strict_judge_is_no_fault_of_the_prompt(
    repository: GitRepository, judge: Judge, tmp_path: Path
) -> None:
    judge.mood = "strict"
    _, contract = run(repository, tmp_path)
    assert codes(contract)["judge_drifted"] == "inconclusive"
    assert "fail" not in codes(contract).values()
    (slo,) = contract["slo"]
    assert slo["outdated"]
    assert slo["met"] is None
    (found,) = contract["anchors"]
    assert (found["lost"], found["gained"]) == (10, 0)
    summary = (tmp_path / "out" / "summary.md").read_text("utf-8")
    assert "agrees with people on 10 of 20 labelled outputs" in summary


def test_a_limit_leaves_the_anchors_open_and_the_verdict_as_it_is(
    repository: GitRepository, judge: Judge, tmp_path: Path
) -> None:
    repository.commit("policy", {".github/gatekeeper.yml": "limits: {calls: 55}\n"})
    judge.mood = "lenient"
    code, contract = run(repository, tmp_path)
    assert code == 0
    assert contract["anchors"] == []
    assert "limit" not in codes(contract)


def test_a_judge_that_cannot_be_asked_about_anchors_changes_no_verdict(
    repository: GitRepository, judge: Judge, tmp_path: Path
) -> None:
    judge.patience = 24
    code, contract = run(repository, tmp_path)
    assert (code, contract["anchors"]) == (0, [])


def test_anchors_of_fixtures_that_are_gone_are_left_out(
    repository: GitRepository, judge: Judge, tmp_path: Path
) -> None:
    words = "".join(f"{word},{word}\n" for word in WORDS[20:])
    repository.commit("fewer", {"contracts/words.csv": f"id,word\n{words}"})
    _, contract = run(repository, tmp_path)
    assert (judge.asked, contract["anchors"]) == (4, [])


def test_a_check_of_a_change_does_not_ask_about_anchors(
    repository: GitRepository, judge: Judge, tmp_path: Path
) -> None:
    base = repository.head()
    repository.commit("change", {"prompts/polite.txt": "Say {{ word }} very politely.\n"})
    out = ["--out", str(tmp_path / "out")]
    main(["check", "--repo", str(repository.path), "--base", base, *out])
    contract = json.loads((tmp_path / "out" / "result.json").read_text("utf-8"))["contracts"][0]
    assert contract["anchors"] == []
    # Equal outputs of both arms are graded once.
    assert judge.asked == 24


@pytest.mark.long
def test_two_nights_make_a_drift_and_its_nights_burn_no_budget(
    repository: GitRepository, judge: Judge, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    history = tmp_path / "history.jsonl"
    past = ["--history", str(history)]
    drift = ["drift", "--repo", str(repository.path), *past, "--json"]

    def state() -> tuple[int, dict[str, Any]]:
        capsys.readouterr()
        code = main(drift)
        (found,) = json.loads(capsys.readouterr().out)["judges"]
        return code, found

    run(repository, tmp_path, *past)
    assert (state()[0], state()[1]["status"]) == (0, "steady")
    judge.mood = "strict"
    run(repository, tmp_path, *past)
    assert (state()[0], state()[1]["status"]) == (0, "watch")
    run(repository, tmp_path, *past)
    code, found = state()
    assert (code, found["status"], found["runs"]) == (1, "drifted", 3)
    assert (found["agreed_before"], found["agrees_now"]) == (20, 10)
    main(["budget", "--repo", str(repository.path), *past, "--json"])
    (budget,) = json.loads(capsys.readouterr().out)["contracts"][0]["error_budgets"]
    assert (budget["events"], budget["spent"]) == (24, 0)
    main(drift[:-1])
    shown = capsys.readouterr()
    assert "grades differently since" in " ".join((shown.out + shown.err).split())
    judge.mood = "fair"
    run(repository, tmp_path, *past)
    assert state()[1]["status"] == "steady"


def test_a_text_that_is_not_the_labelled_output_is_refused(
    repository: GitRepository, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = edited((repository.path / CALIBRATION).read_text("utf-8"), "please", "thanks")
    repository.commit("damage", {CALIBRATION: text})
    assert main(["run", "--repo", str(repository.path), "--out", str(tmp_path)]) == 2
    assert CALIBRATION in capsys.readouterr().err
