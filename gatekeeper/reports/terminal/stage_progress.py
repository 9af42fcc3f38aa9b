"""Progress of a run that asks models in stages, on standard error.

On a terminal it is one line for each stage under way, which is updated. Each finished stage leaves
one plain line, also where there is no terminal.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gatekeeper import numbers
from gatekeeper.gate.measuring.progress import ContractProgress
from gatekeeper.reports.terminal.progress import (
    SECONDS_BETWEEN_LINES,
    TerminalProgress,
    can_draw,
)

if TYPE_CHECKING:
    from rich.console import Console, RenderableType


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
