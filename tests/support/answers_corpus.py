"""Records what every test makes the gate answer: exit codes, reports and what the terminal shows.

`ANSWERS=FILE pytest -p support.answers_corpus …` appends one JSON line for each test. Two such
files, from the trees before and after a change, are compared by scripts/compare_answers.py, which
knows what differs between equal runs.
"""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gatekeeper.action import main as action
from gatekeeper.cli import main as cli

REPORTS = ("result.json", "comment.md", "summary.md", "junit.xml", "samples.csv", "fixtures.csv")
LARGEST = 400_000
codes: list[Any] = []


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
            name = file.relative_to(tmp_path).as_posix()
            reports[name] = file.read_text("utf-8", "replace")
    _write({"test": request.node.nodeid, "codes": list(codes), "reports": reports})


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Note what the test left on standard output and standard error."""
    if report.when == "call" and not os.environ.get("PYTEST_XDIST_WORKER"):
        said = report.capstdout + report.capstderr
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
