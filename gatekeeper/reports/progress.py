"""Progress while sampling, on standard error: a bar on a terminal, a few plain lines elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Self

from gatekeeper.reports import figures
from gatekeeper.reports.harmless import plain

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, TaskID

_SECONDS_BETWEEN_LINES = 15.0


class TerminalProgress:
    """Follows one run. Safe to use without ever being started: then it shows nothing."""

    def __init__(
        self, console: Console | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._given = console
        self._clock = clock
        self._bar: Progress | None = None
        self._task: TaskID | None = None
        self._total = self._done = self._failed = 0
        self._cost: float | None = None
        self._began = self._last_line = 0.0
        self._label = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.finished()

    def started(self, total: int, label: str = "sampling") -> None:
        """`total` calls are planned; fewer may be made."""
        self._total, self._done, self._failed, self._cost = total, 0, 0, None
        self._label = plain(label)
        self._began = self._last_line = self._clock()
        if not total:
            return
        if not self._console().is_terminal:
            self._line(f"{self._label}: at most {figures.count(total, 'call')}")
            return
        self._bar = _bar(self._console())
        self._task = self._bar.add_task(self._label, total=total, state="")
        self._bar.start()

    def advanced(
        self, calls: int = 1, *, cost_usd: float | None = None, failed: bool = False
    ) -> None:
        """So many more calls are done. The cost shown is the sum of what is known."""
        self._done += calls
        self._failed += calls if failed else 0
        if cost_usd is not None:
            self._cost = (self._cost or 0.0) + cost_usd
        if self._bar and self._task is not None:
            self._bar.update(self._task, completed=self._done, state=self._state())
        elif self._clock() - self._last_line >= _SECONDS_BETWEEN_LINES:
            self._last_line = self._clock()
            self._line(f"{self._label}: {self._done:,} of {self._total:,}, {self._state()}")

    def finished(self) -> None:
        """The bar goes away and one line stays. Safe to call twice."""
        if self._bar:
            self._bar.stop()
            self._bar = None
        if self._total:
            took = figures.duration(self._clock() - self._began)
            self._line(
                f"{self._label}: {self._done:,} of {self._total:,} in {took}, {self._state()}"
            )
            self._total = 0

    def _state(self) -> str:
        seconds = self._clock() - self._began
        rate = f"{self._done / seconds:.1f}/s, " if seconds > 0 and self._done else ""
        failed = f", {self._failed:,} failed" if self._failed else ""
        return f"{rate}cost {figures.dollars(self._cost)}{failed}"

    def _line(self, text: str) -> None:
        from rich.text import Text

        self._console().print(Text(text))

    def _console(self) -> Console:
        from rich.console import Console

        self._given = self._given or Console(stderr=True, highlight=False)
        return self._given


def _bar(console: Console) -> Progress:
    from rich import progress

    return progress.Progress(
        progress.TextColumn("{task.description}", markup=False),
        progress.BarColumn(),
        progress.MofNCompleteColumn(),
        progress.TextColumn("{task.fields[state]}", markup=False),
        progress.TimeRemainingColumn(),
        console=console,
        transient=True,
    )
