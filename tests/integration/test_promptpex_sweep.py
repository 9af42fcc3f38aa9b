"""The tables of the PromptPex paper by `gatekeeper sweep`, from its recorded outputs."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.git_repository import GitRepository
from support.promptpex_repository import (
    MODELS,
    PromptPexData,
    write_recording,
    write_repository,
)

from gatekeeper.cli.main import main

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "suitability.py"


@pytest.fixture
def speech(shared_data: Path) -> PromptPexData:
    return PromptPexData(shared_data / "promptpex", "speech-tag")


@pytest.fixture
def repository(
    git_repository: Callable[..., GitRepository], speech: PromptPexData
) -> GitRepository:
    made = git_repository("promptpex")
    write_repository(made, speech)
    made.commit("the contract")
    return made


def sweep(repository: GitRepository, recording: Path, out: Path) -> tuple[int, dict[str, Any]]:
    """The rates of each model by its recorded name."""
    arguments = ["sweep", "--repo", str(repository.path), "--contract", "speech-tag"]
    arguments += ["--model", ",".join(MODELS), "--replay", str(recording)]
    code = main([*arguments, "--out", str(out)])
    document = json.loads((out / "sweep.json").read_text())
    models = [MODELS[setting["model"]] for setting in document["settings"]]
    return code, dict(zip(models, document["suitability"]["settings"], strict=True))


@pytest.mark.long
def test_the_command_counts_what_is_recorded(repository, speech, tmp_path, capsys):
    recording = tmp_path / "samples.jsonl"
    write_recording(repository, speech, recording)
    code, rates = sweep(repository, recording, tmp_path / "whole")
    assert code == 0
    for model, found in rates.items():
        for kind in ("rule", "inverse_rule", "baseline"):
            verdicts = [
                row["outputs"][model]["compliant"] for row in speech.rows if row["kind"] == kind
            ]
            assert (found[kind]["non_compliant"], found[kind]["measured"]) == (
                verdicts.count(False),
                len(verdicts),
            )
    assert "openai/gpt-4o-mini breaks the fewest rules." in capsys.readouterr().out

    # Without the outputs of one model its figures are unknown; those of the others stay.
    lines = recording.read_text().splitlines(keepends=True)
    recording.write_text("".join(line for line in lines if '"ollama/gemma2:9b"' not in line))
    _, without = sweep(repository, recording, tmp_path / "part")
    assert (without["gemma2:9b"]["both"]["share"], without["gemma2:9b"]["both"]["measured"]) == (
        None,
        0,
    )
    assert {**without, "gemma2:9b": None} == {**rates, "gemma2:9b": None}
    assert "Not measured: ollama/gemma2:9b." in capsys.readouterr().out
    assert "unknown (42 outputs)" in (tmp_path / "part" / "sweep.md").read_text()


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(SCRIPT), *arguments], capture_output=True, text=True, check=False
    )


@pytest.mark.long
def test_the_page_says_what_the_command_gives(shared_data: Path):
    found = run("--check", "--data", str(shared_data / "promptpex"))
    assert found.returncode == 0, found.stderr


@pytest.mark.long
def test_without_recordings_it_says_so(tmp_path: Path):
    found = run("--check", "--data", str(tmp_path))
    assert found.returncode == 2
    assert "No recordings" in found.stderr
