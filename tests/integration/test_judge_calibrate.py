"""`gatekeeper judge calibrate` with a scripted judge, and what the gate makes of the file."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from support.edited_text import edited
from support.git_repository import GitRepository
from support.judges import verdict
from support.openai_server import OpenAIServer

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
slo: {success_rate: 0.55}
"""
FILES = {
    "contracts/polite.yaml": CONTRACT,
    "contracts/words.csv": "id,word\n" + "".join(f"{word},{word}\n" for word in WORDS),
    "prompts/polite.txt": "Say {{ word }} politely.\n",
}
CALIBRATION = "contracts/polite.judge.json"


def judging(passes: Callable[[str], bool]) -> Any:
    def answer(body: Mapping[str, Any]) -> str:
        text = body["messages"][-1]["content"]
        if body["model"] == "gpt-4o":
            return verdict("yes" if passes(text) else "no")
        return f"{text.split()[1]}, please"

    return answer


def lenient(text: str) -> bool:
    """Pass what is polite, and also every output with a 3."""
    return "please" in text or "3" in text.split("<data output")[1].split("\n")[1]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIServer]:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789abcdef")
    with OpenAIServer(judging(lenient)) as started:
        yield started


@pytest.fixture
def repository(git_repository: Callable[..., GitRepository]) -> GitRepository:
    made = git_repository("calibrated")
    made.commit("base", FILES)
    return made


@pytest.fixture
def labels(tmp_path: Path) -> Path:
    """Twenty polite and twenty rude outputs, as two people see them; six of the rude have a 3."""
    rows = []
    for number in range(20):
        polite, rude = f"word{number}, please", f"{number}!"
        rows += [(WORDS[number], polite, "pass"), (WORDS[number], rude, "fail")]
    file = tmp_path / "labels.jsonl"
    with file.open("w", encoding="utf-8") as lines:
        for fixture, output, given in rows:
            for name in ("ada", "ben"):
                row = {"fixture": fixture, "output": output, "verdict": given, "annotator": name}
                lines.write(json.dumps(row) + "\n")
    return file


def calibrate(repository: GitRepository, labels: Path, *more: str) -> int:
    command = ["judge", "--repo", str(repository.path), "calibrate", "polite"]
    return main([*command, "--labels", str(labels), *more])


def test_figures_are_those_of_a_hand_count(repository, server, labels, capsys) -> None:
    assert calibrate(repository, labels, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    (judge,) = found["judges"]
    # Rude outputs with a 3: 3!, 13!.
    counts = [judge[key] for key in ("true_pass", "false_pass", "true_fail", "false_fail")]
    assert counts == [20, 2, 18, 0]
    assert judge["sensitivity"]["value"] == 1
    assert judge["specificity"]["value"] == 0.9
    assert judge["kappa"]["value"] == pytest.approx(0.9)
    assert found["annotators"]["kappa"]["value"] == 1
    assert len(server.requests) == 40
    assert {body["model"] for body in server.requests} == {"gpt-4o"}
    kept = json.loads((repository.path / CALIBRATION).read_text("utf-8"))
    assert len(kept["checks"]["is polite"]["labels"]) == 40
    # Without anchors it holds digests, and none of what people or models wrote.
    assert sum("text" in label for label in kept["checks"]["is polite"]["labels"]) == 30
    assert calibrate(repository, labels, "--anchors", "0") == 0
    assert "the text of 0 outputs" in capsys.readouterr().err
    assert "please" not in (repository.path / CALIBRATION).read_text("utf-8")
    assert calibrate(repository, labels, "--anchors", "-1") == 2


@pytest.mark.long
def test_the_gate_corrects_what_rests_on_a_calibrated_judge(
    repository, server, labels, tmp_path, capsys
) -> None:
    assert calibrate(repository, labels) == 0
    repository.commit("calibrate", {CALIBRATION: (repository.path / CALIBRATION).read_text()})
    server._answer = judging(lambda text: int(text.split("word")[1].split(",")[0]) % 2 == 0)
    assert main(["run", "--repo", str(repository.path), "--out", str(tmp_path / "out")]) == 0
    result = json.loads((tmp_path / "out" / "result.json").read_text("utf-8"))
    (slo,) = result["contracts"][0]["slo"]
    assert slo["judged"] == 0.5
    assert slo["observed"] == pytest.approx((0.5 + 0.9 - 1) / 0.9)
    assert "uncalibrated" not in {r["code"] for r in result["contracts"][0]["reasons"]}
    assert "as judged 50" in (tmp_path / "out" / "summary.md").read_text("utf-8").replace(
        "\u00a0", " "
    )


def test_an_uncalibrated_judge_is_noted_and_a_policy_refuses_it_before_any_call(
    repository, server, tmp_path, capsys
) -> None:
    out = ["--out", str(tmp_path / "out")]
    assert main(["run", "--repo", str(repository.path), *out]) == 0
    result = json.loads((tmp_path / "out" / "result.json").read_text("utf-8"))
    assert "uncalibrated" in {r["code"] for r in result["contracts"][0]["reasons"]}
    server.requests.clear()
    repository.commit("policy", {".github/gatekeeper.yml": "judge: {require_calibration: true}\n"})
    assert main(["run", "--repo", str(repository.path), *out]) == 2
    error = capsys.readouterr().err
    assert "contracts/polite.yaml:10" in error
    assert "is polite" in error
    assert server.requests == []


def test_a_judge_that_passes_everything_is_said_to_be_worthless_everywhere(
    repository, server, labels, tmp_path, capsys
) -> None:
    server._answer = judging(lambda text: True)
    assert calibrate(repository, labels) == 0
    wanted = "hardly tells good outputs from bad ones (kappa 0.00, specificity 0 % on 40 labelled"
    assert wanted in _one_line(capsys.readouterr().out)
    repository.commit("calibrate", {CALIBRATION: (repository.path / CALIBRATION).read_text()})
    out = tmp_path / "out"
    # The objective rests on this judge alone, so it is not met by what the judge says.
    assert main(["run", "--repo", str(repository.path), "--out", str(out)]) == 0
    result = json.loads((out / "result.json").read_text("utf-8"))
    assert result["verdict"] == "inconclusive"
    (note,) = [r for r in result["contracts"][0]["reasons"] if r["code"] == "uncalibrated"]
    assert wanted in _one_line(note["text"])
    for text in (
        capsys.readouterr().out,
        (out / "summary.md").read_text("utf-8"),
        (out / "comment.md").read_text("utf-8"),
    ):
        assert wanted in _one_line(text)
    server.requests.clear()
    repository.commit("policy", {".github/gatekeeper.yml": "judge: {require_calibration: true}\n"})
    assert main(["run", "--repo", str(repository.path), "--out", str(out)]) == 2
    error = capsys.readouterr().err
    assert "contracts/polite.yaml:10" in error
    assert wanted in _one_line(error)
    assert "choose another judge" in error
    assert server.requests == []


def _one_line(text: str) -> str:
    return " ".join(text.replace("\\", "").split())


def test_a_judge_that_changed_is_found_by_its_anchors(repository, server, labels, capsys) -> None:
    assert calibrate(repository, labels, "--check") == 2  # nothing to compare with yet
    assert calibrate(repository, labels) == 0
    before = (repository.path / CALIBRATION).read_text("utf-8")
    assert calibrate(repository, labels, "--check") == 0
    server._answer = judging(lambda text: "1" not in text.split("<data output")[1].split("\n")[1])
    capsys.readouterr()
    assert calibrate(repository, labels, "--check", "--json") == 1
    (drift,) = json.loads(capsys.readouterr().out)["drift"]
    assert drift["drifted"]
    assert drift["agreed_before"] == 38
    assert drift["agrees_now"] < drift["agreed_before"]
    assert (repository.path / CALIBRATION).read_text("utf-8") == before


def test_another_judge_has_to_be_calibrated_again(repository, server, labels, capsys) -> None:
    assert calibrate(repository, labels) == 0
    repository.write("contracts/polite.yaml", edited(CONTRACT, "is polite.", "is very polite."))
    assert calibrate(repository, labels, "--check") == 2
    assert "is polite" in capsys.readouterr().err


def test_a_judge_that_cannot_be_reached_writes_nothing(repository, server, labels) -> None:
    server._answer = judging(lambda _: True)
    repository.write(".github/gatekeeper.yml", "limits: {calls: 5}\n")
    assert calibrate(repository, labels) == 3
    assert not (repository.path / CALIBRATION).exists()


def test_a_damaged_calibration_is_named(repository, server, tmp_path, capsys) -> None:
    repository.commit("damage", {CALIBRATION: '{"calibration": 1}'})
    assert main(["run", "--repo", str(repository.path), "--out", str(tmp_path)]) == 2
    assert CALIBRATION in capsys.readouterr().err
