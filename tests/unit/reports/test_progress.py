"""Progress while sampling."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from gatekeeper.reports.progress import TerminalProgress


class _Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def _console(*, terminal: bool) -> Console:
    return Console(file=io.StringIO(), width=120, force_terminal=terminal, highlight=False)


def _text(console: Console) -> str:
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_a_log_gets_a_few_plain_lines() -> None:
    clock, console = _Clock(), _console(terminal=False)
    with TerminalProgress(console, clock) as progress:
        progress.started(400, "speech-tag\x1b[31m")
        for _ in range(100):
            clock.now += 0.4
            progress.advanced(cost_usd=0.0001)
        progress.advanced(failed=True)
    lines = _text(console).splitlines()
    assert lines[0] == "speech-tag[31m: at most 400 calls"
    assert lines[1] == "speech-tag[31m: 38 of 400, 2.5/s, cost 0.0038 USD"
    assert lines[-1] == "speech-tag[31m: 101 of 400 in 40 s, 2.5/s, cost 0.010 USD, 1 failed"
    assert len(lines) == 4


def test_an_unknown_price_is_an_unknown_cost() -> None:
    console = _console(terminal=False)
    with TerminalProgress(console, _Clock()) as progress:
        progress.started(2)
        progress.advanced(cost_usd=None)
        progress.advanced(cost_usd=None)
    assert _text(console).splitlines()[-1] == "sampling: 2 of 2 in 0 s, cost unknown"


def test_a_terminal_gets_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    clock, console = _Clock(), _console(terminal=True)
    progress = TerminalProgress(console, clock)
    progress.started(10)
    clock.now += 1
    progress.advanced(4, cost_usd=0.02)
    progress.finished()
    text = _text(console)
    assert "4/10" in text
    assert text.splitlines()[-1].endswith("sampling: 4 of 10 in 1 s, 4.0/s, cost 0.020 USD")


def test_nothing_to_sample_is_silent() -> None:
    console = _console(terminal=False)
    with TerminalProgress(console) as progress:
        progress.started(0)
        progress.finished()
    assert _text(console) == ""


def test_standard_error_is_where_it_goes(capsys: pytest.CaptureFixture[str]) -> None:
    with TerminalProgress() as progress:
        progress.started(1)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "0 of 1" in captured.err


def test_never_started_is_silent() -> None:
    console = _console(terminal=True)
    with TerminalProgress(console):
        pass
    assert _text(console) == ""


def test_the_bar_goes_away_when_a_run_breaks_off() -> None:
    console = _console(terminal=True)
    progress = TerminalProgress(console, _Clock())
    progress.started(3)
    progress.__exit__(KeyboardInterrupt, KeyboardInterrupt(), None)
    assert "0 of 3" in _text(console)
