"""The error budget: against a straightforward recount, and where it is undefined."""

from datetime import timedelta, timezone
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.budget_events import NOW, ago, events, objectives, windows

from gatekeeper.stats.objectives.error_budget import ErrorBudget, Event, error_budget
from gatekeeper.stats.objectives.objective import parse_window


def test_a_worked_month():
    """Each run counts the same: its share of failures, and not its number of samples."""
    history = [ago(1000, 20, days=20), ago(400, 4, days=5), ago(100, 10, hours=2)]
    assert error_budget(history, 0.95, "28d", NOW, (0.9, 0.97)) == ErrorBudget(
        window="28d",
        events=1500,
        budget=75.0,
        spent=65.0,
        left=10.0,
        burn_rate={
            "1d": 10 / 100 / 0.05,
            "7d": pytest.approx((0.1 + 0.01) / 2 / 0.05),
            "28d": pytest.approx((0.1 + 0.01 + 0.02) / 3 / 0.05),
        },
        exhausted_at=NOW + timedelta(days=8),
        projected_burn_rate=pytest.approx((0.6, 2.0)),
    )


@given(st.lists(events, max_size=30), objectives, windows)
def test_it_is_what_a_recount_says(history, objective, window):
    found = error_budget(history, objective, window, NOW)
    share = 1 - Fraction(str(objective))

    def counted(name):
        start = NOW - parse_window(name)
        inside = [e for e in history if start < e.time <= NOW + timedelta(days=1)]
        shares = [Fraction(e.failed, e.events) for e in inside if e.events]
        return sum(e.events for e in inside), sum(shares) / len(shares) if shares else Fraction()

    total, failing = counted(window)
    assert (found.events, found.spent) == (total, float(failing * total))
    assert found.budget == float(share * total)
    assert found.left == float((share - failing) * total)
    for name, rate in found.burn_rate.items():
        n, failing = counted(name)
        assert rate == (None if n == 0 or share == 0 else pytest.approx(float(failing / share)))


def test_a_bad_night_that_stops_early_counts_as_much_as_a_good_one():
    """A night that clearly fails stops after 40 samples, a good one takes 120."""
    shares = [40 if night % 3 else 4 for night in range(16)]
    cut = [
        ago(120 if s == 4 else 40, 120 * s // 100 if s == 4 else 40 * s // 100, days=d, hours=1)
        for d, s in enumerate(shares)
    ]
    fixed = [ago(200, 2 * s, days=d, hours=1) for d, s in enumerate(shares)]
    short, long = (error_budget(each, 0.9, "28d", NOW) for each in (cut, fixed))
    assert short.left / short.budget == pytest.approx(long.left / long.budget, abs=0.03)
    assert short.left / short.budget < -1.5
    assert short.state == long.state == "overspent"


@given(st.lists(events, max_size=20), objectives, windows, st.randoms())
def test_order_does_not_matter(history, objective, window, random):
    shuffled = list(history)
    random.shuffle(shuffled)
    assert error_budget(shuffled, objective, window, NOW) == error_budget(
        history, objective, window, NOW
    )


@given(st.lists(events, max_size=20), objectives)
def test_a_burn_rate_above_1_overspends_the_window(history, objective):
    found = error_budget(history, objective, "28d", NOW)
    rate = found.burn_rate["28d"]
    if rate is not None and abs(rate - 1) > 1e-9:
        assert (rate > 1) == (found.left < 0)


def test_without_events_nothing_is_known():
    found = error_budget([], 0.95, "28d", NOW)
    assert (found.events, found.budget, found.spent, found.left) == (0, 0.0, 0, 0.0)
    assert found.burn_rate == {"1d": None, "7d": None, "28d": None}
    assert found.projected_burn_rate is None
    assert (found.state, found.freezes_at, found.frozen_until) == ("unknown", None, None)


def test_a_quiet_day_is_unknown_and_not_zero():
    found = error_budget([ago(100, 1, days=3)], 0.9, "28d", NOW)
    assert found.burn_rate["1d"] is None
    assert found.burn_rate["7d"] == pytest.approx(0.1)


def test_the_window_ends_now_and_leaves_out_its_start_and_what_is_far_ahead():
    history = [
        ago(1, 1, days=28),
        ago(10, 0, days=28, seconds=-1),
        ago(100, 0),
        ago(1, 1, days=-1, seconds=-1),
    ]
    found = error_budget(history, 0.9, "28d", NOW)
    assert (found.events, found.spent) == (110, 0)


@pytest.mark.parametrize("ahead", [{"hours": -1}, {"days": -1}])
def test_what_a_fast_clock_dates_ahead_counts_as_now(ahead):
    found = error_budget([ago(20, 1, **ahead)], 0.9, "28d", NOW)
    assert found == error_budget([ago(20, 1)], 0.9, "28d", NOW)
    assert found.events == 20


def test_times_of_other_zones_are_the_same_times():
    zone = timezone(timedelta(hours=9))
    event = Event((NOW - timedelta(hours=1)).astimezone(zone), 5, 1)
    assert error_budget([event], 0.9, "1d", NOW.astimezone(zone)).events == 5


@pytest.mark.parametrize(
    ("window", "shown"),
    [("28d", ["1d", "7d", "28d"]), ("7d", ["1d", "7d"]), ("1d", ["1d"]), ("12h", ["12h"])],
)
def test_burn_windows_longer_than_the_objective_are_not_shown(window, shown):
    assert list(error_budget([], 0.9, window, NOW).burn_rate) == shown


class TestAnObjectiveOfExactlyOne:
    def test_the_first_failure_overspends(self):
        found = error_budget([ago(100, 1, hours=1)], 1.0, "28d", NOW, (0.9, 1.0))
        assert (found.budget, found.spent, found.left) == (0.0, 1, -1.0)

    def test_one_failure_could_be_a_fault_outside_and_does_not_freeze(self):
        found = error_budget([ago(20, 1, hours=1)], 1.0, "28d", NOW)
        assert (found.state, found.frozen_until) == ("spent", None)
        weeks = [ago(20, int(d in (3, 5, 8)), days=d, hours=1) for d in range(10)]
        worse = error_budget(weeks, 1.0, "28d", NOW)
        assert (worse.state, worse.freezes_at) == ("overspent", 3)
        assert worse.frozen_until == NOW - timedelta(days=3, hours=1) + timedelta(days=28)

    def test_it_is_not_frozen_for_ever_by_what_a_prompt_of_999_per_mille_does(self):
        history = [ago(20, int(d == 10), days=d, hours=1) for d in range(27)]
        assert error_budget(history, 1.0, "28d", NOW).state == "spent"

    def test_no_failure_spends_nothing(self):
        found = error_budget([ago(100, 0, hours=1)], 1.0, "28d", NOW)
        assert found.left == 0
        assert found.state == "left"

    def test_rates_are_undefined(self):
        found = error_budget([ago(100, 1, hours=1)], 1.0, "28d", NOW, (0.9, 1.0))
        assert set(found.burn_rate.values()) == {None}
        assert found.projected_burn_rate is None


def test_an_objective_that_is_kept_exactly_is_not_overspent():
    """1 - 0.95 is more than 0.05 in binary; a rounding error must not decide."""
    history = [ago(20, 1, days=d, hours=1) for d in range(27)]
    found = error_budget(history, 0.95, "28d", NOW)
    assert (found.left, found.state) == (0, "left")
    more = error_budget([*history, ago(20, 2, minutes=1)], 0.95, "28d", NOW)
    assert (more.left, more.state, more.frozen_until) == (-1, "spent", None)


def test_burn_rate_of_one_spends_the_budget_exactly():
    def rate(failed):
        return error_budget([ago(100, failed, hours=1)], 0.95, "28d", NOW).burn_rate["28d"]

    assert rate(5) == 1.0
    assert rate(0) == 0.0
