"""Several p-values at once: Holm for what gates, Benjamini-Hochberg for what is shown."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TypeVar

from gatekeeper.stats.arguments import require_inside, require_share

_Key = TypeVar("_Key", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Adjusted:
    """Adjusted p-values in the order given, and whether each is at most alpha."""

    p_values: tuple[float, ...]
    rejected: tuple[bool, ...]


def holm(p_values: Sequence[float], alpha: float = 0.05) -> Adjusted:
    """Holds the chance of even one false rejection at `alpha`, however the tests depend.

    Holm, S. (1979), A simple sequentially rejective multiple test procedure, Scandinavian
    Journal of Statistics 6:65-70.
    """
    _require_p_values(p_values, alpha)
    m = len(p_values)
    order = sorted(range(m), key=p_values.__getitem__)
    steps = accumulate(((m - rank) * p_values[i] for rank, i in enumerate(order)), max)
    return _adjusted(order, list(steps), alpha)


def holm_levels(p_values: Mapping[_Key, float], alphas: Mapping[_Key, float]) -> dict[_Key, float]:
    """The level each hypothesis is tested at by Holm's procedure: it is rejected exactly when
    its p-value is at most this. All that are named are one family.

    Hypotheses may differ in alpha, so the steps follow p / alpha. With equal alphas the
    rejected ones are those of `holm`.
    """
    if p_values.keys() != alphas.keys():
        raise ValueError("alphas: must name the same hypotheses as p_values")
    for name, p in p_values.items():
        require_share("p_values", p)
        require_inside("alphas", alphas[name])
    levels: dict[_Key, float] = {}
    left = len(p_values)
    for name in sorted(p_values, key=lambda name: p_values[name] / alphas[name]):
        levels[name] = alphas[name] / left
        if p_values[name] <= levels[name]:
            left -= 1
    return levels


def benjamini_hochberg(p_values: Sequence[float], alpha: float = 0.05) -> Adjusted:
    """Holds the expected share of false ones among the rejections at `alpha`, for tests that
    are independent or positively dependent.

    Benjamini, Y. and Hochberg, Y. (1995), Controlling the false discovery rate, JRSS B
    57:289-300.
    """
    _require_p_values(p_values, alpha)
    m = len(p_values)
    order = sorted(range(m), key=p_values.__getitem__, reverse=True)
    steps = accumulate((m / (m - rank) * p_values[i] for rank, i in enumerate(order)), min)
    return _adjusted(order, list(steps), alpha)


def _adjusted(order: Sequence[int], steps: Sequence[float], alpha: float) -> Adjusted:
    by_index = dict(zip(order, (min(1.0, step) for step in steps), strict=True))
    values = tuple(by_index[i] for i in range(len(order)))
    return Adjusted(values, tuple(value <= alpha for value in values))


def _require_p_values(p_values: Sequence[float], alpha: float) -> None:
    require_inside("alpha", alpha)
    for p in p_values:
        require_share("p_values", p)
