"""Counts what a run has spent, and decides whether it may spend more."""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from gatekeeper import numbers
from gatekeeper.contract.models.params import (
    CHARACTERS_A_TOKEN,
    advise_shorter_answers,
    written_limits,
)
from gatekeeper.contract.policies.policy import Limits
from gatekeeper.contract.values.trial import Completion, Request
from gatekeeper.sampling.retries import Sleep

Clock = Callable[[], float]
Price = Callable[[Request], float | None]
"""The highest possible cost of a request in US dollars; None if no price is known, infinite if
nothing limits the cost."""


class LimitReached(Exception):
    """The run may not make another call. The message names the limit, which is `limit` alone, and
    maybe what to do in a contract."""

    def __init__(self, limit: str, remedy: str = "") -> None:
        super().__init__(f"{limit}; {remedy}" if remedy else limit)
        self.limit = limit


@dataclass(frozen=True, slots=True)
class Reserve:
    """The amount that is set aside for one call until its price is known, in US dollars, and the
    expected number of its tokens."""

    model: str
    amount: float
    tokens: float = 0.0


class _Spacing:
    """Spaces the starts of calls so that they stay within an amount per minute."""

    def __init__(self, a_minute: float, now: float) -> None:
        self._seconds_each = 60 / a_minute
        self._next = now

    def wait_for(self, amount: float, now: float) -> float:
        """Take an amount. Returns the seconds to wait before the call may start."""
        start = max(now, self._next)
        self._next = start + amount * self._seconds_each
        return start - now

    def correct(self, difference: float) -> None:
        """Add the difference between the actual and the expected amount of a call; negative if it
        took less."""
        self._next += difference * self._seconds_each


class Meter:
    """Counts calls and costs against the limits, and spaces calls in time.

    A call counts when it starts, also when it is a retry: it reaches the model either way. Before a
    call starts, its highest possible cost is set aside, so that finished calls and calls under way
    never exceed the limit together. A call whose price stays unknown, because the answer has no
    token counts or there is no answer although the provider may bill one, keeps what was set aside.

    The first call to a model goes alone. If it costs more than was set aside for it, that much is
    set aside from then on. So a price that is not in the list, or is wrong there, is found out by
    one call and not by many. This does not apply to calls that are made `together`, in a batch.
    """

    def __init__(
        self,
        limits: Limits,
        clock: Clock,
        sleep: Sleep,
        price: Price | None = None,
        *,
        together: bool = False,
    ) -> None:
        self.made = 0
        self.cost_usd: float | None = None
        """The sum of the known costs; None if no cost is known."""
        self._limits = limits
        self._clock = clock
        self._sleep = sleep
        self._price = price
        self._together = together
        self._started = clock()
        self._requests = _spacing(limits.requests_per_minute, self._started)
        self._tokens = _spacing(limits.tokens_per_minute, self._started)
        self._tokens_known: dict[str, tuple[int, int]] = {}  # calls and their tokens, of each model
        self._assumed = 0.0
        self._reserved = 0.0
        self._under_way: Counter[str] = Counter()
        self._dearest: dict[str, float] = {}
        self._queue = asyncio.Lock()  # whoever waits for room longest is served first
        self._ended_one = asyncio.Event()

    def seconds_left(self) -> float | None:
        """Return the seconds until the time limit; None without one."""
        if self._limits.minutes is None:
            return None
        return self._limits.minutes * 60 - (self._clock() - self._started)

    async def wait_for_turn(self, request: Request) -> None:
        """Wait until requests_per_minute and tokens_per_minute allow the call."""
        now = self._clock()
        seconds = max(
            self._requests.wait_for(1, now) if self._requests else 0.0,
            self._tokens.wait_for(self._expected_tokens(request), now) if self._tokens else 0.0,
        )
        if seconds > 0:
            await self._sleep(seconds)

    async def start(self, request: Request) -> Reserve:
        """Count a call that is about to start, as soon as the limit leaves room for its highest
        possible cost.

        Raises LimitReached if there is no room and no call under way can free any.
        """
        known = self._price(request) if self._price and self._limits.cost_usd is not None else None
        async with self._queue:
            while True:
                self._require_calls_and_time()
                dearest = self._dearest.get(request.model)
                amount = max(known or 0.0, dearest or 0.0)
                reserve = Reserve(request.model, amount, self._expected_tokens(request))
                alone = known != 0 and dearest is None and not self._together
                if self._has_room(reserve, alone=alone):
                    break
                self._require_hope(reserve, request)
                self._ended_one.clear()
                await self._ended_one.wait()
        self.made += 1
        self._under_way[reserve.model] += 1
        self._reserved += reserve.amount
        return reserve

    def finish(
        self,
        reserve: Reserve,
        completion: Completion | None,
        *,
        called: bool = True,
        billable: bool = True,
    ) -> None:
        """Count a call that has ended, with its answer if it had one.

        If no model was `called`, because the call was no longer needed or a recording answered it,
        nothing was spent. `billable` says that the provider may bill a call without an answer.
        """
        self._under_way[reserve.model] -= 1
        self._reserved -= reserve.amount
        self._ended_one.set()
        self._count_tokens(reserve, completion, called=called)
        if called or completion:
            self._dearest.setdefault(reserve.model, 0.0)
        if not called:
            self.made -= 1
            return
        cost = completion.cost_usd if completion else None
        if cost is not None and 0 <= cost < math.inf:
            self.cost_usd = (self.cost_usd or 0.0) + cost
            self._dearest[reserve.model] = max(self._dearest[reserve.model], cost)
        elif completion or billable:
            self._assumed += reserve.amount

    @property
    def charged_usd(self) -> float:
        """Return what counts against the limit, in US dollars: known costs, and of calls whose cost
        stays unknown the highest possible one."""
        return (self.cost_usd or 0.0) + self._assumed

    def _expected_tokens(self, request: Request) -> float:
        """Return the mean tokens of calls to the model so far. Before the first has ended, return a
        rough guess, with an answer no longer than the parameters allow."""
        calls, tokens = self._tokens_known.get(request.model, (0, 0))
        if calls:
            return tokens / calls
        characters = sum(len(message.content) for message in request.messages)
        answer = min([_TOKENS_OF_AN_ANSWER, *written_limits(request.params)])
        return characters / CHARACTERS_A_TOKEN + answer

    def _count_tokens(
        self, reserve: Reserve, completion: Completion | None, *, called: bool
    ) -> None:
        if self._tokens is None:
            return
        if not called:
            self._tokens.correct(-reserve.tokens)
        elif completion and completion.prompt_tokens is not None:
            used = completion.prompt_tokens + (completion.completion_tokens or 0)
            calls, tokens = self._tokens_known.get(reserve.model, (0, 0))
            self._tokens_known[reserve.model] = (calls + 1, tokens + used)
            self._tokens.correct(used - reserve.tokens)

    def out_of_time(self) -> str:
        """Return the message of the reached time limit."""
        return f"the time limit of {self._limits.minutes or 0:g} minutes is reached"

    def _require_calls_and_time(self) -> None:
        calls, left = self._limits.calls, self.seconds_left()
        if calls is not None and self.made >= calls:
            raise LimitReached(f"the limit of {calls} calls is reached")
        if left is not None and left <= 0:
            raise LimitReached(self.out_of_time())

    def _has_room(self, reserve: Reserve, *, alone: bool) -> bool:
        """Return whether the call fits.

        If it must run `alone`, no other call to its model may be under way.
        """
        limit = self._limits.cost_usd
        if limit is None:
            return True
        if alone and self._under_way[reserve.model]:
            return False
        return self.charged_usd + self._reserved + reserve.amount <= limit + _ROUNDING

    def _require_hope(self, reserve: Reserve, request: Request) -> None:
        """Raise LimitReached if the call will not fit, however little those under way cost."""
        limit = self._limits.cost_usd or 0.0
        under_way = self._under_way.total() > 0
        if under_way and self.charged_usd + reserve.amount <= limit + _ROUNDING:
            return
        spent, assumed = numbers.dollars(self.charged_usd), numbers.dollars(self._assumed)
        said = (
            f"the cost limit of {numbers.dollars(limit)} is too low for the next call: "
            f"{spent} are spent"
        )
        if self._assumed:
            said += (
                f" ({assumed} of this is the highest possible cost of calls without a known price)"
            )
        raise LimitReached(
            f"{said}, and the next call to {reserve.model} can cost "
            f"{numbers.dollars(reserve.amount)}",
            f"{advise_shorter_answers([request.params])} in the contract's `params`, or raise "
            "limits.cost_usd",
        )


_ROUNDING = 1e-12  # sums of prices are not exact
_TOKENS_OF_AN_ANSWER = 250


def _spacing(a_minute: float | None, now: float) -> _Spacing | None:
    return _Spacing(a_minute, now) if a_minute else None
