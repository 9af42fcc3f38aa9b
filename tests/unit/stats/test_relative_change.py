"""The change of a mean or a quantile between two arms on the same units."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatekeeper.stats.intervals.relative_change import Rise, _draws, relative_change, rise_beyond

AMOUNTS = st.lists(st.floats(0.01, 1e6), min_size=1, max_size=4)


def _rng() -> np.random.Generator:
    return np.random.default_rng(7)


@given(
    units=st.lists(AMOUNTS, min_size=2, max_size=12),
    factor=st.floats(0.1, 10),
    quantile=st.sampled_from([None, 0.5, 0.95]),
)
def test_what_grows_by_one_factor_has_that_change_without_width(
    units: list[list[float]], factor: float, quantile: float | None
) -> None:
    head = [[value * factor for value in values] for values in units]
    found = relative_change(units, head, 0.99, _rng(), quantile, 50)
    assert found
    assert found.interval
    assert math.isclose(found.head, found.base * factor, rel_tol=1e-9)
    for end in (found.interval.low, found.interval.high):
        assert math.isclose(end + 1, factor, rel_tol=1e-9)


@given(units=st.lists(AMOUNTS, min_size=1, max_size=12), q=st.floats(0.01, 0.99))
def test_a_quantile_is_the_smallest_value_with_that_share_at_or_below(
    units: list[list[float]], q: float
) -> None:
    found = relative_change(units, units, 0.95, _rng(), q, 2)
    assert found
    every = sorted(value for values in units for value in values)
    assert found.base == every[max(0, math.ceil(q * len(every) - 1e-9) - 1)]


def test_the_mean_counts_each_unit_once() -> None:
    found = relative_change([[1.0, 1.0, 1.0], [3.0]], [[2.0], [4.0]], 0.95, _rng())
    assert found
    assert (found.base, found.head) == (2.0, 3.0)


def test_arms_that_are_alike_rarely_differ() -> None:
    differ = 0
    for seed in range(150):
        drawn = np.random.default_rng(seed)
        level = drawn.lognormal(6, 0.3, 40)
        base, head = ([[float(x * drawn.lognormal(0, 0.3))] for x in level] for _ in range(2))
        found = relative_change(base, head, 0.99, _rng(), 0.95, 300)
        assert found
        assert found.interval
        differ += not found.interval.low <= 0 <= found.interval.high
    assert differ <= 5  # nominally 1.5 of 150


def test_without_a_unit_or_a_base_there_is_no_interval() -> None:
    assert relative_change([], [], 0.95, _rng()) is None
    for base in ([[1.0]], [[0.0], [0.0]]):
        found = relative_change(base, [[2.0]] * len(base), 0.95, _rng())
        assert found
        assert found.interval is None


@given(
    units=st.lists(AMOUNTS, min_size=1, max_size=12),
    limit=st.floats(0, 3),
    allowed=st.floats(0.1, 1),
    quantile=st.sampled_from([None, 0.5, 0.95]),
)
def test_units_that_keep_the_limit_never_exceed_it(
    units: list[list[float]], limit: float, allowed: float, quantile: float | None
) -> None:
    head = [[value * (1 + limit) * allowed for value in values] for values in units]
    found = rise_beyond(limit, units, head, 0.3, _rng(), quantile)
    assert found
    assert not found.exceeds
    assert found.p_value > 0.3


@pytest.mark.parametrize("quantile", [None, 0.5, 0.95])
def test_a_large_rise_exceeds_its_limit(quantile: float | None) -> None:
    drawn = np.random.default_rng(5)
    base = [[float(x)] for x in drawn.lognormal(0, 0.3, 40)]
    head = [[3 * x * float(drawn.lognormal(0, 0.1))] for [x] in base]
    found = rise_beyond(0.25, base, head, 0.00125, _rng(), quantile)
    assert found
    assert found.exceeds
    assert found.low is not None
    assert 0.25 < found.low < found.head / found.base - 1


def test_the_swap_test_is_that_of_all_ways_to_exchange_arms() -> None:
    base, head = [[1.0], [2.0], [3.0], [4.0]], [[2.0], [1.0], [9.0], [7.0]]
    found = rise_beyond(0.0, base, head, 0.05, _rng())
    assert found
    differences = np.array([1.0, -1.0, 6.0, 3.0])
    signs = np.array(np.meshgrid(*[[-1, 1]] * 4)).reshape(4, -1)
    exact = float(((differences @ signs) >= differences.sum()).mean())
    assert found.p_value == pytest.approx(exact, abs=0.04)


@pytest.mark.parametrize("quantile", [None, pytest.param(0.95, marks=pytest.mark.long)])
def test_false_alarms_at_exactly_the_limit(quantile: float | None) -> None:
    """`benchmarks.limits` draws many more; this one finds a level that is off by a factor."""
    level, runs, alarms = 0.05, 200, 0
    for seed in range(runs):
        drawn = np.random.default_rng(seed)
        units = drawn.lognormal(0, 0.5, (40, 1))
        base, head = (units * drawn.lognormal(0, 0.4, (40, 2)) for _ in range(2))
        found = rise_beyond(0.25, base.tolist(), (1.25 * head).tolist(), level, drawn, quantile)
        alarms += found is not None and found.exceeds
    assert alarms <= level * runs + 3 * math.sqrt(level * runs)


@pytest.mark.parametrize(
    ("low", "p_value", "exceeds"),
    [
        (0.3, 0.01, True),
        (0.3, 0.05, True),
        (0.3, 0.06, False),
        (0.1, 0.01, False),
        (0.2, 0.01, False),
        (0.2 + 1e-12, 0.01, False),  # only rounding is above the limit
        (None, 0.01, True),  # any amount is more than nothing
        (None, 0.06, False),
    ],
)
def test_a_limit_is_exceeded_if_the_interval_and_the_test_say_so(
    low: float | None, p_value: float, exceeds: bool
) -> None:
    found = Rise(base=1.0, head=2.0, low=low, p_value=p_value, limit=0.2, level=0.05)
    assert found.exceeds is exceeds


def test_nothing_measured_is_no_rise() -> None:
    assert rise_beyond(0.2, [], [], 0.05, _rng()) is None


@pytest.mark.parametrize(
    ("units", "level", "draws"),
    [
        (20, 0.05, 2_000),
        (20, 0.0005, 20_000),
        (20, 1e-9, 2_000),  # no number of draws that is possible could reject
        (10_000, 0.001, 10_000),
        (50_000, 0.001, 2_000),
        (300, 2.5e-8, 2_000),
    ],
)
def test_the_draws_are_enough_for_the_level_within_a_bound(
    units: int, level: float, draws: int
) -> None:
    assert _draws(units, level) == draws
