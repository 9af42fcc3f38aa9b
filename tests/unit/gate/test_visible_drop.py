"""The drop that a report says it could have shown is found 8 times of 10, also beside flicker."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from support.plain_spaces import spaced
from support.random_comparisons import compared, once
from support.verdicts import called_for, paired

from gatekeeper.gate.comparison.pair_counts import POWER, visible_breaks, visible_drop
from gatekeeper.gate.decision.unit_words import detectable_sizes
from gatekeeper.gate.results.parts import BrokenFixtures
from gatekeeper.stats.paired.mcnemar import mcnemar_exact
from gatekeeper.stats.paired.power import minimum_detectable_effect, regression_power
from gatekeeper.stats.paired.sequential import SequentialTest

LEVEL, RUNS = 0.05, 2000
Drops = NDArray[np.int8]


def drawn(fixtures: int, changed: int, drop: float, runs: int) -> Drops:
    """Other runs of the same prompts, in which a share of the fixtures breaks for good, so that the
    pass rate falls by `drop`. The fixtures that flicker pass half of the time."""
    rng = np.random.default_rng(fixtures + changed)
    flickering = 4 * changed / fixtures
    shape = (runs, fixtures)
    flickers = rng.random(shape) < flickering
    breaks = rng.random(shape) < drop / (1 - flickering / 2)
    base, head = (~flickers | (rng.random(shape) < 0.5) for _ in range(2))
    return base.astype(np.int8) - (head & ~breaks).astype(np.int8)


@lru_cache
def rejects(broke: int, fixed: int) -> bool:
    return mcnemar_exact(broke, fixed) <= LEVEL


def power(drops: Drops) -> float:
    found = [rejects(int((run > 0).sum()), int((run < 0).sum())) for run in drops]
    return float(np.mean(found))


@pytest.mark.parametrize(
    ("fixtures", "changed"), [(30, 0), (30, 1), (30, 3), (100, 2), (100, 8), (200, 4), (200, 16)]
)
def test_the_drop_that_is_said_is_found_as_often_as_is_said(fixtures: int, changed: int) -> None:
    drop = visible_drop(fixtures, changed / fixtures, LEVEL)
    assert drop is not None
    error = (POWER * (1 - POWER) / RUNS) ** 0.5
    assert POWER - 3 * error <= power(drawn(fixtures, changed, drop, RUNS)) <= 0.9
    # Breaks alone, as if nothing flickered, are found less often: both count.
    alone = minimum_detectable_effect(fixtures, LEVEL)
    assert alone is not None
    assert (power(drawn(fixtures, changed, alone, RUNS)) < POWER - 0.1) == bool(changed)


@pytest.mark.parametrize(("fixtures", "changed"), [(30, 1), (100, 8)])
def test_the_test_that_may_stop_early_finds_it_too(fixtures: int, changed: int) -> None:
    drop = visible_drop(fixtures, changed / fixtures, LEVEL)
    assert drop is not None
    test = SequentialTest(fixtures, 1, LEVEL, LEVEL, 0.05)
    runs = drawn(fixtures, changed, drop, 400)
    found = [test.evaluate(run[:, None], run, LEVEL).regressed for run in runs]
    assert np.mean(found) >= POWER - 3 * (POWER * (1 - POWER) / len(runs)) ** 0.5


@given(st.integers(5, 150), st.integers(0, 30))
def test_flicker_and_breaks_are_one_calculation(fixtures: int, changed: int) -> None:
    changed = min(changed, fixtures // 4)
    drop = visible_drop(fixtures, changed / fixtures, LEVEL)
    flicker = changed / fixtures
    if drop is None:
        assert regression_power(fixtures, 1 - flicker, LEVEL, flicker) < POWER
    else:
        assert regression_power(fixtures, drop + flicker, LEVEL, flicker) >= POWER - 1e-9
        assert drop >= (visible_drop(fixtures, 0, LEVEL) or 0.0) - 1e-9


def kept(broken: int, fixtures: int, samples: int, *, passing: float = 1.0):
    """The comparison of fixtures that pass as often on both arms, but for those that broke
    outright. Every fixture passes the same number of samples, spread unlike on the two arms."""
    passes = round(passing * samples)
    base = [True] * passes + [False] * (samples - passes)
    arms = {f"f{i}": (base, base[::-1]) for i in range(fixtures - broken)}
    arms |= {f"broke{i}": ([True] * samples, [False] * samples) for i in range(broken)}
    return compared(arms)


@pytest.mark.parametrize(("samples", "passing"), [(1, 1.0), (5, 1.0), (10, 0.9), (10, 0.6)])
def test_what_broke_is_no_flicker(samples: int, passing: float) -> None:
    drops = [
        visible_drop(20, kept(k, 20, samples, passing=passing).flicker, LEVEL, samples)
        for k in range(5)
    ]
    assert None not in drops
    assert max(drops) - min(drops) <= 0.02


@pytest.mark.parametrize("samples", [1, 2, 10])
def test_ten_fixtures_of_which_two_broke_could_have_shown_a_drop(samples: int) -> None:
    comparison = kept(2, 10, samples)
    found = visible_drop(10, comparison.flicker, LEVEL, samples)
    assert found is not None
    assert found < 0.6


def test_what_got_fixed_by_chance_makes_the_drop_larger() -> None:
    quiet = compared(once(same=40, broke=4))
    noisy = compared(once(same=36, broke=4, fixed=4))
    assert quiet.flicker == 0
    assert noisy.flicker == pytest.approx(4 / 44)
    assert (visible_drop(44, noisy.flicker, LEVEL) or 0) > (visible_drop(44, 0, LEVEL) or 1)


def test_flicker_within_fixtures_counts_as_much_as_the_same_in_one_sample_each() -> None:
    """Of ten samples that pass in 60 %, the mean difference has a tenth of the variance of one."""
    flicker = kept(0, 20, 10, passing=0.6).flicker
    assert flicker == pytest.approx(8 / 10 / 9 / 2)  # 8 of 10 pairs differ, 4 each way


@pytest.mark.parametrize(
    ("fixtures", "rounds", "passing"), [(20, 2, 0.9), (20, 10, 0.95), (50, 5, 0.8), (12, 5, 0.9)]
)
def test_a_drop_spread_over_all_inputs_is_found_as_often_as_is_said(
    fixtures: int, rounds: int, passing: float
) -> None:
    drop = visible_drop(fixtures, passing * (1 - passing) / rounds, LEVEL, rounds)
    assert drop is not None
    rng = np.random.default_rng(fixtures + rounds)
    test = SequentialTest(fixtures, rounds, LEVEL, LEVEL, 0.05)
    shape, runs, found = (fixtures, rounds), 200, 0
    for _ in range(runs):
        base, head = (rng.random(shape) < rate for rate in (passing, passing - drop))
        drawn = base.astype(np.int8) - head.astype(np.int8)
        found += test.evaluate(drawn, drawn[:, 0], LEVEL).regressed
    error = (POWER * (1 - POWER) / runs) ** 0.5
    assert POWER - 3 * error <= found / runs <= 0.95


def test_more_samples_show_smaller_drops_but_not_fewer_broken_fixtures() -> None:
    drops = [visible_drop(20, 0.05 / n, LEVEL, n) or 1 for n in (2, 5, 10, 20)]
    assert drops == sorted(drops, reverse=True)
    assert visible_breaks(20, 0, LEVEL) == 7
    assert visible_breaks(4, 0, LEVEL) is None


@pytest.mark.parametrize(
    ("broken", "fewest"),
    [
        (BrokenFixtures({}, 0.001), 1),
        (BrokenFixtures({}, 0.001, allowed=2), 3),
        (BrokenFixtures({}, 0.001, claimed=False), None),
        (BrokenFixtures({}, 0.001, unrecorded=True), None),
        (BrokenFixtures({}, 0.001, p_value=1.0), None),
        (BrokenFixtures({}, 0.001, ended="limit"), None),
    ],
)
def test_fresh_samples_find_one_broken_fixture_where_they_are_evidence(
    broken: BrokenFixtures, fewest: int | None
) -> None:
    assert broken.fewest_found == fewest


@pytest.mark.parametrize(
    ("breaks", "text"),
    [
        (1, "1 fixture that always fails, or a drop of 12 points or more over all inputs"),
        (7, "7 fixtures that always fail, or a drop of 12 points or more over all inputs"),
        (None, "a drop of 12 points or more over all inputs"),
    ],
)
def test_both_sizes_are_named(breaks: int | None, text: str) -> None:
    found = paired(minimum_detectable_effect=0.12, detectable_breaks=breaks)
    assert spaced(detectable_sizes(found)) == text
    (reason,) = called_for(found)
    assert f"this run could only have detected {text}" in spaced(reason.text)
