"""Progress while sampling."""

from __future__ import annotations

import contextlib
import io
import os
import pty
import re
from collections.abc import Callable, Sequence

import pytest
from rich.console import Console
from support.terminal_stream import ESCAPE_CODES, SetClock, TerminalStream

from gatekeeper.gate.measuring.monitor import ContractProgress
from gatekeeper.reports.terminal.progress import StageProgress, TerminalProgress

_COLORS = re.compile(r"\x1b\[[0-9;]*[1-9][0-9;]*m")


def _log() -> Console:
    return Console(file=io.StringIO(), width=80, highlight=False)


def _terminal(width: int = 100, height: int = 25) -> Console:
    return Console(file=TerminalStream(), width=width, height=height, highlight=False)


def _text(console: Console) -> str:
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def _drawn(console: Console) -> str:
    return ESCAPE_CODES.sub("", _text(console))


def _standings(*standings: ContractProgress) -> Callable[[], Sequence[ContractProgress]]:
    return lambda: standings


TAGS = ContractProgress("speech-tag", 20, 400, pairs=10, broke=3, fixed=1, worse=0.6, not_worse=0.1)
ORDERS = ContractProgress("order-id", 60, 400, pairs=30, worse=0.0, not_worse=0.85)
DONE = ContractProgress("greeting", 12, 400, pairs=6, broke=6, answer="regressed")


def test_a_log_gets_a_few_plain_lines() -> None:
    clock, console = SetClock(), _log()
    with TerminalProgress(console, clock) as progress:
        progress.started(400)
        for _ in range(100):
            clock.now += 0.4
            progress.advanced(cost_usd=0.0001)
        progress.advanced(failed=True)
    assert _text(console).splitlines() == [
        "sampling: 400 calls planned",
        "sampling: 38 of 400, 2.5/s, cost 0.0038 USD, at most 2 min 25 s left",
        "sampling: 76 of 400, 2.5/s, cost 0.0076 USD, at most 2 min 10 s left",
        "sampling: 101 of 400 in 40 s, 2.5/s, cost 0.010 USD, 1 failed",
    ]


def test_a_log_says_why_nothing_is_answered() -> None:
    clock, console = SetClock(), _log()
    with TerminalProgress(console, clock) as progress:
        progress.started(400)
        for _ in range(12):
            clock.now += 3
            progress.refused()
    lines = _text(console).splitlines()
    assert [line.partition(" refused")[0] for line in lines] == [
        "sampling: 400 calls planned",
        "sampling: 0 of 400, 5",
        "sampling: 0 of 400, 10",
        "sampling: 0 of 400 in 36 s, 12",
    ]


def test_a_log_tells_the_evidence_of_the_nearest_answer() -> None:
    clock, console = SetClock(), _log()
    with TerminalProgress(console, clock) as progress:
        progress.started(1200, _standings(TAGS, ORDERS, DONE))
        clock.now += 16
        progress.advanced()
    line = _text(console).splitlines()[1]
    assert line.endswith(
        "1 of 3 contracts have a result; order-id: 30 pairs, 0 broke, 0 fixed, 85 % to not worse"
    )


def test_when_all_is_answered_there_is_no_nearest() -> None:
    clock, console = SetClock(), _log()
    with TerminalProgress(console, clock) as progress:
        progress.started(400, _standings(DONE))
        clock.now += 16
        progress.advanced()
    assert _text(console).splitlines()[1] == "sampling: 1 of 400, 0.1/s, cost unknown"


def test_what_a_contract_with_an_answer_would_have_drawn_takes_no_time() -> None:
    clock, console = SetClock(), _log()
    with TerminalProgress(console, clock) as progress:
        progress.started(800, _standings(DONE, TAGS))
        for _ in range(32):
            clock.now += 0.5
            progress.advanced()
    # 380 samples of speech-tag are left at 2 a second, and none of greeting.
    assert "at most 3 min 10 s left" in _text(console)


@pytest.mark.parametrize(
    ("total", "calls", "seconds", "told"),
    [
        (400, 1, 60, False),
        (400, 30, 2, False),
        (400, 20, 6, True),
        (12, 3, 6, True),
        (12, 2, 6, False),
    ],
)
def test_the_time_left_is_told_once_it_means_something(
    total: int, calls: int, seconds: float, told: bool
) -> None:
    clock, console = SetClock(), _terminal()
    progress = TerminalProgress(console, clock)
    progress.started(total)
    for _ in range(calls):
        clock.now += seconds / calls
        progress.advanced()
    shown = "at most" in progress._state()
    progress.finished()
    assert shown is told


def test_samples_of_a_run_that_compares_nothing() -> None:
    clock, console = SetClock(), _log()
    with TerminalProgress(console, clock) as progress:
        progress.started(40, _standings(ContractProgress("order-id", 8, 40)))
        clock.now += 16
        progress.advanced()
    assert _text(console).splitlines()[1].endswith("; order-id: 8 of 40 samples")


def test_an_unknown_price_is_an_unknown_cost() -> None:
    console = _log()
    with TerminalProgress(console, SetClock()) as progress:
        progress.started(2)
        progress.advanced(cost_usd=None)
        progress.advanced(cost_usd=None)
    assert _text(console).splitlines()[-1] == "sampling: 2 of 2 in 0 s, cost unknown"


def test_a_terminal_is_drawn_on_and_one_line_stays() -> None:
    clock, console = SetClock(), _terminal()
    progress = TerminalProgress(console, clock)
    progress.started(1200, _standings(DONE, TAGS, ORDERS))
    clock.now += 1
    progress.advanced(cost_usd=0.02)
    progress.finished()
    rows = _drawn(console).splitlines()
    assert any("sampling: 1 of 1,200, 1.0/s, cost 0.020 USD" in row for row in rows)
    order = [row.split()[0] for row in rows if "broke" in row]
    assert order[:3] == ["order-id", "speech-tag", "greeting"]
    (tags, *_) = [row for row in rows if row.startswith("speech-tag")]
    assert "10 pairs" in tags
    assert "3 broke, 1 fixed" in tags
    assert "60 % to worse" in tags
    assert rows[-1].endswith("sampling: 1 of 1,200 in 1 s, 1.0/s, cost 0.020 USD")
    assert _text(console).rstrip().count("\x1b[2K") >= 4, "what was drawn is erased"


def test_drawing_takes_a_small_part_of_the_time() -> None:
    clock, console = SetClock(), _terminal()
    asked = 0

    def slow() -> Sequence[ContractProgress]:
        nonlocal asked
        asked += 1
        clock.now += 0.5
        return (TAGS,)

    with TerminalProgress(console, clock) as progress:
        progress.started(400, slow)
        for _ in range(200):
            clock.now += 0.1
            progress.advanced()
    assert asked == 2


def test_colors_are_left_out_where_nobody_wants_them(monkeypatch: pytest.MonkeyPatch) -> None:
    for wanted in (True, False):
        if not wanted:
            monkeypatch.setenv("NO_COLOR", "1")
        console = _terminal()
        with TerminalProgress(console, SetClock()) as progress:
            progress.started(400, _standings(DONE, TAGS))
        assert bool(re.search(r"\x1b\[[0-9;]*3[0-9]", _text(console))) is wanted


@pytest.mark.parametrize(("width", "height"), [(20, 5), (40, 10), (80, 24), (300, 100), (10, 2)])
def test_it_fits_terminals_of_any_size(width: int, height: int) -> None:
    many = [
        ContractProgress(f"contract-{n:03}-with-a-long-name", n, 100, pairs=n, not_worse=n / 100)
        for n in range(50)
    ]
    console = _terminal(width, height)
    with TerminalProgress(console, SetClock()) as progress:
        progress.started(5000, _standings(*many))
    drawing = _drawn(console).split("sampling: 0 of 5,000 in")[0].split("\r")[0]
    rows = drawing.splitlines()
    assert len(rows) <= height
    assert max(map(len, rows)) <= width
    if height > 3:
        shown = [row for row in rows if row.startswith("contract-0")]
        assert len(shown) == min(12, height - 3)
        assert rows[-1].startswith(f"and {50 - len(shown)} more")
    if width >= 80:
        assert "49 % to" in shown[0]


def test_a_name_cannot_write_control_codes() -> None:
    hostile = ContractProgress("evil\x1b]0;owned\x07[red]\x1b[2J", 1, 10, pairs=1, not_worse=0.5)
    for console in (_terminal(), _log()):
        clock = SetClock()
        with TerminalProgress(console, clock) as progress:
            progress.started(10, _standings(hostile))
            clock.now += 20
            progress.advanced()
        assert "\x1b]0" not in _text(console)
        assert "\x1b[2J" not in _text(console)
        assert "[red]" in _text(console)


@pytest.mark.parametrize(
    ("variable", "value"), [("FORCE_COLOR", "1"), ("TTY_COMPATIBLE", "1"), ("TERM", "dumb")]
)
def test_a_log_gets_no_control_codes_whatever_is_set(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str
) -> None:
    monkeypatch.setenv(variable, value)
    file = TerminalStream() if variable == "TERM" else io.StringIO()
    clock, console = SetClock(), Console(file=file, width=80, highlight=False)
    with TerminalProgress(console, clock) as progress:
        progress.started(10, _standings(TAGS))
        clock.now += 20
        progress.advanced()
    assert "\x1b" not in file.getvalue()
    assert len(file.getvalue().splitlines()) == 3


def test_a_real_terminal() -> None:
    ours, theirs = pty.openpty()
    with os.fdopen(theirs, "w") as writer:
        progress = TerminalProgress(Console(file=writer, width=80, height=24), SetClock())
        progress.started(400, _standings(TAGS))
        progress.finished()
    text = ""
    with os.fdopen(ours, "rb", buffering=0) as reader, contextlib.suppress(OSError):
        while chunk := reader.read(65536):  # ends with EIO, as nobody writes any more
            text += chunk.decode()
    assert "speech-tag" in text
    assert text.endswith("sampling: 0 of 400 in 0 s\r\n")


def test_nothing_to_sample_is_silent() -> None:
    console = _log()
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
    console = _terminal()
    with TerminalProgress(console):
        pass
    assert _text(console) == ""


def test_the_drawing_goes_away_when_a_run_breaks_off() -> None:
    console = _terminal()
    progress = TerminalProgress(console, SetClock())
    progress.started(3)
    progress.__exit__(KeyboardInterrupt, KeyboardInterrupt(), None)
    assert _drawn(console).splitlines()[-1].endswith("sampling: 0 of 3 in 0 s")
    assert _text(console).count("\x1b[?25l") == _text(console).count("\x1b[?25h") == 1


def test_a_log_of_a_batch_gets_rarer_lines() -> None:
    clock, console = SetClock(), _log()
    with TerminalProgress(console, clock) as progress:
        progress.started(72)
        for minute in range(24 * 60):
            clock.now = 100.0 + 60 * minute
            progress.waits(f"waiting for 1 batch, {minute} of 72 requests done")
        progress.waits("")
        progress.advanced()
    first, second, third, *rest, last = _text(console).splitlines()
    assert first == "sampling: 72 calls planned"
    assert second == "sampling: 0 of 72; waiting for 1 batch, 0 of 72 requests done (0 s)"
    assert third == "sampling: 0 of 72; waiting for 1 batch, 1 of 72 requests done (60 s)"
    assert 90 < len(rest) < 110
    assert last.startswith("sampling: 1 of 72 in 23 h 59 min")


def test_a_terminal_shows_what_the_run_waits_for() -> None:
    clock, console = SetClock(), _terminal()
    with TerminalProgress(console, clock) as progress:
        progress.started(72)
        clock.now += 300
        progress.waits("waiting for 1 batch of 72 requests")
        assert "waiting for 1 batch of 72 requests (5 min 0 s), 0 of 72" in _drawn(console)
        before = len(_drawn(console))
        progress.waits("")
        assert "waiting" not in _drawn(console)[before:]


def test_a_log_is_written_without_rich(capsys: pytest.CaptureFixture[str]) -> None:
    clock = SetClock()
    progress = TerminalProgress(clock=clock)
    with progress:
        progress.started(2)
        progress.advanced()
        clock.now += 20
        progress.advanced(cost_usd=0.01)
    assert progress._given is None
    assert capsys.readouterr().err.splitlines() == [
        "sampling: 2 calls planned",
        "sampling: 2 of 2, 0.1/s, cost 0.010 USD",
        "sampling: 2 of 2 in 20 s, 0.1/s, cost 0.010 USD",
    ]


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
