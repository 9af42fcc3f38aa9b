"""An objective on the time to first token: both arms are streamed alike, and what cannot be timed
is said."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.edited_text import edited
from support.git_repository import GitRepository
from support.openai_server import OpenAIServer
from support.pull_request import CONTRACT, FILES, HARMLESS, PROMPT, answer

from gatekeeper.cli.main import main

TIMED = CONTRACT + "slo: {ttft_p95_ms: 60000}\n"
CHECKED = edited(
    CONTRACT,
    "checks:\n",
    "checks:\n  - {type: any_of, severity: warn, checks: [{type: ttft, max_ms: 60000}]}\n",
)
CONTRACT_FILE = "contracts/sentiment.yaml"
Propose = Callable[[str, str], GitRepository]


@pytest.fixture
def propose(
    git_repository: Callable[..., GitRepository], monkeypatch: pytest.MonkeyPatch
) -> Propose:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789abcdef")

    def make(base: str, head: str) -> GitRepository:
        return git_repository("proposed").propose(
            {PROMPT: HARMLESS, CONTRACT_FILE: head}, {**FILES, CONTRACT_FILE: base}
        )

    return make


def check(made: GitRepository, out: Path, *more: str) -> int:
    arguments = ["--repo", str(made.path), "--base", "main", "--head", "pr", "--out", str(out)]
    return main(["check", *arguments, *more])


def read(out: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    result = json.loads((out / "result.json").read_text("utf-8"))
    lines = (out / "samples.jsonl").read_text("utf-8").splitlines()
    return result["contracts"][0], [json.loads(line) for line in lines]


@pytest.mark.parametrize(
    ("base", "head"), [(TIMED, TIMED), (CONTRACT, TIMED), (TIMED, CONTRACT), (CHECKED, CHECKED)]
)
def test_both_arms_are_streamed_if_either_contract_asks_for_it(
    base: str, head: str, propose: Propose, tmp_path: Path
) -> None:
    made = propose(base, head)
    with OpenAIServer(answer) as server:
        check(made, tmp_path / "out")
    _, samples = read(tmp_path / "out")
    assert {sample["arm"] for sample in samples} == {"base", "head"}
    assert all(body["stream"] for body in server.requests)
    assert all(0 < s["ttft_ms"] <= s["latency_ms"] for s in samples)


def test_nothing_is_streamed_without_the_objective(propose: Propose, tmp_path: Path) -> None:
    made = propose(CONTRACT, CONTRACT)
    with OpenAIServer(answer) as server:
        check(made, tmp_path / "out")
    assert not any("stream" in body for body in server.requests)
    assert {sample["ttft_ms"] for sample in read(tmp_path / "out")[1]} == {None}


@pytest.mark.parametrize(("target", "code"), [(60_000, 0), (0.0001, 1)])
def test_the_objective_decides_and_a_replay_decides_the_same(
    target: float, code: int, propose: Propose, tmp_path: Path
) -> None:
    contract = CONTRACT + f"slo: {{ttft_p50_ms: {target}}}\n"
    made = propose(contract, contract)
    with OpenAIServer(answer):
        assert check(made, tmp_path / "out") == code
    assert check(made, tmp_path / "again", "--replay", str(tmp_path / "out/samples.jsonl")) == code
    first, second = read(tmp_path / "out")[0], read(tmp_path / "again")[0]
    assert first["slo"] == second["slo"]
    assert first["slo"][0]["met"] is (code == 0)


def test_a_recording_without_the_time_is_inconclusive(propose: Propose, tmp_path: Path) -> None:
    made = propose(TIMED, TIMED)
    with OpenAIServer(answer):
        check(made, tmp_path / "out")
    recorded = tmp_path / "out/samples.jsonl"
    untimed = [json.loads(line) | {"ttft_ms": None} for line in recorded.read_text().splitlines()]
    recorded.write_text("".join(json.dumps(line) + "\n" for line in untimed))
    check(made, tmp_path / "again", "--replay", str(recorded))
    contract, _ = read(tmp_path / "again")
    assert contract["verdict"] == "inconclusive"
    assert ("slo", "inconclusive") in {(r["code"], r["verdict"]) for r in contract["reasons"]}


@pytest.mark.parametrize(
    ("policy", "contract"),
    [
        ("providers: {openai: litellm}\n", TIMED),
        ("", edited(TIMED, "gpt-4o-mini\nparams: {temperature: 0}", "o3-mini")),
    ],
)
def test_what_only_litellm_can_ask_is_refused_before_any_call(
    policy: str,
    contract: str,
    git_repository: Callable[..., GitRepository],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789abcdef")
    made = git_repository("whole")
    made.commit("sound", {**FILES, CONTRACT_FILE: contract, ".github/gatekeeper.yml": policy})
    with OpenAIServer(answer) as server:
        assert main(["run", "--repo", str(made.path), "--out", str(tmp_path / "out")]) == 2
    assert server.requests == []
    assert "ttft" in capsys.readouterr().err
