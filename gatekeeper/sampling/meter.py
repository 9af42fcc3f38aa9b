"""What a run has spent, and whether it may spend more."""

from __future__ import annotations

from collections.abc import Callable

from gatekeeper.contract.policy import Limits
from gatekeeper.contract.trial import Completion
from gatekeeper.sampling.retry import Sleep

Clock = Callable[[], float]


class LimitReached(Exception):
    """The run may not make another call. The message names the limit."""


class Meter:
    """Counts calls and costs against the limits, and spaces calls in time.

    A call counts when it starts, also when it is a retry: it reaches the model either way.
    The cost of calls in flight is assumed to be the mean of the known costs, so that a
    limit is not overrun by everything that is on its way.
    """

    def __init__(self, limits: Limits, clock: Clock, sleep: Sleep) -> None:
        self.made = 0
        self.cost_usd: float | None = None
        self._limits = limits
        self._clock = clock
        self._sleep = sleep
        self._started = clock()
        self._next_start = self._started
        self._priced = 0
        self._in_flight = 0

    def seconds_left(self) -> float | None:
        """Until the time limit; None without one."""
        if self._limits.minutes is None:
            return None
        return self._limits.minutes * 60 - (self._clock() - self._started)

    async def wait_for_turn(self) -> None:
        """Wait until requests_per_minute allows the next call."""
        if not self._limits.requests_per_minute:
            return
        now = self._clock()
        start = max(now, self._next_start)
        self._next_start = start + 60 / self._limits.requests_per_minute
        if start > now:
            await self._sleep(start - now)

    def start(self) -> None:
        """Count a call that is about to start. Raises LimitReached."""
        calls, cost = self._limits.calls, self._limits.cost_usd
        if calls is not None and self.made >= calls:
            raise LimitReached(f"the limit of {calls} calls is reached")
        if cost is not None and self._expected_cost() > cost:
            raise LimitReached(f"the cost limit of ${cost:.2f} is reached")
        left = self.seconds_left()
        if left is not None and left <= 0:
            raise LimitReached(self.out_of_time())
        self.made += 1
        self._in_flight += 1

    def finish(self, completion: Completion | None, *, called: bool = True) -> None:
        """Count a call that has ended, with its answer where it had one. Where no model was
        `called`, because a recording stands for it, nothing was spent."""
        self._in_flight -= 1
        if not called:
            self.made -= 1
            return
        if completion is not None and completion.cost_usd is not None:
            self._priced += 1
            self.cost_usd = (self.cost_usd or 0.0) + completion.cost_usd

    def out_of_time(self) -> str:
        """What the time limit says when it is reached."""
        return f"the time limit of {self._limits.minutes or 0:g} minutes is reached"

    def _expected_cost(self) -> float:
        """What everything made so far and one more call will have cost, as far as is known."""
        if self.cost_usd is None:
            return 0.0
        return self.cost_usd + (self._in_flight + 1) * self.cost_usd / self._priced
