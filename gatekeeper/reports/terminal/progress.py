"""Progress while sampling, on standard error.

On a terminal it is a few lines that are updated: calls, rate, cost, time left, and each contract's
progress. Elsewhere it is a plain line at intervals, without control codes.
"""

from __future__ import annotations

import contextlib
import math
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TextIO, cast

from gatekeeper import numbers
from gatekeeper.gate.measuring.monitor import ContractProgress
from gatekeeper.reports.escape import plain

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.live import Live
    from rich.table import Table


SECONDS_BETWEEN_LINES = 15.0
"""In a log."""
_LONGEST_SECONDS_BETWEEN_LINES = 900.0
"""Of a wait for hours, after lines at growing intervals."""
_SECONDS_BETWEEN_DRAWINGS = 0.2
_SHARE_OF_TIME = 0.05
"""The largest share of the run's time that showing its progress may take."""
_SECONDS_FOR_ESTIMATE = 5.0
_CALLS_FOR_ESTIMATE = 20
"""The share of all calls after which the time left is shown, if that comes sooner."""
_MOST_CONTRACTS = 12
_ENOUGH_OF_A_NAME = 12
_GAP = 2
_ANSWERS = {
    "regressed": "is worse",
    "not_worse": "is not worse",
    "futile": "no drop shown",
    "exhausted": "all sampled",
}
_STYLES = {"regressed": "red", "not_worse": "green"}


class TerminalProgress:
    """Follows one run. Safe to use without ever being started: then it shows nothing."""

    def __init__(
        self, console: Console | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._given = console
        self._clock = clock
        self._live: Live | None = None
        self._contracts: Callable[[], Sequence[ContractProgress]] = tuple
        self._total = self._done = self._failed = self._refused = 0
        self._cost: float | None = None
        self._began = self._next = 0.0
        self._waits_for = ""
        self._next_wait = self._wait_pause = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.finished()

    def started(
        self, total: int, contracts: Callable[[], Sequence[ContractProgress]] = tuple
    ) -> None:
        """Start the display: `total` calls are planned; fewer may be made.

        `contracts` is called now and then.
        """
        self._total, self._cost = total, None
        self._done = self._failed = self._refused = 0
        self._waits_for, self._next_wait, self._wait_pause = "", 0.0, SECONDS_BETWEEN_LINES
        self._contracts = contracts
        self._began = self._clock()
        if not total:
            return
        if self._is_log() or not can_draw(self._console()):
            self._line(f"sampling: {numbers.count(total, 'call')} planned")
            self._next = self._began + SECONDS_BETWEEN_LINES
            return
        self._start_drawing()

    def expect(self, calls: int) -> None:
        """Add so many calls to the most that are made."""
        self._total += calls
        self._show()

    def _start_drawing(self) -> None:
        from rich.live import Live

        # Standard output may be a pipe that somebody reads: nothing is written there.
        self._live = Live(
            console=self._console(), auto_refresh=False, transient=True, redirect_stdout=False
        )
        self._live.start()
        self._draw()

    def advanced(self, *, cost_usd: float | None = None, failed: bool = False) -> None:
        """Count one more finished call. The shown cost is the sum of the known costs."""
        self._done += 1
        self._failed += failed
        if cost_usd is not None:
            self._cost = (self._cost or 0.0) + cost_usd
        self._show()

    def refused(self) -> None:
        """Count one more request that the provider refused because of load. A person who waits for
        the first answer then sees why."""
        self._refused += 1
        self._show()

    def waits(self, text: str) -> None:
        """Show what the run waits for, such as batches; empty if it is nothing any more.

        A log gets a line at growing intervals: a batch may take a day.
        """
        self._waits_for = text
        now = self._clock()
        if self._live:
            self._draw()
        elif text and now >= self._next_wait:
            self._wait_pause = min(2 * self._wait_pause, _LONGEST_SECONDS_BETWEEN_LINES)
            self._next_wait = now + self._wait_pause
            self._line(f"sampling: {self._calls()}{self._state()}; {text} ({self._took()})")

    def _show(self) -> None:
        if self._clock() < self._next:
            return
        if self._live:
            self._draw()
        else:
            self._next = self._clock() + SECONDS_BETWEEN_LINES
            self._line("; ".join([f"sampling: {self._calls()}{self._state()}", *self._evidence()]))

    def finished(self) -> None:
        """Remove the display and leave one line. Safe to call twice."""
        if self._live:
            self._live.stop()
            self._live = None
        if self._total:
            self._line(f"sampling: {self._calls()} in {self._took()}{self._state(ended=True)}")
            self._total = 0

    def _draw(self) -> None:
        assert self._live is not None  # noqa: S101
        began = self._clock()
        self._live.update(self._picture(self._contracts()), refresh=True)
        now = self._clock()
        self._next = now + max(_SECONDS_BETWEEN_DRAWINGS, (now - began) / _SHARE_OF_TIME)

    def _picture(self, contracts: Sequence[ContractProgress]) -> RenderableType:
        from rich.console import Group
        from rich.text import Text

        console = self._console()
        waits = f"{self._waits_for} ({self._took()}), " if self._waits_for else ""
        said = f"sampling: {waits}{self._calls()}{self._state(contracts)}"
        head = Text(said, overflow="ellipsis")
        head.no_wrap = True
        # Two lines for the head and for what is left out, one for the cursor.
        room = max(0, min(_MOST_CONTRACTS, console.height - 3))
        shown = sorted(contracts, key=_nearest_first)[:room]
        parts: list[RenderableType] = [head, _table(shown, console.width)]
        hidden = len(contracts) - len(shown)
        if shown and hidden:
            answered = sum(s.answer is not None for s in contracts)
            more = f"and {hidden:,} more; {answered:,} of {len(contracts):,} have a result"
            parts.append(Text(more, style="dim", no_wrap=True, overflow="ellipsis"))
        return Group(*parts)

    def _evidence(self) -> Iterator[str]:
        """Say how many contracts have a result, and how near the next one is."""
        contracts = self._contracts()
        if len(contracts) > 1:
            answered = sum(s.answer is not None for s in contracts)
            yield f"{answered:,} of {len(contracts):,} contracts have a result"
        nearest = min((s for s in contracts if s.answer is None), key=_nearest_first, default=None)
        if nearest is not None:
            yield f"{plain(nearest.contract)}: {', '.join(filter(None, _cells(nearest)))}"

    def _took(self) -> str:
        return numbers.duration(self._clock() - self._began)

    def _calls(self) -> str:
        return f"{self._done:,} of {self._total:,}"

    def _state(
        self, contracts: Sequence[ContractProgress] | None = None, *, ended: bool = False
    ) -> str:
        seconds = self._clock() - self._began
        said = [f"cost {numbers.dollars(self._cost)}"] if self._done else []
        if seconds > 0 and self._done:
            said.insert(0, f"{self._done / seconds:.1f}/s")
            left = 0 if ended else self._calls_left(contracts)
            if left and self._can_tell_time(seconds):
                said.append(f"at most {numbers.duration(left * seconds / self._done)} left")
        if self._failed:
            said.append(f"{self._failed:,} failed")
        if self._refused:
            said.append(f"{self._refused:,} refused because of the provider's load")
        return "".join(f", {part}" for part in said)

    def _can_tell_time(self, seconds: float) -> bool:
        """Return whether the speed is known: the first answers come late and together, so they show
        no speed."""
        return seconds >= _SECONDS_FOR_ESTIMATE and self._done >= min(
            _CALLS_FOR_ESTIMATE, self._total / 4
        )

    def _calls_left(self, contracts: Sequence[ContractProgress] | None) -> int:
        """Return the most calls that are left. A contract that has its result needs no more."""
        planned = self._total - self._done
        every = self._contracts() if contracts is None else contracts
        if not every:
            return planned
        return min(planned, sum(s.planned - s.sampled for s in every if s.answer is None))

    def _is_log(self) -> bool:
        """Return whether standard error is certainly no terminal. Then rich, whose import would
        delay the first call, is not needed."""
        return self._given is None and not (sys.stderr and sys.stderr.isatty())

    def _line(self, text: str) -> None:
        if self._is_log():
            stream = _LossyStream(sys.stderr)
            stream.write(f"{text}\n")
            stream.flush()
            return
        from rich.text import Text

        self._console().print(Text(text), soft_wrap=True)

    def _console(self) -> Console:
        from rich.console import Console

        self._given = self._given or Console(
            file=cast(TextIO, _LossyStream(sys.stderr)), highlight=False
        )
        return self._given


class _LossyStream:
    """A stream that ignores failed writes: a run does not end because its progress cannot be
    written.

    rich would end the process, and standard output with it, at the first line for a closed pipe.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        try:
            return self._stream.write(text)
        except OSError:
            return len(text)

    def flush(self) -> None:
        with contextlib.suppress(OSError):
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def can_draw(console: Console) -> bool:
    """Return whether the file is a terminal. With FORCE_COLOR, rich takes a log
    for a terminal, so the file itself is checked."""
    return console.is_terminal and not console.is_dumb_terminal and console.file.isatty()


def _nearest_first(contract: ContractProgress) -> tuple[bool, float, str]:
    near = max(contract.worse or 0.0, contract.not_worse or 0.0)
    near = near or contract.sampled / max(1, contract.planned)
    return contract.answer is not None, -near, contract.contract


def _table(contracts: Sequence[ContractProgress], width: int) -> Table:
    """Return a row for each contract, no wider than `width`: the result, or how near it is, stands
    beside the name, and what has no room is cut at the right."""
    from rich.table import Table
    from rich.text import Text

    rows = [(contract, _cells(contract)[::-1]) for contract in contracts]
    taken = sum(max((len(cells[at]) for _, cells in rows), default=0) + _GAP for at in range(3))
    longest = max((len(plain(contract.contract)) for contract, _ in rows), default=0)
    name = max(min(_ENOUGH_OF_A_NAME, width - 1), width - 1 - taken)
    table = Table.grid(padding=(0, _GAP, 0, 0))
    table.add_column(
        no_wrap=True, overflow="ellipsis", min_width=min(name, longest), max_width=name
    )
    for _ in range(3):
        table.add_column(no_wrap=True, overflow="ellipsis")
    for contract, (near, *others) in rows:
        said = Text(near, _STYLES.get(contract.answer or "", ""))
        table.add_row(Text(plain(contract.contract)), said, *map(Text, others))
    return table


def _cells(contract: ContractProgress) -> tuple[str, str, str]:
    """Return the progress, what changed, and the result or how near it is."""
    if contract.pairs is None:
        sampled, changed = f"{contract.sampled:,} of {contract.planned:,} samples", ""
    else:
        sampled = numbers.count(contract.pairs, "pair")
        changed = f"{contract.broke:,} broke, {contract.fixed:,} fixed"
    if contract.answer is not None:
        return sampled, changed, _ANSWERS[contract.answer]
    worse, not_worse = contract.worse or 0.0, contract.not_worse or 0.0
    if not worse and not not_worse:
        return sampled, changed, ""
    name, near = ("worse", worse) if worse >= not_worse else ("not worse", not_worse)
    return sampled, changed, f"{numbers.percent(math.floor(near * 100) / 100)} to {name}"


@dataclass(slots=True)
class _Stage:
    """A stage under way: its questions, how many of them are answered, and when it began."""

    began: float
    questions: int = 0
    answered: int = 0


class StageProgress(TerminalProgress):
    """Follows the questions of one run, stage by stage. Shows nothing before the first one."""

    def __init__(
        self, console: Console | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__(console, clock)
        self._stages: dict[str, _Stage] = {}

    def asked(self, stage: str) -> None:
        """Count one more question of the stage. Stages without an open question have ended."""
        for name in [n for n, s in self._stages.items() if s.answered == s.questions]:
            if name != stage:
                self._end(name)
        if not (self._live or self._is_log()) and can_draw(self._console()):
            self._start_drawing()
        now = self._clock()
        if stage not in self._stages:
            self._stages[stage] = _Stage(now)
            self._next = now + SECONDS_BETWEEN_LINES
        self._stages[stage].questions += 1
        if self._live:
            self._draw()  # nothing else may happen for minutes

    def answered(self, stage: str, cost_usd: float | None) -> None:
        """Count one more answer, or failure, of the stage. The cost is that of the run so far."""
        self._cost = cost_usd
        self._stages[stage].answered += 1
        self._show()

    def finished(self) -> None:
        """Remove the display and leave a line for each stage. Safe to call twice."""
        super().finished()
        for name in list(self._stages):
            self._end(name)

    def _end(self, name: str) -> None:
        stage = self._stages.pop(name)
        took = numbers.duration(self._clock() - stage.began)
        self._line(f"{self._said(name, stage)} in {took}{self._spent()}")

    def _show(self) -> None:
        now = self._clock()
        if now < self._next:
            return
        if self._live:
            self._draw()
            return
        self._next = now + SECONDS_BETWEEN_LINES
        for name, stage in self._stages.items():
            self._line(f"{self._said(name, stage)}{self._spent()}")

    def _picture(self, _: Sequence[ContractProgress]) -> RenderableType:
        from rich.text import Text

        lines = [f"{self._said(n, s)}{self._spent()}" for n, s in self._stages.items()]
        return Text("\n".join(lines), no_wrap=True, overflow="ellipsis")

    def _said(self, name: str, stage: _Stage) -> str:
        known = f"{stage.answered:,} of at most {numbers.count(stage.questions, 'call')}"
        return f"{name.replace('_', ' ')}: {known}"

    def _spent(self) -> str:
        return "" if self._cost is None else f", cost so far {numbers.dollars(self._cost)}"
