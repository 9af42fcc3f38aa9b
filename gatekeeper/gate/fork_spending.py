"""Refuses a pull request from a fork that could spend more than the base policy's limits.

Its author may not spend the repository's money. A limit that ends the run is no protection, because
the author could push again. So what the whole run could spend has to fit before any call.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from gatekeeper import numbers
from gatekeeper.contract.models.params import advise_shorter_answers
from gatekeeper.contract.policy import POLICY_PATH, Limits
from gatekeeper.contract.trial import Request


def refuse_calls_of_fork(requests: Sequence[Request], limits: Limits) -> str | None:
    """Return why the run has too many calls; None if they fit."""
    if limits.calls is None or len(requests) <= limits.calls:
        return None
    return _beyond(requests, f"take {len(requests):,} calls", f"{limits.calls:,}", "calls")


def refuse_cost_of_fork(
    requests: Sequence[Request], prices: Sequence[float | None], limit: float
) -> str | None:
    """Return why the run could cost more than `limits.cost_usd`, by the highest price of each
    request in US dollars; None if it fits. A request with an unknown price never fits."""
    if None in prices:
        return (
            f"no price is known for {requests[prices.index(None)].model}, so `limits.cost_usd` "
            "could not limit the cost of this pull request. Because the pull request comes from a "
            "fork, no model was called. Use a model from litellm's price list, or ask a maintainer "
            f"to set `limits.cost_usd` to null in {POLICY_PATH} of the base branch and to rely on "
            "`limits.calls`"
        )
    total = math.fsum(price or 0.0 for price in prices)
    if total <= limit:
        return None
    forecast = f"cost {numbers.dollars(total)} at worst"
    return _beyond(requests, forecast, numbers.dollars(limit), "cost_usd")


def _beyond(requests: Sequence[Request], forecast: str, limit: str, name: str) -> str:
    shorter = advise_shorter_answers(request.params for request in requests)
    return (
        f"the run for this pull request may {forecast}, but the base policy allows {limit}. "
        "Because the pull request comes from a fork, no model was called. Use fewer fixtures or "
        f"samples, {shorter}, or ask a maintainer to raise `limits.{name}` in {POLICY_PATH} of "
        "the base branch"
    )
