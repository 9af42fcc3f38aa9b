"""When an error budget freezes, until when, and how fast it burns."""

from datetime import timedelta
from fractions import Fraction
from random import Random
from typing import ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.budget_events import NOW, ago, events, objectives, past, windows

from gatekeeper.stats.objectives.error_budget import ErrorBudget, Event, error_budget
from gatekeeper.stats.objectives.objective import parse_window


class TestMoreThanChanceExplains:
    """An objective of 95 %, and runs of 20 samples."""

    def nights(self, *failed: int) -> ErrorBudget:
        last = len(failed) - 1
        history = [ago(20, k, days=last - d, hours=1) for d, k in enumerate(failed)]
        return error_budget(history, 0.95, "28d", NOW)

    def test_one_failed_sample_of_twenty_blocks_nothing(self):
        assert not self.nights(1).overspent
        assert not self.nights(3).overspent

    def test_what_fails_a_little_too_often_is_spent_and_may_be_chance(self):
        found = self.nights(2, 2, 1, 2)
        assert (found.state, found.left) == ("spent", -3)
        assert found.spent < found.freezes_at

    def test_two_of_twenty_fixtures_that_always_fail_freeze_in_a_week(self):
        states = [self.nights(*[2] * nights).state for nights in range(1, 15)]
        first = states.index("overspent")
        assert 3 <= first < 7
        assert set(states[first:]) == {"overspent"}

    def test_a_bad_run_freezes_at_once(self):
        assert self.nights(15).overspent
        assert self.nights(0, 0, 0, 15, 15).overspent

    def test_one_night_after_good_ones_is_an_outage_perhaps(self):
        assert not self.nights(0, 0, 0, 15).overspent
        assert not self.nights(*[1] * 10, 15).overspent

    def test_another_bad_night_does_not_end_a_freeze(self):
        """It makes the nights look more different from each other."""
        assert self.nights(*[3] * 10).overspent
        for worst in range(4, 21):
            assert self.nights(*[3] * 9, worst).overspent
            assert self.nights(*[3] * 7, *[worst] * 3).overspent

    def test_nights_that_differ_much_say_less_than_their_samples(self):
        even, uneven = self.nights(*[2] * 14), self.nights(*[0, 0, 0, 8, 0, 0, 6] * 2)
        assert even.spent == uneven.spent
        assert (even.state, uneven.state) == ("overspent", "spent")

    def test_several_runs_of_half_a_day_are_one_look(self):
        one = error_budget([ago(60, 9, hours=3)], 0.95, "28d", NOW)
        three = [ago(20, 3, hours=3, minutes=m) for m in range(3)]
        assert error_budget(three, 0.95, "28d", NOW).freezes_at == one.freezes_at

    def test_without_a_level_nobody_asks(self):
        found = error_budget([ago(20, 20, hours=1)], 0.95, "28d", NOW, alpha=None)
        assert (found.state, found.freezes_at, found.frozen_until) == ("spent", None, None)


def simulated_level(history, objective, window, recent, at):
    """What is left at `at`, if runs come as in the `recent` past: summed over those there."""
    allowed, length = 1 - Fraction(str(objective)), parse_window(window)
    span = parse_window(recent)
    lately = [e for e in history if NOW - span < e.time]
    share = Fraction((at - NOW) // timedelta(microseconds=1), span // timedelta(microseconds=1))
    staying = [e for e in history if at - length < min(e.time, NOW)]

    def left(runs):
        return sum((allowed - Fraction(e.failed, e.events) for e in runs if e.events), Fraction())

    return left(staying) + share * left(lately)


class TestWhenItEnds:
    def test_a_steady_burn_of_two_takes_half_of_the_window(self):
        history = [ago(100, 10, hours=h) for h in range(0, 7 * 24, 6)]
        history += [ago(100, 0, hours=h) for h in range(7 * 24, 28 * 24, 6)]
        found = error_budget(history, 0.95, "28d", NOW)
        assert found.burn_rate["7d"] == 2.0
        # A quarter of the window at two: half is spent, and what is left lasts as long again.
        assert found.left == found.budget / 2
        assert abs(found.exhausted_at - (NOW + timedelta(days=7))) < timedelta(days=1)

    @given(st.lists(past, min_size=1, max_size=12), st.sampled_from([0.5, 0.9, 0.95, 1.0]))
    def test_it_is_the_first_moment_with_nothing_left(self, history, objective):
        found = error_budget(history, objective, "28d", NOW)
        end = found.exhausted_at
        edges = {min(e.time, NOW) + timedelta(days=28) for e in history}
        before = [NOW, *sorted(edge for edge in edges if end is None or edge < end)]
        tick = timedelta(microseconds=1)
        if end is None:
            if found.left > 0 and any(e.failed for e in history if e.time > NOW - timedelta(7)):
                for at in before:
                    assert simulated_level(history, objective, "28d", "7d", at) >= 0
            return
        assert simulated_level(history, objective, "28d", "7d", end) <= 0
        for at in (*before, end - tick):
            if at < end:
                assert simulated_level(history, objective, "28d", "7d", at) > 0

    @pytest.mark.parametrize(
        "history",
        [
            [],
            [ago(100, 0, days=1)],
            [ago(100, 2, days=20), ago(100, 0, days=1)],  # nothing fails any more
            [ago(100, 1, days=d) for d in range(28)],  # burns at a fifth
            [ago(100, 50, days=1)],  # spent already
        ],
    )
    def test_there_is_no_end_where_nothing_leads_to_it(self, history):
        assert error_budget(history, 0.95, "28d", NOW).exhausted_at is None

    def test_good_samples_that_leave_can_end_it_too(self):
        history = [ago(100, 0, days=27), ago(100, 0, days=27), ago(100, 10, hours=1)]
        found = error_budget(history, 0.95, "28d", NOW)
        assert found.exhausted_at == NOW + timedelta(days=1)

    def test_a_short_window_is_its_own_past(self):
        history = [ago(100, 6, hours=1), ago(100, 0, hours=11)]
        found = error_budget(history, 0.95, "12h", NOW)
        assert found.exhausted_at == NOW + timedelta(hours=1)


def known(history, window="28d"):
    """The events that a budget of now counts."""
    start = NOW - parse_window(window)
    return [e for e in history if start < e.time <= NOW + timedelta(days=1)]


coming = st.lists(
    st.tuples(st.floats(0, 30), st.one_of(st.integers(0, 3), st.integers(0, 2000))), max_size=40
)
runs_of_few = st.builds(
    lambda hours, n, share: Event(NOW - timedelta(hours=hours), n, round(n * share)),
    st.integers(0, 24 * 28 - 1),
    st.integers(1, 4),
    st.sampled_from([0, 0, 0.5, 1]),
)


class TestWhenItThaws:
    @given(st.lists(events, max_size=15), objectives, windows)
    def test_it_is_a_moment_by_which_the_freeze_has_ended(self, history, objective, window):
        found = error_budget(history, objective, window, NOW)
        if not found.overspent:
            assert found.frozen_until is None
            return
        staying = known(history, window)
        assert found.frozen_until in {e.time + parse_window(window) for e in staying}
        assert not error_budget(staying, objective, window, found.frozen_until).overspent

    @given(st.lists(events | runs_of_few, max_size=15), coming, objectives, windows)
    def test_good_samples_never_make_it_later(self, history, coming, objective, window):
        found = error_budget(history, objective, window, NOW)
        if not found.overspent:
            return
        until, length = found.frozen_until, parse_window(window)
        last = max(NOW, *(event.time for event in history))
        good = [Event(max(last, until - min(length, timedelta(days=d))), n, 0) for d, n in coming]
        later = error_budget([*known(history, window), *good], objective, window, until)
        assert not later.overspent

    def test_good_samples_that_are_another_look_do_not_make_it_later(self):
        """A later look may spend more of the level, so six good events froze it once more."""
        history = [ago(1, 0), ago(3, 1), ago(3, 3), ago(1, 1, hours=1)]
        found = error_budget(history, 0.99, "28d", NOW)
        assert found.overspent
        for moment in (found.frozen_until, found.frozen_until - timedelta(days=1)):
            later = [*history, *[Event(moment, 1, 0)] * 6]
            assert not error_budget(later, 0.99, "28d", found.frozen_until).overspent

    @pytest.mark.long
    def test_none_of_thousands_of_random_histories_is_frozen_then(self):
        draw = Random(28)  # noqa: S311

        def drawn(start, rate):
            n = draw.choice([1, 2, 3, 20, 100])
            failed = sum(draw.random() < rate for _ in range(n))
            return Event(start + timedelta(hours=draw.uniform(0, 24 * 27)), n, failed)

        frozen = 0
        for _ in range(2000):
            objective = draw.choice([0.5, 0.9, 0.95, 0.99, 1.0])
            rate = min(1.0, (1 - objective + 0.01) * draw.choice([1, 2, 5, 20]))
            start = NOW - timedelta(days=27)
            history = [drawn(start, rate) for _ in range(draw.randint(1, 20))]
            found = error_budget(history, objective, "28d", NOW)
            if not found.overspent:
                continue
            frozen += 1
            good = [drawn(found.frozen_until - timedelta(days=27), 0) for _ in range(40)]
            good = [e for e in good if NOW < e.time <= found.frozen_until][: draw.randint(0, 40)]
            later = error_budget([*history, *good], objective, "28d", found.frozen_until)
            assert not later.overspent
        assert frozen > 500

    def test_a_bad_day_leaves_after_the_window(self):
        history = [ago(100, 0, days=d) for d in range(14, 28)]
        history += [ago(100, 40, days=d) for d in range(3, 10)]
        found = error_budget(history, 0.95, "28d", NOW)
        assert found.frozen_until == NOW + timedelta(days=25)


@given(
    st.lists(events.filter(lambda e: e.failed < e.events), min_size=1, max_size=12),
    objectives,
    st.data(),
)
def test_one_more_failure_never_leaves_more(history, objective, data):
    place = data.draw(st.integers(0, len(history) - 1))
    event = history[place]
    before = error_budget(history, objective, "28d", NOW)
    swapped = Event(event.time, event.events, event.failed + 1)
    added = Event(event.time, event.events + 1, event.failed + 1)
    for worse in (swapped, added):
        after = error_budget(
            [*history[:place], worse, *history[place + 1 :]], objective, "28d", NOW
        )
        if worse is swapped:  # one event more makes the budget larger as well
            assert after.left <= before.left + 1e-9
        for window, rate in before.burn_rate.items():
            if rate is not None:
                assert after.burn_rate[window] >= rate - 1e-12


def month(*latest: int, good: int = 0) -> list[Event]:
    """Nights of 100 samples: the latest with so many failures, and good ones before, 28 in all."""
    nights = [*latest, *[good] * (28 - len(latest))]
    return [ago(100, k, days=d, hours=1) for d, k in enumerate(nights)]


class TestBurning:
    LIMITS: ClassVar = {"1d": 2.8, "7d": 1.0, "window": 1.0}

    def marks(self, *latest: int, objective=0.95, window="28d", limits=LIMITS):
        history = month(*latest)
        return error_budget(history, objective, window, NOW, thresholds=limits).burning

    def test_a_window_at_its_threshold_with_more_than_chance_explains_is_marked(self):
        assert self.marks(14) == ("1d",)
        assert self.marks(13) == ()
        assert self.marks(30, 14, 14, 14) == ("1d", "7d")
        assert self.marks(*[14] * 14) == ("1d", "7d", "28d")

    def test_a_window_whose_failures_may_be_chance_is_not_marked(self):
        """Healthy prompts reach a burn rate of 1 in every second week."""
        assert self.marks(*[6] * 7, limits=dict.fromkeys(("1d", "7d", "window"), 1.0)) == ()
        assert self.marks(*[6, 4] * 14, limits=dict.fromkeys(("1d", "7d", "window"), 1.0)) == ()

    def test_a_healthy_month_has_no_mark(self):
        import numpy as np

        rng, marked = np.random.default_rng(1), 0
        for _ in range(40):
            failed = rng.binomial(20, 0.05, 28).tolist()
            nights = [ago(20, k, days=27 - d, hours=1) for d, k in enumerate(failed)]
            marked += any(
                error_budget(
                    nights[: d + 1], 0.95, "28d", nights[d].time, thresholds=self.LIMITS
                ).burning
                for d in range(6, 28, 3)
            )
        assert marked <= 6  # every one of them, before chance was left out

    def test_the_policy_sets_the_thresholds(self):
        assert self.marks(*[20] * 14, limits={"1d": 4.5, "7d": 3, "window": 2.5}) == ("7d",)

    def test_an_unknown_rate_is_no_burn(self):
        assert error_budget([], 0.95, "28d", NOW, thresholds=self.LIMITS).burning == ()
        assert self.marks(*[14] * 14, objective=1.0) == ()

    def test_the_objectives_own_window_goes_by_its_own_threshold(self):
        assert self.marks(*[14] * 7, window="7d") == ("1d", "7d")
        assert error_budget(month(*[14] * 7), 0.95, "7d", NOW).burning == ()

    def test_what_has_stopped_burning_is_not_marked_for_the_rest_of_the_day(self):
        over = [*(ago(e.events, e.failed, hours=10, days=d) for d, e in enumerate(month(30)))]
        found = error_budget(over, 0.95, "28d", NOW, thresholds=self.LIMITS)
        assert found.burning[0] == "1d"
        found = error_budget([*over, ago(20, 0, hours=1)], 0.95, "28d", NOW, thresholds=self.LIMITS)
        assert found.burn_rate["1d"] == pytest.approx(3)
        assert "1d" not in found.burning

    def test_nights_that_are_longer_ago_than_the_short_window_are_their_own(self):
        """Two hours are the twelfth of a day; the last night was ten hours ago."""
        nights = [ago(100, 20, days=d, hours=10) for d in range(14)]
        found = error_budget(nights, 0.95, "28d", NOW, thresholds=self.LIMITS)
        assert found.burning == ("1d", "7d", "28d")

    @pytest.mark.parametrize(
        ("window", "failed", "burning"),
        [("28d", 14, True), ("28d", 13, False), ("90d", 45, True), ("90d", 44, False)],
    )
    def test_the_mark_of_a_day_is_a_tenth_of_the_budget_of_any_window(
        self, window, failed, burning
    ):
        assert ("1d" in self.marks(failed, window=window)) == burning
