"""The tokens and US dollars that a call takes, and the most that one could take. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from gatekeeper.contract.values.trial import Outcome

LONGER = 10
"""How many times longer than the longest observed prompt the prompt of an input outside the suite
may be."""

_LIMITS = ("max_tokens", "max_completion_tokens")
"""The parameters that limit an answer."""


def cost_of(outcome: Outcome) -> float | None:
    """Return the price of a call in US dollars; None if it is not known."""
    return outcome.sample.completion.cost_usd if outcome.sample.completion else None


def tokens_of(outcome: Outcome) -> int | None:
    """Return the tokens of a call's prompt and answer; None if one of them is not known."""
    split = _split(outcome)
    return None if split is None else sum(split)


def most_tokens(outcomes: Sequence[Outcome]) -> float | None:
    """Return the largest number of tokens that a call could take: a prompt `LONGER` times the
    longest, and the longest answer that the parameters allow. None if they limit none, or tokens
    are not known."""
    most = _most(outcomes)
    return None if most is None else float(sum(most))


def most_cost(outcomes: Sequence[Outcome]) -> float | None:
    """Return the largest cost of a call in US dollars, as `most_tokens` does for tokens.

    A call costs at least as much as each of its tokens, which bounds the price of one.
    """
    most = _most(outcomes)
    if most is None:
        return None
    price: list[float | None] = [None, None]
    for outcome in outcomes:
        cost, split = cost_of(outcome), _split(outcome)
        if cost is None or split is None:
            continue
        for kind, tokens in enumerate(split):
            if tokens:
                known = price[kind]
                price[kind] = cost / tokens if known is None else min(known, cost / tokens)
    each = [p * tokens for p, tokens in zip(price, most, strict=True) if p is not None]
    return sum(each) if len(each) == len(price) else None


def _most(outcomes: Sequence[Outcome]) -> tuple[int, int] | None:
    """Return the longest prompt and the longest answer that are possible, in tokens."""
    longest = limit = 0
    for outcome in outcomes:
        if outcome.sample.completion is None:
            continue
        split, own = _split(outcome), _limit(outcome)
        if split is None or own is None:
            return None
        longest, limit = max(longest, split[0]), max(limit, own)
    return (LONGER * longest, limit) if limit else None


def _split(outcome: Outcome) -> tuple[int, int] | None:
    completion = outcome.sample.completion
    if completion is None or completion.prompt_tokens is None:
        return None
    if completion.completion_tokens is None:
        return None
    return completion.prompt_tokens, completion.completion_tokens


def _limit(outcome: Outcome) -> int | None:
    params = outcome.sample.trial.request.params
    limits = [params[name] for name in _LIMITS if isinstance(params.get(name), int)]
    return max(limits) if limits else None
