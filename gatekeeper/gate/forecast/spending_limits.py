"""Limits what a run may spend: it is refused before any call if the base policy's limits cannot
hold.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from gatekeeper import numbers
from gatekeeper.contract.models.params import advise_shorter_answers
from gatekeeper.contract.policies.policy import POLICY_PATH
from gatekeeper.contract.values.trial import Request
from gatekeeper.errors import MeasurementError, UsageError
from gatekeeper.gate.work import Work
from gatekeeper.sampling.calls import distinct_requests
from gatekeeper.sampling.limits import Price


def require_within_limits(work: Work, worst: Price, *, trusted: bool = False) -> tuple[str, ...]:
    """Refuse work that the base policy's limits cannot hold or would never let finish, before any
    call. Returns notices about what is not refused.

    `worst` gives the highest possible cost of a request. A single call that costs more than the
    limit is refused to everybody: UsageError. Work that is not `trusted`, because its author may
    not spend the repository's money, is also refused if it could spend more than the limits in
    total, or has no known price: MeasurementError. A trusted head may spend up to the limit, and
    ends in an error there. For others this is no protection, because they could push again.
    """
    refused = refusal(work, worst, trusted=trusted)
    if refused:
        raise (UsageError if trusted else MeasurementError)(refused)
    return () if work.policy.limits.cost_usd is None else _notices(work, worst)


def _notices(work: Work, worst: Price) -> tuple[str, ...]:
    """Name the models that the cost limit does not count, and those for which it makes a run
    slow."""
    limits = work.policy.limits
    dearest: dict[str, float | None] = {}
    requests = (*distinct_requests(work.trials), *work.questions)
    for request in requests:
        price, known = worst(request), dearest.get(request.model, 0.0)
        dearest[request.model] = None if price is None or known is None else max(price, known)
    said = []
    for model, price in dearest.items():
        if price is None:
            said.append(
                f"No price is known for {model}, so `limits.cost_usd` does not "
                "limit the calls to this model; only `limits.calls` limits these calls."
            )
        elif price and (room := (limits.cost_usd or 0.0) / price) < limits.concurrency:
            shorter = advise_shorter_answers(r.params for r in requests if r.model == model)
            said.append(
                f"A call to {model} can cost {numbers.dollars(price)}, so `limits.cost_usd` "
                f"allows only {numbers.count(int(room), 'call')} at the same time. For a faster "
                f"run, {shorter} in `params`."
            )
    return tuple(said)


def refusal(work: Work, worst: Price, *, trusted: bool) -> str | None:
    """Return why no model may be called; None if calls are allowed."""
    limits = work.policy.limits
    questions = work.questions  # first, because too many of them are refused
    requests = (*distinct_requests(work.trials), *questions)
    too_many = None if trusted else _calls_of_fork(requests, limits.calls)
    if too_many or limits.cost_usd is None:
        return too_many
    prices = [worst(request) for request in requests]
    dear = [(r, p) for r, p in zip(requests, prices, strict=True) if (p or 0.0) > limits.cost_usd]
    if dear:
        return _too_dear(work, dear, limits.cost_usd)
    return None if trusted else _cost_of_fork(requests, prices, limits.cost_usd)


def _too_dear(work: Work, dear: Sequence[tuple[Request, float | None]], limit: float) -> str:
    """Describe an expensive request: one of head, which the pull request can repair, before one of
    base, and both before questions to judges and simulated users."""
    questions = {id(question) for question in work.questions}
    # The calls of a conversation are made from the trial's request, and share its parameters.
    prices = {(r.model, id(r.params)): p for r, p in dear if id(r) not in questions}
    found = [t for t in work.trials if (t.request.model, id(t.request.params)) in prices]
    if found:
        # Head's prompt with the base contract's settings does not have contract_from `head`.
        of_head = (t for t in found if (t.arm, t.contract_from) == ("head", "head"))
        trial = next(of_head, found[0])
        is_base = (trial.arm, trial.contract_from) != ("head", "head")
        request = trial.request
        price = prices[request.model, id(request.params)]
        asked = request.model
        where = f"`params` of the contract {trial.contract}{' on the base branch' * is_base}"
    else:
        request, price = dear[0]
        users = {id(question) for question in work.users.most}
        who = "simulated user" if id(request) in users else "judge"
        asked = f"the {who} {request.model}"
        where = f"the `params` of the contract and of its {who}"
    most = f"can cost {numbers.dollars(price or 0.0)}"
    if math.isinf(price or 0.0):
        most = "has no upper bound for its cost"
    return (
        f"one call to {asked} {most}, but `limits.cost_usd` is {numbers.dollars(limit)}, so no "
        f"model was called: {advise_shorter_answers([request.params])} in {where}, or raise "
        f"`limits.cost_usd` in {POLICY_PATH} of the base branch"
    )


# What a pull request from a fork could spend has to fit into the base policy's limits before any
# call. Its author may not spend the repository's money, and a limit that ends the run is no
# protection, because the author could push again.


def _calls_of_fork(requests: Sequence[Request], limit: int | None) -> str | None:
    if limit is None or len(requests) <= limit:
        return None
    return _beyond(requests, f"take {len(requests):,} calls", f"{limit:,}", "calls")


def _cost_of_fork(
    requests: Sequence[Request], prices: Sequence[float | None], limit: float
) -> str | None:
    """Return why the run could cost more than the limit, by the highest price of each request; None
    if it fits. A request with an unknown price never fits."""
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
