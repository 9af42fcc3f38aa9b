"""Several p-values at once: Holm (with Tarone) for decisions, Benjamini-Hochberg for lists."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import fsum, inf, nextafter
from types import MappingProxyType
from typing import NamedTuple, TypeVar

from gatekeeper.stats.arguments import require_inside, require_share

_Key = TypeVar("_Key", bound=Hashable)
OPPOSITE = 0.5
"""The share of a hypothesis's alpha at which its result in the other direction is significant."""


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
    alphas: Mapping[_Key, float],
    rejects: Callable[[_Key, float], bool],
    *,
    attainable: Mapping[_Key, float] = MappingProxyType({}),
    shares: Mapping[_Key, float] = MappingProxyType({}),
    opposite: Collection[_Key] = (),
) -> dict[_Key, float]:
    """Return the level at which Holm's procedure tests each hypothesis. All hypotheses are one
    family, and may have different alphas.

    `rejects` says whether a hypothesis is rejected at a level, for tests that have no p-value
    to compare with every level, as sequential ones. Each is tested at its alpha divided by how
    many are not rejected yet, until no further one is; for p-values of equal alphas the
    rejected ones are those of `holm`.

    `attainable` is the smallest p-value that a hypothesis could have had, given what does not
    depend on the direction of its result; 0 if it is not known. A hypothesis that could not have
    been rejected at the level does not count in the division: Tarone, R. E. (1990), A modified
    Bonferroni method for discrete data, Biometrics 46:515-522; for each step of Holm's: Hommel, G.
    and Krummenauer, F. (1998), Improvements and modifications of Tarone's multiple test procedure
    for discrete data, Biometrics 54:673-681. `shares` says which part of its whole alpha each
    hypothesis has, 1 by default: other tests keep the rest, so it is not given away.

    `opposite` are the hypotheses whose result in the other direction is significant at OPPOSITE of
    their alpha, so that they cannot be rejected. All of them count as one: Ellis, J. L., Pecanka,
    J. and Goeman, J. J. (2020), Gaining power in multiple testing of interval hypotheses via
    conditionalization, Biostatistics 21 (arXiv 1801.00141), who leave out large p-values, and
    multiply the level by the chance to be left in. One remains because a change can be bad for one
    hypothesis and good for all its opposites.
    """
    for alpha in alphas.values():
        require_inside("alphas", alpha)
    mean_share = fsum(shares.get(name, 1.0) for name in alphas) / max(1, len(alphas))
    weights = {name: shares.get(name, 1.0) / mean_share for name in alphas}
    levels: dict[_Key, float] = {}
    left = dict(alphas)
    while left:
        reaches = {n: _Reach(_most(a, attainable.get(n, 0.0)), weights[n]) for n, a in left.items()}
        divisor = min(_divisor([*reaches.values()]), len(alphas))
        joined = [reaches[name] for name in left if name in opposite]
        if len(joined) > 1:
            others = [reach for name, reach in reaches.items() if name not in opposite]
            left_in = 1 - max(left.values())
            divisor = min(
                divisor, _divisor([*others, _Reach(*map(max, zip(*joined, strict=True)))]) / left_in
            )
        rejected = [name for name, alpha in left.items() if rejects(name, alpha / divisor)]
        for name in rejected or left:
            levels[name] = alphas[name] / divisor
        if not rejected:
            break
        for name in rejected:
            del left[name]
    return levels


class _Reach(NamedTuple):
    """The largest divisor of its alpha at which a hypothesis can be rejected, and how much it
    counts."""

    most: float
    weight: float


def _most(alpha: float, attainable: float) -> float:
    return alpha / attainable if attainable else inf


def _divisor(reaches: Sequence[_Reach]) -> float:
    """Return the smallest divisor, 1 or more, that is at least the number of hypotheses that can be
    rejected with it."""
    by_reach = sorted(reaches, reverse=True)
    counts = (fsum(r.weight for r in by_reach[:n]) for n in range(1, len(by_reach) + 1))
    beyond = (nextafter(r.most, inf) for r in by_reach if r.most < inf)
    for divisor in sorted({1.0, *counts, *beyond}):
        if 1 <= divisor >= fsum(r.weight for r in by_reach if r.most >= divisor):
            return divisor
    raise AssertionError("the last count is enough for all")


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
