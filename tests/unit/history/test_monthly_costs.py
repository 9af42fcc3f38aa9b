"""What runs cost, by month and model."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from support.past_runs import record

from gatekeeper.history.monthly_costs import cost_of, monthly_costs, total


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
