"""Tests while samples arrive whether head is worse than base, with a bounded false-alarm rate.

The probability of a false alarm over all looks is at most alpha. The test ends as soon as its
result is certain.

**The claim** is about inputs like the fixtures. Another sample of a fixture makes the estimate for
that fixture more precise, but is no new evidence about other inputs, so all samples of a fixture
form one cluster. If the change is harmless, the two arms of any fixture could be swapped, which
changes the sign of all its differences together. Every probability here is over these signs, given
the observed sizes of the differences.

**When it looks.** In the first round, each fixture is sampled once, and the test looks after every
pair (`first_round_boundary.py`). A later round is one more pair of samples of every fixture. The
test looks at the end of some of these rounds, with the sign-flip statistic. Each look may spend a
part of alpha; the first and the last spend most of it. The looks are correlated, and the alpha that
they spend together is computed jointly instead of added up, so the last look has nearly all of it:
Lan, K. K. G. and DeMets, D. L. (1983), Discrete sequential boundaries for clinical trials,
Biometrika 70:659-663, with the exact conditional distribution instead of Brownian motion.

**When it stops**:

- `regressed`: the boundary is crossed.
- `not_worse`: a betting e-process (in the first round) or a look shows that head is not worse by
  the margin. Stopping for this reason never makes a false alarm more likely.
- `exhausted`: all samples are taken, or more rounds could not make the result more precise because
  only the variation between fixtures remains, as at temperature 0.

More samples may also be *futile* (`futility.py`): they could hardly show that head is worse. The
test goes on if samples come in nevertheless.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

from gatekeeper.stats.arguments import require_inside
from gatekeeper.stats.paired.first_round_boundary import (
    Walk,
    first_crossing,
    walk_boundary,
    walk_p_value,
)
from gatekeeper.stats.paired.futility import is_futile, is_look
from gatekeeper.stats.paired.noninferiority import not_worse, not_worse_capital
from gatekeeper.stats.paired.sign_flip import sign_flip_test

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Differences = NDArray[np.signedinteger[Any]]
    """Passes on base minus passes on head: 1, 0 or -1 for each (fixture, round), with the fixtures
    in the order in which they are first sampled. If related fixtures count as one unit, it is the
    total of each unit."""
    Sizes = NDArray[np.int64]
    """How many fixtures each unit has. By default, each unit has one fixture."""

Stop = Literal["regressed", "not_worse", "exhausted"]

WALK_SHARE, WALK_SHARE_ALONE = 0.2, 0.4
"""The part of alpha that the first of several rounds may spend, and that of the only round before
its end; the looks between it and the last spend 0.3 in equal parts, and the last what is left."""
BETWEEN_SHARE = 0.3
BETTING_SHARE = 0.1
"""The part of alpha that the e-process may spend; the looks spend the rest in equal parts."""

_LOOKS = (1, 2, 3, 5)
_ENOUGH = 0.9
"""More rounds do not help if they would leave this share of the estimate's variance."""
_MOST_WAYS, _FEWEST_WAYS = 1 << 14, 1 << 12
_SIGNS = 1 << 22
"""How many random signs are generated in all, within the limits on the number of choices."""
_ENUMERATED = 14
_SEED = 20250601


@dataclass(frozen=True, slots=True)
class Look:
    """The look after so many rounds. `spent` is the share of alpha that all looks up to it may
    spend on "regressed"; `own` its own share for any other question, all of them adding up
    to 1."""

    rounds: int
    spent: float
    own: float


def looks(rounds: int, *, early: bool = True) -> tuple[Look, ...]:
    """Return when to look in a run with the given number of rounds: after 1, 2, 3, 5, 10, 20, 50 …
    and the last; if not `early`, after the last alone."""
    if not early:
        return (Look(rounds, 1.0, 1.0),)
    ends = [*_LOOKS, *(m * 10**k for k in range(1, 4) for m in (1, 2, 5))]
    at = [r for r in ends if r < rounds] + [rounds]
    between = BETWEEN_SHARE / max(1, len(at) - 2)
    spent = [walk_share(rounds) + between * i for i in range(len(at) - 1)] + [1.0]
    return tuple(Look(r, s, 1 / len(at)) for r, s in zip(at, spent, strict=True))


def walk_share(rounds: int) -> float:
    """Return the part of alpha that the first of so many rounds may spend before its end."""
    return WALK_SHARE if rounds > 1 else WALK_SHARE_ALONE


@dataclass(frozen=True, slots=True)
class SequentialResult:
    """Whether head was found worse, and the p-value that goes with it."""

    regressed: bool
    p_value: float


@dataclass(frozen=True, slots=True)
class SequentialTest:
    """The test of one comparison, planned before its first sample.

    `fixtures` distinct inputs, or units of related ones, get up to `rounds` pairs of samples.
    `level` is the probability of a false alarm, `alpha` that of calling a drop of `margin` or more
    "not worse". Both are the same unless several comparisons share the level. If not `early`, the
    test looks once, at the end, and is the fixed sign-flip test. `weights` multiply each fixture's
    differences in the looks for "regressed" (`fixture_weights.py`); without any, all are 1. If
    the test does not `walk`, it looks at sums alone, at the ends of rounds: the first round's
    boundary counts how many units broke, which says little if units stand for unequal numbers of
    inputs, or have scores instead of passes.
    """

    fixtures: int
    rounds: int
    level: float
    alpha: float
    margin: float
    early: bool = True
    weights: tuple[int, ...] = ()
    walks: bool = True

    def __post_init__(self) -> None:
        require_inside("level", self.level)
        require_inside("alpha", self.alpha)

    @property
    def looks(self) -> tuple[Look, ...]:
        return looks(self.rounds, early=self.early)

    @property
    def walk(self) -> Walk:
        """Return the boundary of the first round."""
        return walk_boundary(self.fixtures, walk_share(self.rounds) * self.level)

    def after_pairs(
        self, kindest: Differences, harshest: Differences, sizes: Sizes | None = None
    ) -> tuple[Stop, int] | None:
        """Return the first decision within the first round, and after how many pairs it is made.

        Both arguments hold the difference of each fixture sampled so far. They differ only if
        samples could not be measured: one then takes these as favourable to head, the other as
        unfavourable.
        """
        if not self.early or not len(kindest):
            return None
        worse = first_crossing(self.walk, kindest) if self.walks else None
        safe = self._bet_won(harshest, sizes)
        if worse is not None and (safe is None or worse <= safe):
            return "regressed", worse
        return None if safe is None else ("not_worse", safe)

    def after_round(
        self, kindest: Differences, harshest: Differences, sizes: Sizes | None = None
    ) -> Stop | None:
        """Return the decision at the end of a round, from arrays of shape (fixtures, rounds so
        far); None if sampling continues. Call it after each round until it decides."""
        look = next((look for look in self.looks if look.rounds == kindest.shape[1]), None)
        if look is None:
            return None
        last = self.is_last(kindest)
        if self._rejects(kindest, self.level * (1.0 if last else look.spent)):
            return "regressed"
        if self._not_worse(harshest, look, sizes):
            return "not_worse"
        return "exhausted" if last else None

    def is_futile(self, sampled: Differences, further: Differences) -> bool | None:
        """Return whether more samples could hardly show that head is worse; None at a moment at
        which no prediction is made.

        `sampled` holds the complete rounds, by the reading favourable to head, and `further` the
        pairs of the next one. In the first of several rounds, every fixture is sampled first.
        """
        if not self.early or not is_look(len(further) or len(sampled), len(sampled)):
            return None
        if len(further) and not sampled.shape[1] and self.rounds > 1:
            return None
        scale = math.hypot(*self.weights) / math.sqrt(len(self.weights)) if self.weights else 1
        each = self._weighted(sampled) / scale, self._weighted(further) / scale
        return is_futile(*each, self.rounds, self.alpha)

    def evaluate(
        self, sampled: Differences, first: Differences, level: float | None = None
    ) -> SequentialResult:
        """Return the test's result for all samples: `sampled` holds the complete rounds, of shape
        (fixtures, rounds), `first` the pairs of the first round, complete or not.

        Holm's procedure may allow a `level` above the test's own once all is sampled. The
        difference is spent at the last look: boundaries computed for the higher level would have
        stopped at other times, and using both sets would be a second chance.

        If head is worse, the p-value is the probability that a harmless change is called worse as
        early, or at the same look by as much: Fairbanks, K. and Madsen, R. (1982), P values for
        tests using a repeated significance test design, Biometrika 69:69-74. Otherwise this
        probability is divided by the part of alpha that the look may spend. The p-value is
        therefore at most the level exactly if head is worse. If not `early`, it is that of the
        sign-flip test.
        """
        level = self.level if level is None else level
        if not self.early:
            p = sign_flip_test(self._weighed(sampled).sum(axis=1, dtype=int).tolist())
            return SequentialResult(p <= level, p)
        p, share, reached = 1.0, walk_share(self.rounds), None
        if self.walks:
            crossing = first_crossing(self.walk, first)
            observed = first[:crossing]
            changed, broke = int((observed != 0).sum()), int((observed > 0).sum())
            if crossing is not None:
                return SequentialResult(True, float(self.walk.spent[changed]))
            p = walk_p_value(self.walk, changed, broke)
        for look in [look for look in self.looks if look.rounds <= sampled.shape[1]]:
            rounds = sampled[:, : look.rounds]
            last = self.is_last(rounds)
            share = 1.0 if last else look.spent
            at = level if last else share * self.level
            if self._rejects(rounds, at):
                return SequentialResult(True, min(self._joint_p_value(rounds), at))
            reached = rounds
            if last:
                break  # all of alpha is spent: samples after it cannot be tested again
        if reached is not None:
            p = self._joint_p_value(reached)
        return SequentialResult(False, min(1.0, max(p / share, math.nextafter(level, 1))))

    def attainable(self, sampled: Differences, changed: int, stopped: Stop | None) -> float:
        """Return the smallest p-value that the test could have had with so many changed units,
        whatever their directions; 0 if it is not known. `sampled` holds the complete rounds.

        If the change is harmless, each changed unit may have broken or been fixed, and all 2^n ways
        are equally likely, so that no p-value is below 2^-n. The number of changed units is only
        known if sampling ended for a reason that has nothing to do with directions: at the last
        look, or because nothing had changed.
        """
        if not self.early:
            return 0.5**changed
        known = not changed or (sampled.shape[1] > 0 and self.is_last(sampled))
        return 0.5**changed if stopped and known else 0.0

    def nearness(
        self, kindest: Differences, harshest: Differences, sizes: Sizes | None = None
    ) -> tuple[float, float]:
        """Return how near the pairs of the first round have come to "regressed" and to "not_worse",
        from 0 to 1: the broken fixtures out of those that the boundary requires by now, and the
        capital on a logarithmic scale. It is shown to users and decides nothing."""
        changed, broke = int((kindest != 0).sum()), int((kindest > 0).sum())
        worse = min(1.0, broke / int(self.walk.fewest[changed])) if self.walks else 0.0
        if not 0 < self.margin < 1 or not len(harshest):
            return worse, 0.0
        drops = harshest if sizes is None else harshest / sizes
        capital = float(not_worse_capital(drops, self.margin)[-1])
        won = math.log(max(1.0, capital)) / -math.log(BETTING_SHARE * self.alpha)
        return worse, min(1.0, won)

    def _bet_won(self, harshest: Differences, sizes: Sizes | None) -> int | None:
        """Return after how many pairs the e-process shows that head is not worse by the margin.

        Each unit counts alike in the bet. The drop over all fixtures must also be below the
        margin, or many small units could hide a large one that broke."""
        if not 0 < self.margin < 1:
            return None
        import numpy as np

        drops = harshest if sizes is None else harshest / sizes
        reached = not_worse_capital(drops, self.margin) >= 1 / (BETTING_SHARE * self.alpha)
        if sizes is not None:
            below_margin = np.cumsum(harshest) < self.margin * np.cumsum(sizes)
            reached = np.logical_or.accumulate(reached) & below_margin
        won = np.flatnonzero(reached)
        return int(won[0]) + 1 if len(won) else None

    def is_last(self, sampled: Differences) -> bool:
        """Return whether the look after these rounds is the last. It depends on the sizes of the
        differences, never on their signs."""
        return sampled.shape[1] == self.rounds or (self.early and self._enough(sampled))

    def _weighted(self, differences: Differences) -> Differences:
        """Return the differences of the fixtures sampled so far, times the fixtures' weights."""
        if not self.weights:
            return differences
        import numpy as np

        weights = np.array(self.weights[: len(differences)], dtype=np.int64)
        return differences * weights.reshape(-1, *[1] * (differences.ndim - 1))

    def _weighed(self, sampled: Differences) -> Differences:
        """Return the differences as a look counts them. Head is not called worse if it passes as
        often as base, so weights apply only if the plain total is a drop."""
        return self._weighted(sampled) if sampled.sum(dtype=int) > 0 else sampled

    def _rejects(self, sampled: Differences, level: float) -> bool:
        """Return whether the look finds head worse, if that level may be spent up to it."""
        before = self._spent_before(sampled.shape[1])
        total = self._weighed(sampled).sum(axis=1, dtype=int)
        if level <= before or total.sum() <= 0:
            return False
        alone = sign_flip_test(total.tolist())
        # The joint p-value lies between this and this plus all that was spent before.
        if alone > level or alone + before <= level:
            return alone <= level
        return self._joint_p_value(sampled) <= level

    def _spent_before(self, rounds: int) -> float:
        if not self.early:
            return 0.0
        earlier = [look.spent for look in self.looks if look.rounds < rounds]
        return self.level * max(earlier, default=walk_share(self.rounds) if self.walks else 0.0)

    def _not_worse(self, sampled: Differences, look: Look, sizes: Sizes | None) -> bool:
        if not self.early:
            return False
        level = (1 - BETTING_SHARE) * look.own * self.alpha
        drops = sampled.mean(axis=1)
        if sizes is not None:
            if drops.sum() >= self.margin * sizes.sum():
                return False
            drops = drops / sizes
        return not_worse(drops, self.margin, level, self.alpha)

    def _enough(self, sampled: Differences) -> bool:
        """Return whether more rounds would hardly improve the estimate of the mean difference.

        The rule may depend on the data because it uses the sizes of the differences and not their
        signs. More rounds reduce the variance within fixtures, not the variance between them.
        """
        done = sampled.shape[1]
        if done == 1 or not len(sampled):
            return False
        squares = sampled.mean(axis=1) ** 2
        within = float(((sampled**2).mean(axis=1) - squares).mean()) * done / (done - 1)
        between = max(0.0, float(squares.mean()) - within / done)
        now, then = between + within / done, between + within / self.rounds
        return bool(now > 0 and then >= _ENOUGH * now)

    def _joint_p_value(self, sampled: Differences) -> float:
        """Return the stage-wise p-value over choices of signs: all choices if few fixtures changed,
        else many random ones, always the same, and the observed one."""
        sampled = self._weighed(sampled)
        if sampled.shape[1] == 1 and not self.walks:
            return sign_flip_test(sampled[:, 0].tolist())
        if sampled.shape[1] == 1 and bool((abs(sampled) <= 1).all()):
            changed, broke = int((sampled != 0).sum()), int((sampled > 0).sum())
            return walk_p_value(self.walk, changed, broke)
        signs, paths = _signs(sampled)
        crossed = self._crossed_walk(signs, paths[:, 0])
        # Sums of single passes are exact in half the memory; those of weights and scores are not.
        first, kind = 1 + self.walks, "float32" if self.walks else "float64"
        for look in [look for look in self.looks if first <= look.rounds < sampled.shape[1]]:
            sums = signs @ paths[:, : look.rounds].sum(axis=1, dtype=kind)
            crossed |= sums >= _threshold(sums, crossed, look.spent * self.level)
        sums = signs @ paths.sum(axis=1, dtype=kind)
        return float((crossed | (sums >= sums[0])).mean())

    def _crossed_walk(self, signs: NDArray[np.float32], first: Differences) -> NDArray[np.bool_]:
        import numpy as np

        if not self.walks:
            return np.zeros(len(signs), dtype=bool)
        steps = signs[:, first != 0] * first[first != 0]
        broke = np.cumsum(steps > 0, axis=1, dtype=np.int16)
        beyond: NDArray[np.bool_] = broke >= self.walk.fewest[1 : broke.shape[1] + 1]
        return np.asarray(beyond.any(axis=1))


def _signs(sampled: Differences) -> tuple[NDArray[np.float32], Differences]:
    """Return choices of the fixtures' signs, the observed one (all +) first, of shape (choices,
    changed fixtures), and the samples of those fixtures."""
    import numpy as np

    changed = np.flatnonzero((sampled != 0).any(axis=1))
    if len(changed) <= _ENUMERATED:
        ways = np.arange(1 << len(changed))[:, None] >> np.arange(len(changed)) & 1
        return (1 - 2 * ways).astype(np.float32), sampled[changed]
    return _random_signs(len(sampled))[:, changed].astype(np.float32), sampled[changed]


@lru_cache(maxsize=4)
def _random_signs(fixtures: int) -> NDArray[np.int8]:
    """Return random signs, the same at every look, so that earlier crossings are known."""
    import numpy as np

    ways = min(_MOST_WAYS, max(_FEWEST_WAYS, _SIGNS // fixtures))
    rng = np.random.default_rng(_SEED)
    signs = 1 - 2 * rng.integers(0, 2, size=(ways, fixtures), dtype=np.int8)
    signs[0] = 1
    return signs


def _threshold(sums: NDArray[np.float32], crossed: NDArray[np.bool_], level: float) -> float:
    """Return the lowest sum from which a look may reject: together with earlier crossings, it is
    then at most a share `level` of all choices."""
    import numpy as np

    room = int(level * len(sums) + 1e-9) - int(crossed.sum())
    inside = np.sort(sums[~crossed])[::-1]
    if room <= 0:
        return float("inf")
    return float("-inf") if room >= len(inside) else float(inside[room]) + 0.5
