"""The drop that a report says it could have shown is found 8 times of 10, also beside flicker."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from gatekeeper.gate.alternative_methods import POWER, visible_drop
from gatekeeper.stats.mcnemar import mcnemar_exact
from gatekeeper.stats.power import minimum_detectable_effect, regression_power
from gatekeeper.stats.sequential import SequentialTest

LEVEL, RUNS = 0.05, 2000
Drops = NDArray[np.int8]


def seen(fixtures: int, changed: int) -> list[float]:
    """One sample a fixture, of which so many were broken by chance, and as many fixed."""
    return [1.0] * changed + [-1.0] * changed + [0.0] * (fixtures - 2 * changed)


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
    drop = visible_drop(fixtures, seen(fixtures, changed), LEVEL)
    assert drop is not None
    error = (POWER * (1 - POWER) / RUNS) ** 0.5
    assert POWER - 3 * error <= power(drawn(fixtures, changed, drop, RUNS)) <= 0.9
    # Breaks alone, as if nothing flickered, are found less often: both count.
    alone = minimum_detectable_effect(fixtures, LEVEL)
    assert alone is not None
    assert (power(drawn(fixtures, changed, alone, RUNS)) < POWER - 0.1) == bool(changed)


@pytest.mark.parametrize(("fixtures", "changed"), [(30, 1), (100, 8)])
def test_the_test_that_may_stop_early_finds_it_too(fixtures: int, changed: int) -> None:
    drop = visible_drop(fixtures, seen(fixtures, changed), LEVEL)
    assert drop is not None
    test = SequentialTest(fixtures, 1, LEVEL, LEVEL, 0.05)
    runs = drawn(fixtures, changed, drop, 400)
    found = [test.evaluate(run[:, None], run, LEVEL).regressed for run in runs]
    assert np.mean(found) >= POWER - 3 * (POWER * (1 - POWER) / len(runs)) ** 0.5


@given(st.integers(5, 150), st.integers(0, 30))
def test_flicker_and_breaks_are_one_calculation(fixtures: int, changed: int) -> None:
    changed = min(changed, fixtures // 4)
    drop = visible_drop(fixtures, seen(fixtures, changed), LEVEL)
    flicker = changed / fixtures
    if drop is None:
        assert regression_power(fixtures, 1 - flicker, LEVEL, flicker) < POWER
    else:
        assert regression_power(fixtures, drop + flicker, LEVEL, flicker) >= POWER - 1e-9
        assert drop >= (visible_drop(fixtures, seen(fixtures, 0), LEVEL) or 0.0) - 1e-9
