"""Several p-values at once: Holm for decisions, Benjamini-Hochberg for lists."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
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
    """Adjust p-values by Holm, which keeps the probability of even one false rejection at `alpha`,
    however the tests depend on each other.

    Holm, S. (1979), A simple sequentially rejective multiple test procedure, Scandinavian
    Journal of Statistics 6:65-70.
    """
    _require_p_values(p_values, alpha)
    m = len(p_values)
    order = sorted(range(m), key=p_values.__getitem__)
    steps = accumulate(((m - rank) * p_values[i] for rank, i in enumerate(order)), max)
    return _adjusted(order, list(steps), alpha)


def holm_levels(
    alphas: Mapping[_Key, float], rejects: Callable[[_Key, float], bool]
) -> dict[_Key, float]:
    """Return the level at which Holm's procedure tests each hypothesis. All hypotheses are one
    family, and may have different alphas.

    `rejects` says whether a hypothesis is rejected at a level, for tests that have no p-value
    to compare with every level, as sequential ones. Each is tested at its alpha divided by how
    many are not rejected yet, until no further one is; for p-values of equal alphas the
    rejected ones are those of `holm`.
    """
    for alpha in alphas.values():
        require_inside("alphas", alpha)
    levels: dict[_Key, float] = {}
    left = dict(alphas)
    while left:
        share = len(left)
        rejected = [name for name, alpha in left.items() if rejects(name, alpha / share)]
        for name in rejected or left:
            levels[name] = alphas[name] / share
        if not rejected:
            break
        for name in rejected:
            del left[name]
    return levels


def benjamini_hochberg(p_values: Sequence[float], alpha: float = 0.05) -> Adjusted:
    """Adjust p-values by Benjamini and Hochberg, which keeps the expected share of false ones among
    the rejections at `alpha`, for tests that are independent or positively dependent.

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
