"""Progress of stages that ask models."""

from __future__ import annotations

import io

import pytest
from rich.console import Console
from support.terminal_stream import ESCAPE_CODES, SetClock, TerminalStream

from gatekeeper.reports.terminal.progress import StageProgress


def _run(progress: StageProgress, clock: SetClock) -> None:
    with progress:
        progress.asked("rules")
        clock.now += 3
        progress.answered("rules", None)
        for _ in range(3):
            progress.asked("inverse_rules")
        clock.now += 20
        progress.answered("inverse_rules", 0.5)
        progress.answered("inverse_rules", 0.5)
        clock.now += 1
        progress.answered("inverse_rules", 0.75)
        progress.asked("inverse_rules")  # an answer could not be read


def test_a_log_has_a_line_for_each_stage_and_one_every_fifteen_seconds(
    capsys: pytest.CaptureFixture[str],
) -> None:
    clock = SetClock()
    _run(StageProgress(clock=clock), clock)
    assert capsys.readouterr().err.splitlines() == [
        "rules: 1 of at most 1 call in 3 s",
        "inverse rules: 1 of at most 3 calls, cost so far 0.50 USD",
        "inverse rules: 3 of at most 4 calls in 21 s, cost so far 0.75 USD",
    ]


def test_a_terminal_shows_the_stage_under_way() -> None:
    console = Console(file=TerminalStream(), width=100, height=25, highlight=False)
    clock = SetClock()
    progress = StageProgress(console, clock)
    _run(progress, clock)
    progress.finished()
    assert isinstance(console.file, io.StringIO)
    shown = ESCAPE_CODES.sub("", console.file.getvalue())
    assert "inverse rules: 0 of at most 3 calls" in shown
    assert shown.count("rules: 1 of at most 1 call in 3 s") == 1
    assert shown.count("inverse rules: 3 of at most 4 calls in 21 s, cost so far 0.75 USD") == 1


def test_a_run_without_questions_shows_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with StageProgress():
        pass
    assert capsys.readouterr().err == ""
