"""What runs cost, by month and model, and what the current month cost."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.past_runs import record

from gatekeeper.history.costs import cost_of, month_spending, monthly_costs, total

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


def test_only_this_month_counts_in_utc() -> None:
    east = timezone(timedelta(hours=5))
    times = {
        datetime(2026, 10, 31, 23, 59, tzinfo=UTC): 1.0,
        datetime(2026, 11, 1, 4, tzinfo=east): 2.0,  # still October in UTC
        datetime(2026, 11, 1, tzinfo=UTC): 4.0,
        datetime(2026, 12, 1, 4, tzinfo=east): 8.0,  # later than now
        datetime(2025, 11, 5, tzinfo=UTC): 16.0,
        NOW: 32.0,
    }
    found = month_spending([record(time=t, cost_usd=c) for t, c in times.items()], NOW)
    assert (found.usd, found.unpriced) == (36.0, 0)
    assert found.ends == datetime(2026, 12, 1, tzinfo=UTC)


def test_december_ends_with_the_year() -> None:
    now = datetime(2026, 12, 31, 23, 59, tzinfo=UTC)
    assert month_spending([], now).ends == datetime(2027, 1, 1, tzinfo=UTC)


def test_an_unknown_price_is_counted_and_is_not_zero() -> None:
    records = [
        record(time=NOW, cost_usd=None),
        record(time=NOW, cost_usd=0.5),
        record(time=NOW, cost_usd=None, model="local/smollm2"),
        record(time=NOW, cost_usd=9e9, model="recorded/answers.jsonl"),
        record(time=NOW, cost_usd=None, samples=0, failed=0, calls=0, failed_calls=0),
    ]
    found = month_spending(records, NOW)
    assert (found.usd, found.unpriced) == (0.5, 1)


@pytest.mark.parametrize(
    ("usd", "limit", "share"),
    [(7.99, 10, None), (8, 10, 0.8), (9.99, 10, 0.8), (10, 10, 1), (11, 10, 1), (0, 0, 1)],
)
def test_the_levels(usd: float, limit: float, share: float | None) -> None:
    assert month_spending([record(time=NOW, cost_usd=usd)], NOW).reached(limit) == share


@given(st.lists(st.floats(0, 1e6), max_size=20), st.floats(0, 1e7), st.floats(0, 1e6))
def test_more_spending_never_reaches_less(costs: list[float], limit: float, more: float) -> None:
    before = month_spending([record(time=NOW, cost_usd=c) for c in costs], NOW)
    after = month_spending([record(time=NOW, cost_usd=c) for c in [*costs, more]], NOW)
    assert (after.reached(limit) or 0) >= (before.reached(limit) or 0)


def test_costs_are_added_by_month_in_utc_and_by_model():
    late = datetime(2026, 10, 31, 23, 30, tzinfo=timezone(timedelta(hours=-2)))  # November in UTC
    found = monthly_costs(
        [
            record(time=datetime(2026, 10, 3, tzinfo=UTC), cost_usd=0.1, model="a"),
            record(time=late, cost_usd=0.2, model="a"),
            record(time=datetime(2026, 11, 4, tzinfo=UTC), cost_usd=0.4, model="a"),
            record(time=datetime(2026, 11, 5, tzinfo=UTC), cost_usd=None, model="b"),
        ]
    )
    assert list(found) == ["2026-11", "2026-10"]
    assert found["2026-11"]["a"].usd == pytest.approx(0.6)
    assert (found["2026-11"]["b"].usd, found["2026-11"]["b"].unpriced) == (None, 1)
    both = total(found["2026-11"].values())
    assert (both.runs, both.unpriced) == (3, 1)
    assert both.usd == pytest.approx(0.6)


def test_unknown_is_not_zero_and_local_models_are_free():
    assert cost_of([]).usd is None
    assert cost_of([record(cost_usd=None)]).prompt_tokens is None
    assert cost_of([record(model="local/smollm2", cost_usd=None)]).usd == 0
