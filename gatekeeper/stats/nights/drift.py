"""Tests whether a model changed although the prompt did not. The test is repeated every night.

**What is compared** are the nights of one stretch: the same prompt, contract and fixtures on the
default branch. Each night has one score, its pass rate. Fixtures that were not measured do not
shift it: a fixture counts by its difference from its own mean over the nights so far.

**What "nothing changed" means**: every order of the nights is equally likely (they are
exchangeable). Nothing else is assumed. Fixtures may differ in any way, samples of a fixture may be
copies of each other, and the fixtures of a night may pass or fail together. A bad night now and
then is no drift.

**The bet.** A player who believes that the model got worse in night j bets, in each night s from
then on, that s is among the k = s - j + 1 worst of the s nights so far. The probability of that is
k/s if nothing changed. The player stakes a part of the capital and gets s/k times the stake back
after a win, so the game is fair if nothing changed. The test divides a capital of 1 among one
player for each night, for worse and for better. If nothing changed, the probability that they
together *ever* own 1/alpha is at most alpha. If nights have the same score, the one that bets takes
the last place among them.

Ranks of exchangeable scores are independent, and their bets a martingale: Vovk, V., Gammerman, A.
and Shafer, G. (2022), Algorithmic Learning in a Random World, 2nd ed., chapter 8 (conformal test
martingales); Ville (1939). The last place never wins more than a tie that is broken at random.
Dividing the capital among nights is the mixture of Shiryaev, A. N. (1963), On optimum methods in
quickest detection problems, Theory of Probability and its Applications 8:22-46.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from gatekeeper.stats.arguments import require_finite, require_inside, require_same_length
from gatekeeper.stats.estimate import Estimate, symmetric
from gatekeeper.stats.nights.control_chart import ControlPoint, ewma_chart

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

ALPHA = 0.01
_STAKE = 0.6
"""The share of the capital that each player stakes."""
_HALF = 30
"""Half of the capital is bet on a change in the first nights, as many as this number; half of the
rest on the next nights, twice as many; and so on."""
_TIED = 1e-9
"""Scores this near to each other count as equal; the difference is rounding."""
_MOST = 690.0
"""The logarithm of the largest e-value that is reported."""


@dataclass(frozen=True, slots=True)
class Night:
    """How many samples of each fixture passed, and how many there were. The order of the fixtures
    is the same in all nights; 0 samples if a fixture was not measured. `model` is the fingerprint
    of the model that answered, None if it is not known."""

    passed: tuple[int, ...]
    samples: tuple[int, ...]
    model: str | None = None


@dataclass(frozen=True, slots=True)
class Change:
    """The change that the nights show. `since` is the estimated first night of the change,
    `detected` the night on which it became certain. `size` is the pass rate from then on minus the
    one before, with its 95 % interval, up to the night with the strongest evidence."""

    since: int
    detected: int
    direction: Literal["worse", "better"]
    size: Estimate


@dataclass(frozen=True, slots=True)
class Drift:
    """One entry for each night: `rates` are the pass rates as if every fixture had been measured,
    `e_values` the evidence for a change. `new_models` are the nights with a fingerprint that no
    night before had. `change` is None unless it is certain."""

    rates: tuple[float | None, ...]
    chart: tuple[ControlPoint | None, ...]
    e_values: tuple[float, ...]
    new_models: tuple[int, ...]
    change: Change | None


def find_drift(nights: Sequence[Night], alpha: float = ALPHA) -> Drift:
    """Return what the nights of one stretch, in order, show. If nothing changed, the probability
    that `change` is *ever* reported is at most `alpha`, however many nights follow.

    A change once certain stays certain, also when the model recovers: a new stretch forgets it.
    ValueError if nights do not have the same fixtures, or more passed than were sampled.
    """
    require_inside("alpha", alpha)
    import numpy as np

    passed, samples = _counts(nights)
    models = _new_models(nights)
    measured = samples.sum(axis=1) > 0
    if not measured.any():
        nothing = (None,) * len(nights)
        return Drift(nothing, nothing, (1.0,) * len(nights), models, None)

    known, passed, samples = np.flatnonzero(measured), passed[measured], samples[measured]
    scores = _scores(passed, samples)
    latest, spread = scores[:, -1], np.sqrt((samples > 0).sum(axis=1))
    rates = (_mean_rate(passed, samples) + latest / spread).tolist()
    one_sample = float(np.median(spread / samples.sum(axis=1)))
    chart = ewma_chart(latest.tolist(), one_sample)
    money = _money(scores)
    owned = _log_of_sum(money)

    nightly = list(zip((np.cumsum(measured) - 1).tolist(), measured.tolist(), strict=True))
    return Drift(
        rates=tuple(rates[i] if now else None for i, now in nightly),
        chart=tuple(chart[i] if now else None for i, now in nightly),
        e_values=tuple(math.exp(min(_MOST, owned[i])) if i >= 0 else 1.0 for i, _ in nightly),
        new_models=models,
        change=_change(money, owned, np.array(rates), known, alpha),
    )


def _counts(nights: Sequence[Night]) -> tuple[Ints, Ints]:
    """Return the numbers of passed samples and of all samples, of shape (nights, fixtures)."""
    import numpy as np

    fixtures = len(nights[0].samples) if nights else 0
    for i, night in enumerate(nights):
        for name, counts in (("passed", night.passed), ("samples", night.samples)):
            if len(counts) != fixtures:
                raise ValueError(
                    f"{name}: night {i} must have {fixtures} fixtures, as many as the first night; "
                    f"got {len(counts)}"
                )
    shape = (len(nights), fixtures)
    passed = np.array([night.passed for night in nights], dtype=np.int64).reshape(shape)
    samples = np.array([night.samples for night in nights], dtype=np.int64).reshape(shape)
    wrong = np.argwhere((passed < 0) | (passed > samples))
    if len(wrong):
        i, f = wrong[0]
        raise ValueError(
            f"passed: must be from 0 to the number of samples, got {passed[i, f]} of "
            f"{samples[i, f]} samples of fixture {f} in night {i}"
        )
    return passed, samples


def _scores(passed: Ints, samples: Ints) -> Floats:
    """Return the scores of all nights, computed from the first s nights, in column s - 1.

    Each is the sum over its fixtures of the share that passed less the fixture's mean share in
    the first s nights, over the root of the number of fixtures: a night with few of them
    scatters as much as one with many. Within a column a score depends on the other nights, but
    not on their order, so that exchangeable nights have exchangeable scores.
    """
    import numpy as np

    measured = samples > 0
    shares = passed / np.maximum(samples, 1)
    means = np.cumsum(shares, axis=0) / np.maximum(np.cumsum(measured, axis=0), 1)
    sums = shares.sum(axis=1)[:, None] - measured.astype(float) @ means.T
    scores: Floats = sums / np.sqrt(measured.sum(axis=1))[:, None]
    return scores


def _mean_rate(passed: Ints, samples: Ints) -> float:
    """Return the mean over fixtures of the mean share that passed in a night."""
    import numpy as np

    nights = (samples > 0).sum(axis=0)
    shares = (passed / np.maximum(samples, 1)).sum(axis=0)
    return float((shares[nights > 0] / nights[nights > 0]).mean())


def _money(scores: Floats) -> Floats:
    """Return the logarithm of each player's capital after each night (columns): players for worse
    from the second night on, from the third on …, players for better, and, last, players for future
    nights."""
    import numpy as np

    nights = len(scores)
    now = np.arange(1, nights + 1)
    since = now[1:, None]
    nth = np.maximum(now - since + 1, 0)
    odds = now / np.maximum(nth, 1)
    left = _HALF / (_HALF + now - 1)
    start = np.log((left[:-1] - left[1:]) / 2)[:, None]
    rows = []
    for sign in (1, -1):
        rank = _ranks(sign * scores)
        grown = np.log1p(_STAKE * (odds * (rank <= nth) - 1))
        rows.append(start + np.cumsum(np.where(nth > 0, grown, 0.0), axis=1))
    to_come = np.full((1, nights), math.log(left[-1]))
    return np.concatenate([*rows, to_come])


def _ranks(scores: Floats) -> Ints:
    """Return how many of the first s nights scored at most as much as night s, itself included."""
    import numpy as np

    own = np.diagonal(scores)
    ranks: Ints = np.triu(scores <= own + _TIED).sum(axis=0)
    return ranks


def _log_of_sum(money: Floats) -> Floats:
    """Return the logarithm of what all players own together, by night."""
    import numpy as np

    richest = money.max(axis=0)
    total: Floats = richest + np.log(np.exp(money - richest).sum(axis=0))
    return total


def _change(
    money: Floats, owned: Floats, rates: Floats, known: Ints, alpha: float
) -> Change | None:
    import numpy as np

    significant = np.flatnonzero(owned >= -math.log(alpha))
    if not len(significant):
        return None
    strongest = int(significant[0] + np.argmax(owned[significant[0] :]))
    richest = int(np.argmax(money[:-1, strongest]))
    first = richest % (len(rates) - 1) + 1
    return Change(
        since=int(known[first]),
        detected=int(known[significant[0]]),
        direction="worse" if richest < len(rates) - 1 else "better",
        size=_difference(rates[first : strongest + 1], rates[:first]),
    )


def _difference(after: Floats, before: Floats) -> Estimate:
    """Return the difference of the means over nights.

    Welch, B. L. (1947), The generalization of "Student's" problem when several different population
    variances are involved, Biometrika 34:28-35.
    """
    from scipy.special import stdtrit

    value = float(after.mean() - before.mean())
    if min(len(after), len(before)) < 2:
        return Estimate(value, None)
    parts = [float(part.var(ddof=1)) / len(part) for part in (after, before)]
    if sum(parts) < _TIED**2:
        return Estimate(value, None)
    squares = sum(v**2 / (len(part) - 1) for v, part in zip(parts, (after, before), strict=True))
    quantile = float(stdtrit(sum(parts) ** 2 / squares, 0.975))
    return symmetric(value, math.sqrt(sum(parts)), quantile)


def _new_models(nights: Sequence[Night]) -> tuple[int, ...]:
    """Return the nights with a fingerprint that is known and new, without the first that is
    known."""
    first: dict[str, int] = {}
    for i, night in enumerate(nights):
        if night.model is not None:
            first.setdefault(night.model, i)
    return tuple(first.values())[1:]


def homogeneity_p(rates: Sequence[float], samples: Sequence[int]) -> float:
    """Return the p-value of Pearson's chi-square test that all nights have one rate.

    Fixtures with rates of their own make the nights scatter less than the test assumes
    (Hoeffding, W. (1956), Annals of Mathematical Statistics 27:713-721), so it is conservative;
    fixtures that are good or bad together make them scatter more.

    Args:
        rates: the share that passed, from 0 to 1, of each night.
        samples: the number of samples of each night, above 0.

    Raises:
        ValueError: the lengths differ, a rate is not from 0 to 1, or a night has no sample.
    """
    require_same_length("samples", samples, "rates", rates)
    require_finite("rates", rates)
    if any(not 0 <= rate <= 1 for rate in rates):
        raise ValueError("rates: every rate must be from 0 to 1")
    if any(count < 1 for count in samples):
        raise ValueError("samples: every night must have at least one sample")
    if len(rates) < 2:
        return 1.0
    from scipy.special import chdtrc

    total = sum(samples)
    mean = sum(rate * count for rate, count in zip(rates, samples, strict=True)) / total
    if not 0 < mean < 1:
        return 1.0  # all passed, or none
    squares = sum(
        count * (rate - mean) ** 2 for rate, count in zip(rates, samples, strict=True)
    ) / (mean * (1 - mean))
    return float(chdtrc(len(rates) - 1, squares))
