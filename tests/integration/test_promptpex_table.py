"""The page's table of PromptPex figures is what the recordings give today."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "benchmarks" / "promptpex.py"


@pytest.fixture
def recordings(shared_data: Path) -> Path:
    return shared_data / "promptpex"


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(SCRIPT), *arguments], capture_output=True, text=True, check=False
    )


def test_the_page_says_what_the_recordings_give(recordings):
    found = run("--check", "--data", str(recordings))
    assert found.returncode == 0, found.stderr


def test_other_recordings_are_noticed_and_the_page_is_left_alone(recordings, tmp_path):
    page = (ROOT / "benchmarks" / "promptpex.md").read_bytes()
    for file in recordings.iterdir():
        if file.suffix in (".jsonl", ".csv"):
            (tmp_path / file.name).write_bytes(file.read_bytes())
    tests = tmp_path / "speech-tag.jsonl"
    kept = [line for line in tests.read_text("utf-8").splitlines() if '"baseline"' not in line]
    tests.write_text("\n".join(kept[:-1]) + "\n", "utf-8")
    found = run("--check", "--data", str(tmp_path))
    assert found.returncode == 1
    assert "benchmarks/promptpex.py" in found.stderr
    assert (ROOT / "benchmarks" / "promptpex.md").read_bytes() == page


def test_without_recordings_it_says_so(tmp_path):
    found = run("--check", "--data", str(tmp_path))
    assert found.returncode == 2
    assert "No recordings" in found.stderr
