"""Tests while samples come in whether head is worse than base, with a bounded false-alarm rate.

The probability of a false alarm over all looks is at most alpha, and the test ends as soon as its
result is certain.

**The claim** is about inputs like the fixtures, so a fixture is one cluster: another sample of it
makes its own estimate more exact, but is no new evidence about other inputs. If the change is
harmless, the two arms could be exchanged in any fixture, and the differences of its samples would
all change their sign together. Every probability here is over those signs, given the observed
sizes.

**When it looks.** In the first round, in which each fixture is sampled once, it looks after every
pair (`stats.first_round_boundary`). Later it looks at the end of some rounds, with the sign-flip
statistic; a round is one more pair of samples of every fixture. Each look may spend a part of
alpha, and the first and the last spend most of it. The looks overlap, and what they spend together
is computed, not added up, so the last has nearly all of alpha: Lan, K. K. G. and DeMets, D. L.
(1983), Discrete sequential boundaries for clinical trials, Biometrika 70:659-663, with the exact
conditional distribution instead of Brownian motion.

**When it stops**: `regressed` when the boundary is crossed. `not_worse` when a betting e-process
(in the first round) or a look says that head is not worse by the margin; stopping for that never
makes a false alarm more likely. `exhausted` when all samples are taken, or when more rounds could
not make the result more exact, because the only remaining variation is between fixtures, as at
temperature 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

from gatekeeper.stats.arguments import require_inside
from gatekeeper.stats.e_process import not_worse_capital
from gatekeeper.stats.first_round_boundary import Walk, first_crossing, walk_boundary, walk_p_value
from gatekeeper.stats.noninferiority import not_worse
from gatekeeper.stats.sign_flip import sign_flip_test

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Differences = NDArray[np.signedinteger[Any]]
    """Base passed less head passed: 1, 0 or -1 for each (fixture, round), fixtures in the
    order in which they are first drawn. Where related fixtures count as one unit it is the total
    of each unit."""
    Sizes = NDArray[np.int64]
    """How many fixtures each unit has. None stands for one each."""

Stop = Literal["regressed", "not_worse", "exhausted"]

WALK_SHARE = 0.4
"""The part of alpha that the first round may spend; the looks between it and the last spend
0.3 in equal parts, and the last what is left."""
BETWEEN_SHARE = 0.3
BETTING_SHARE = 0.1
"""The part of alpha that the e-process may spend; the looks spend the rest in equal parts."""

_LOOKS = (1, 2, 3, 5)
_ENOUGH = 0.9
"""More rounds cannot help where they would leave this much of the estimate's variance."""
_MOST_WAYS, _FEWEST_WAYS = 1 << 14, 1 << 12
_SIGNS = 1 << 22
"""How many signs are drawn in all, as far as the number of ways allows."""
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
    """Return when to look in a run of so many rounds: after 1, 2, 3, 5, 10, 20, 50 … and the last;
    if not `early`, after the last alone."""
    if not early:
        return (Look(rounds, 1.0, 1.0),)
    ends = [*_LOOKS, *(m * 10**k for k in range(1, 4) for m in (1, 2, 5))]
    at = [r for r in ends if r < rounds] + [rounds]
    between = BETWEEN_SHARE / max(1, len(at) - 2)
    spent = [WALK_SHARE + between * i for i in range(len(at) - 1)] + [1.0]
    return tuple(Look(r, s, 1 / len(at)) for r, s in zip(at, spent, strict=True))


@dataclass(frozen=True, slots=True)
class SequentialResult:
    """Whether head was found worse, and the p-value that goes with it."""

    regressed: bool
    p_value: float


@dataclass(frozen=True, slots=True)
class SequentialTest:
    """The test of one comparison, planned before its first sample.

    `fixtures` distinct inputs, or units of related ones, get up to `rounds` pairs of samples.
    `level` is the chance of a false alarm; `alpha` that of saying "not worse" of a drop of
    `margin` or more: the same, unless several comparisons share the level. Not `early`, it looks
    once, at the end, and is the fixed sign-flip test.
    """

    fixtures: int
    rounds: int
    level: float
    alpha: float
    margin: float
    early: bool = True

    def __post_init__(self) -> None:
        require_inside("level", self.level)
        require_inside("alpha", self.alpha)

    @property
    def looks(self) -> tuple[Look, ...]:
        return looks(self.rounds, early=self.early)

    @property
    def walk(self) -> Walk:
        """The boundary of the first round."""
        return walk_boundary(self.fixtures, WALK_SHARE * self.level)

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
        worse = first_crossing(self.walk, kindest)
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
        last = self._is_last(kindest)
        if self._rejects(kindest, self.level * (1.0 if last else look.spent)):
            return "regressed"
        if self._not_worse(harshest, look, sizes):
            return "not_worse"
        return "exhausted" if last else None

    def evaluate(
        self, drawn: Differences, first: Differences, level: float | None = None
    ) -> SequentialResult:
        """Return the test's result for all samples: `drawn` holds the complete rounds, of shape
        (fixtures, rounds), `first` the pairs of the first round, complete or not.

        A `level` above its own, which Holm's procedure may come to grant once all is drawn,
        is spent at the last look: boundaries made for it would have stopped at other moments,
        and to have both sets of them would be a second chance.

        Where head is worse the p-value is the chance that a harmless change is called worse
        as early, or at the same look by as much: Fairbanks, K. and Madsen, R. (1982), P values
        for tests using a repeated significance test design, Biometrika 69:69-74. Elsewhere that
        chance is divided by the part of alpha that the look may spend. So it is at most the
        level exactly where head is worse. Not `early`, it is that of the sign-flip test.
        """
        level = self.level if level is None else level
        if not self.early:
            p = sign_flip_test(drawn.sum(axis=1, dtype=int).tolist())
            return SequentialResult(p <= level, p)
        crossing = first_crossing(self.walk, first)
        seen = first[:crossing]
        changed, broke = int((seen != 0).sum()), int((seen > 0).sum())
        if crossing is not None:
            return SequentialResult(True, float(self.walk.spent[changed]))
        p, share, reached = walk_p_value(self.walk, changed, broke), WALK_SHARE, None
        for look in [look for look in self.looks if look.rounds <= drawn.shape[1]]:
            rounds = drawn[:, : look.rounds]
            last = self._is_last(rounds)
            share = 1.0 if last else look.spent
            at = level if last else share * self.level
            if self._rejects(rounds, at):
                return SequentialResult(True, min(self._joint_p_value(rounds), at))
            reached = rounds
            if last:
                break  # all of alpha is spent: what was drawn after it cannot be asked again
        if reached is not None:
            p = self._joint_p_value(reached)
        return SequentialResult(False, min(1.0, max(p / share, math.nextafter(level, 1))))

    def nearness(
        self, kindest: Differences, harshest: Differences, sizes: Sizes | None = None
    ) -> tuple[float, float]:
        """Return how near the pairs of the first round have come to "regressed" and to "not_worse",
        from 0 to 1: the broken fixtures out of those that the boundary requires by now, and the
        capital on a logarithmic scale. It is shown to users and decides nothing."""
        changed, broke = int((kindest != 0).sum()), int((kindest > 0).sum())
        worse = min(1.0, broke / int(self.walk.fewest[changed]))
        if not 0 < self.margin < 1 or not len(harshest):
            return worse, 0.0
        drops = harshest if sizes is None else harshest / sizes
        capital = float(not_worse_capital(drops, self.margin)[-1])
        won = math.log(max(1.0, capital)) / -math.log(BETTING_SHARE * self.alpha)
        return worse, min(1.0, won)

    def _bet_won(self, harshest: Differences, sizes: Sizes | None) -> int | None:
        """Return after how many pairs the e-process shows that head is not worse by the margin.

        Each unit counts alike in the bet. What was seen over all their fixtures must agree, or a
        large unit that broke would be passed over for many small ones."""
        if not 0 < self.margin < 1:
            return None
        import numpy as np

        drops = harshest if sizes is None else harshest / sizes
        reached = not_worse_capital(drops, self.margin) >= 1 / (BETTING_SHARE * self.alpha)
        if sizes is not None:
            seen = np.cumsum(harshest) < self.margin * np.cumsum(sizes)
            reached = np.logical_or.accumulate(reached) & seen
        won = np.flatnonzero(reached)
        return int(won[0]) + 1 if len(won) else None

    def _is_last(self, drawn: Differences) -> bool:
        return drawn.shape[1] == self.rounds or (self.early and self._enough(drawn))

    def _rejects(self, drawn: Differences, level: float) -> bool:
        """Return whether the look finds head worse, if that level may be spent up to it."""
        before = self._spent_before(drawn.shape[1])
        total = drawn.sum(axis=1, dtype=int)
        if level <= before or total.sum() <= 0:
            return False
        alone = sign_flip_test(total.tolist())
        # The joint p-value lies between this and this plus all that was spent before.
        if alone > level or alone + before <= level:
            return alone <= level
        return self._joint_p_value(drawn) <= level

    def _spent_before(self, rounds: int) -> float:
        if not self.early:
            return 0.0
        earlier = [look.spent for look in self.looks if look.rounds < rounds]
        return self.level * max(earlier, default=WALK_SHARE)

    def _not_worse(self, drawn: Differences, look: Look, sizes: Sizes | None) -> bool:
        if not self.early:
            return False
        level = (1 - BETTING_SHARE) * look.own * self.alpha
        drops = drawn.mean(axis=1)
        if sizes is not None:
            if drops.sum() >= self.margin * sizes.sum():
                return False
            drops = drops / sizes
        return not_worse(drops, self.margin, level, self.alpha)

    def _enough(self, drawn: Differences) -> bool:
        """Return whether more rounds would hardly improve the estimate of the mean difference.

        By sizes alone, whatever their signs, so that it may depend on the data: the variance
        between fixtures stays, only that within them shrinks with more rounds.
        """
        done = drawn.shape[1]
        if done == 1 or not len(drawn):
            return False
        squares = drawn.mean(axis=1) ** 2
        within = float(((drawn**2).mean(axis=1) - squares).mean()) * done / (done - 1)
        between = max(0.0, float(squares.mean()) - within / done)
        now, then = between + within / done, between + within / self.rounds
        return bool(now > 0 and then >= _ENOUGH * now)

    def _joint_p_value(self, drawn: Differences) -> float:
        """Return the stage-wise p-value over choices of signs: all choices if few fixtures changed,
        else many random ones, always the same, and the observed one."""
        if drawn.shape[1] == 1 and bool((abs(drawn) <= 1).all()):
            changed, broke = int((drawn != 0).sum()), int((drawn > 0).sum())
            return walk_p_value(self.walk, changed, broke)
        signs, paths = _signs(drawn)
        crossed = self._crossed_walk(signs, paths[:, 0])
        for look in [look for look in self.looks if 1 < look.rounds < drawn.shape[1]]:
            sums = signs @ paths[:, : look.rounds].sum(axis=1, dtype="float32")
            crossed |= sums >= _threshold(sums, crossed, look.spent * self.level)
        sums = signs @ paths.sum(axis=1, dtype="float32")
        return float((crossed | (sums >= sums[0])).mean())

    def _crossed_walk(self, signs: NDArray[np.float32], first: Differences) -> NDArray[np.bool_]:
        import numpy as np

        steps = signs[:, first != 0] * first[first != 0]
        broke = np.cumsum(steps > 0, axis=1, dtype=np.int16)
        beyond: NDArray[np.bool_] = broke >= self.walk.fewest[1 : broke.shape[1] + 1]
        return np.asarray(beyond.any(axis=1))


def _signs(drawn: Differences) -> tuple[NDArray[np.float32], Differences]:
    """Return choices of the fixtures' signs, the observed one (all +) first, of shape (choices,
    changed fixtures), and the samples of those fixtures."""
    import numpy as np

    changed = np.flatnonzero((drawn != 0).any(axis=1))
    if len(changed) <= _ENUMERATED:
        ways = np.arange(1 << len(changed))[:, None] >> np.arange(len(changed)) & 1
        return (1 - 2 * ways).astype(np.float32), drawn[changed]
    return _drawn_signs(len(drawn))[:, changed].astype(np.float32), drawn[changed]


@lru_cache(maxsize=4)
def _drawn_signs(fixtures: int) -> NDArray[np.int8]:
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
