"""Records what every test makes the gate answer: exit codes, reports and what the terminal shows.

`ANSWERS=FILE pytest -p support.answers_corpus …` appends one JSON line for each test. Two such
files, from the trees before and after a change, are compared by scripts/compare_answers.py.
"""

from __future__ import annotations

import functools
import json
import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gatekeeper.action import main as action
from gatekeeper.cli import main as cli

REPORTS = ("result.json", "comment.md", "summary.md", "junit.xml", "samples.csv", "fixtures.csv")
LARGEST = 400_000
CHANGES = (
    (re.escape(tempfile.gettempdir()) + r"/[^\s\"'<>)]*", "<path>"),
    (r"\b(?=[0-9]*[a-f])[0-9a-f]{7,64}\b", "<digest>"),
    (r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?)?", "<time>"),
    (r"\b\d+(\.\d+)? (s|ms)\b", "<duration>"),
    (r"\b\d+(\.\d+)?/s\b", "<speed>"),
    (r"(127\.0\.0\.1|localhost):\d+", "<server>"),
    (r'"[^"]*(latency|seconds|_ms|started|finished|duration)[^"]*": [^,\n]+', "<measured>"),
    (r'(time|timestamp)="[^"]*"', "<measured>"),
)
"""What differs between two runs of one tree, and what stands instead."""

codes: list[Any] = []


def stable(text: str) -> str:
    """Return the text without paths, digests, times and durations."""
    for pattern, instead in CHANGES:
        text = re.sub(pattern, instead, text)
    return text


def pytest_configure() -> None:
    """Let both entries note their exit codes, before any test imports them."""
    for module in (cli, action):
        module.main = _noted(module.main)  # type: ignore[attr-defined]


@pytest.fixture(autouse=True)
def _answers(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[None]:
    codes.clear()
    yield
    reports: dict[str, str] = {}
    for file in sorted(tmp_path.rglob("*")):
        if file.name in REPORTS and file.is_file() and file.stat().st_size < LARGEST:
            name = stable(str(file.relative_to(tmp_path)))
            reports[name] = stable(file.read_text("utf-8", "replace"))
    _write({"test": request.node.nodeid, "codes": list(codes), "reports": reports})


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Note what the test left on standard output and standard error."""
    if report.when == "call" and not os.environ.get("PYTEST_XDIST_WORKER"):
        said = stable(report.capstdout + report.capstderr)
        _write({"test": report.nodeid, "outcome": report.outcome, "said": said[:LARGEST]})


def _noted(main: Any) -> Any:
    @functools.wraps(main)
    def call(*args: Any, **more: Any) -> Any:
        try:
            code = main(*args, **more)
        except SystemExit as end:
            codes.append(end.code)
            raise
        codes.append(code)
        return code

    return call


def _write(line: dict[str, Any]) -> None:
    data = (json.dumps(line) + "\n").encode()
    file = os.open(os.environ["ANSWERS"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(file, data)
    finally:
        os.close(file)
