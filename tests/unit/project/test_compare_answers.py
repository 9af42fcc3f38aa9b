"""What tests make the gate answer is recorded, and two recordings are compared."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from scripts.compare_answers import main

ROOT = Path(__file__).parents[3]
PLACE = tempfile.gettempdir()
LATENCY = json.dumps([{"name": "latency_p95", "value": "%s"}, {"verdict": "%s"}], indent=2)

MEASURED = '{"latency_difference_ms": {"value": %s}, "latency_interval": %s, "passed": %d}'


def recorded(file: Path, *, said: str = "", codes: tuple[int, ...] = (0,), **reports: str) -> str:
    """Write what one test answered; `_` in the name of a report is its dot."""
    named = {name.replace("_", "."): text for name, text in reports.items()}
    lines: list[dict[str, Any]] = [
        {"test": "test_a", "outcome": "passed", "said": said},
        {"test": "test_a", "codes": codes, "reports": named},
    ]
    file.write_text("".join(f"{json.dumps(line)}\n" for line in lines), "utf-8")
    return str(file)


@pytest.mark.parametrize(
    ("before", "after", "differs"),
    [
        (
            {"said": f"{PLACE}/a/out at 0a1b2c3d4e in 3.1 s"},
            {"said": f"{PLACE}/b/out at ffffff1 in 12 s"},
            False,
        ),
        ({"said": "May merge"}, {"said": "Do not merge"}, True),
        ({"codes": (0,)}, {"codes": (3,)}, True),
        ({"samples_csv": "id\nb\na\n"}, {"samples_csv": "id\na\nb\n"}, False),
        ({"samples_csv": "id\na\n"}, {"samples_csv": "id\nb\n"}, True),
        (
            {"result_json": '{\n  "verdict": "pass",\n  "seconds": 1.5\n}'},
            {"result_json": '{\n  "verdict": "pass",\n  "seconds": 2.5\n}'},
            False,
        ),
        (
            {"result_json": '{\n  "verdict": "pass",\n  "seconds": 1.5\n}'},
            {"result_json": '{\n  "verdict": "fail",\n  "seconds": 1.5\n}'},
            True,
        ),
        ({"comment_md": "latency p50 5 ms; pass"}, {"comment_md": "latency p50 9 ms; pass"}, False),
        ({"comment_md": "latency p50 5 ms; pass"}, {"comment_md": "latency p50 5 ms; fail"}, True),
        (
            {"result_json": LATENCY % ("5", "pass")},
            {"result_json": LATENCY % ("9", "pass")},
            False,
        ),
        (
            {"result_json": LATENCY % ("5", "pass")},
            {"result_json": LATENCY % ("5", "fail")},
            True,
        ),
        (
            {"samples_csv": 'id,latency_ms,ttft_ms,output\na,4.0,1.5,"x\ny"\n'},
            {"samples_csv": 'id,latency_ms,ttft_ms,output\na,36.25,,"x\ny"\n'},
            False,
        ),
        (
            {"samples_csv": "id,latency_ms,output\na,4.0,x\n"},
            {"samples_csv": "id,latency_ms,output\na,4.0,y\n"},
            True,
        ),
        (
            {"result_json": MEASURED % (-1.75, "[4.0, null]", 1)},
            {"result_json": MEASURED % (0.5, "[\n  8.0,\n  36.0\n]", 1)},
            False,
        ),
        (
            {"result_json": MEASURED % (0.5, "[4.0, null]", 1)},
            {"result_json": MEASURED % (0.5, "[4.0, null]", 2)},
            True,
        ),
        ({"result_json": "{"}, {"result_json": "[]"}, True),
        ({}, {"comment_md": "pass"}, True),
    ],
)
def test_only_what_equal_runs_have_in_common_is_compared(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    before: dict[str, Any],
    after: dict[str, Any],
    differs: bool,
) -> None:
    files = [recorded(tmp_path / "1", **before), recorded(tmp_path / "2", **after)]
    assert main(files) == differs
    assert f"1 tests compared, {int(differs)} answers differ" in capsys.readouterr().out
    # What a second run of the first tree answers otherwise says nothing about the second tree.
    assert main([*files, files[1]]) == 0


@pytest.mark.long
def test_the_answers_of_a_test_are_recorded(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "answers.jsonl"
    options = ["-q", "-n", "0", "-p", "support.answers_corpus", "-p", "no:cacheprovider"]
    test = "tests/integration/test_random_contracts.py"
    # Of several workers, only the process that started them notes what a test said.
    outside = {k: v for k, v in os.environ.items() if k != "PYTEST_XDIST_WORKER"}
    subprocess.run(
        [sys.executable, "-m", "pytest", *options, test, "-k", "run[1]"],
        cwd=ROOT,
        env={**outside, "ANSWERS": str(file)},
        check=True,
        capture_output=True,
    )
    said, answered = map(json.loads, file.read_text("utf-8").splitlines())
    assert said["outcome"] == "passed"
    assert said["said"]
    assert len(answered["codes"]) == 2
    assert {"out/result.json", "out/comment.md", "again/result.json"} <= answered["reports"].keys()
    assert main([str(file), str(file)]) == 0
    assert "1 tests compared, 0 answers differ" in capsys.readouterr().out
