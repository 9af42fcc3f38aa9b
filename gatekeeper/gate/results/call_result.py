"""How many calls a run made to models and judges, and what it was forecast to take."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


def sum_if_all_known(counts: Iterable[int | None]) -> int | None:
    """Return the sum; None if one of the numbers is unknown."""
    known = list(counts)
    return None if None in known else sum(count or 0 for count in known)


@dataclass(frozen=True, slots=True)
class JudgeCalls:
    """The questions to judges, or to simulated users. `made` reached a model, retries included;
    `cached` were answered from a recording or were known before; `failed` have no answer. `samples`
    have the answer of a judge or user, and all of them together cost `cost_usd` US dollars; None if
    that is not known."""

    made: int = 0
    cached: int = 0
    failed: int = 0
    samples: int = 0
    cost_usd: float | None = None

    @property
    def cost_per_100_samples(self) -> float | None:
        """Return what these calls cost for 100 samples, in US dollars; None if it is not known."""
        if self.cost_usd is None or not self.samples:
            return None
        return self.cost_usd * 100 / self.samples


@dataclass(frozen=True, slots=True)
class Calls:
    """`made` reached a model, retries included; `cached` were answered from a recording or from the
    cache; `saved` were planned and not needed, because the result was certain before; `failed` had
    no answer; `surplus` were under way when the result was certain: paid for, but no evidence.
    `unrecorded` are requests that a recording should have answered and has no answer for.
    `throttled` were refused by a provider because of load; they are in `made`. `prompt_tokens` and
    `completion_tokens` are those of the answers that the result uses, also of judges and simulated
    users, but not of retries and surplus calls; None if one is unknown. `cached_tokens` were
    read from the providers' caches, `cache_write_tokens` written to them, and `reasoning_tokens` of
    the answers used for reasoning; None if unknown. `judge` are the calls to judges, `user` those
    to simulated users, None without any; those that reached a model are in `made`."""

    made: int = 0
    cached: int = 0
    saved: int = 0
    failed: int = 0
    surplus: int = 0
    unrecorded: int = 0
    throttled: int = 0
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None
    reasoning_tokens: int | None = None
    judge: JudgeCalls | None = None
    user: JudgeCalls | None = None

    @property
    def tokens(self) -> int | None:
        """Return the tokens of prompts and answers; None if they are unknown."""
        return sum_if_all_known((self.prompt_tokens, self.completion_tokens))


@dataclass(frozen=True, slots=True)
class ForecastAmounts:
    """Calls, their tokens and what they cost in US dollars. None is not known, or nothing bounds
    it."""

    calls: int
    prompt_tokens: int | None
    completion_tokens: int | None
    cost_usd: float | None

    @property
    def tokens(self) -> int | None:
        """Return the tokens of prompts and answers; None if they are unknown."""
        return sum_if_all_known((self.prompt_tokens, self.completion_tokens))


@dataclass(frozen=True, slots=True)
class Forecast:
    """What was known of calls before the first one was made. `expected` is what a harmless change
    takes, with answers of an expected length; `most` is what all planned calls take, with the
    longest answers that are possible. Retries are not included."""

    expected: ForecastAmounts
    most: ForecastAmounts
