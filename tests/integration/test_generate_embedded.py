"""`gatekeeper generate` with the embedded model, which writes rubbish in the form of each stage."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import yaml

from gatekeeper.author.session import ANSWERS
from gatekeeper.cli.main import main

ROOT = Path(__file__).parents[2]
STAGES = {"input_specification", "rules", "open_questions", "inverse_rules", "rule_checks", "tests"}
WRITTEN = ("contracts/sentiment.fixtures.jsonl", "contracts/sentiment.yaml")
pytestmark = pytest.mark.long


def test_it_goes_through_all_stages_and_a_replay_writes_the_same(
    git_repository, monkeypatch, tmp_path
) -> None:
    repository = git_repository("embedded")
    prompt = repository.path / "prompts/sentiment.txt"
    prompt.parent.mkdir()
    shutil.copy(ROOT / "contracts/prompts/sentiment.txt", prompt)
    repository.commit("the prompt")
    monkeypatch.chdir(repository.path)
    command = ["generate", "prompts/sentiment.txt", "--model", "local/smollm2", "--effort", "min"]

    assert main([*command, "--out", str(tmp_path / "out")]) == 0

    recording = tmp_path / "out" / ANSWERS
    rows = [json.loads(row) for row in recording.read_text("utf-8").splitlines()]
    assert {row["stage"] for row in rows} == STAGES
    # No answer had to be asked for again: each one has the form of its stage.
    assert all(isinstance(json.loads(row["output_raw"]), dict) for row in rows)
    spec = yaml.safe_load(prompt.with_name("sentiment.spec.yaml").read_text("utf-8"))
    lines = prompt.read_text("utf-8").split("\n")
    for item in (*spec["rules"], *spec["input"]):
        assert item["lines"]
        assert all(lines[number - 1].strip() for number in item["lines"])
    assert main(["validate"]) == 0

    paths = [repository.path / name for name in WRITTEN]
    before = [path.read_bytes() for path in paths]
    for path in (*paths, prompt.with_name("sentiment.spec.yaml")):
        path.unlink()
    assert main([*command, "--replay", str(recording), "--out", str(tmp_path / "again")]) == 0
    assert [path.read_bytes() for path in paths] == before
