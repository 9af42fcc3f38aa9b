"""What a month cost, by the records of the history."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.past_runs import record

from gatekeeper.history.month_spending import month_spending

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
