"""What a call takes on both arms, and when a report makes a point of the change."""

from __future__ import annotations

import pytest
from support.outcomes import outcome

from gatekeeper.contract.values.trial import Outcome
from gatekeeper.gate.comparison.resource_limits import resource_changes
from gatekeeper.gate.results.parts import ResourceChange
from gatekeeper.stats.interval import ConfidenceInterval


def calls(fixtures: int, factor: float) -> list[Outcome]:
    """Calls that take `factor` times as long on head; nothing is known of tokens, and the price
    of the first fixture's call on head is unknown."""
    return [
        outcome(
            f"f{number}",
            arm,
            0,
            True,
            cost=None if (number, arm) == (0, "head") else 0.01 * times,
            latency=(100 + number) * times,
        )
        for number in range(fixtures)
        for arm, times in (("base", 1.0), ("head", factor))
    ]


def test_each_resource_that_is_known_on_both_arms_is_compared() -> None:
    cost, p50, p95 = resource_changes(calls(41, 2.0))
    assert (cost.resource, cost.base, cost.head) == pytest.approx(("cost_per_call_usd", 0.01, 0.02))
    assert (p50.resource, p50.base, p50.head) == ("latency_p50_ms", 120, 240)
    assert (p95.resource, p95.base, p95.head) == ("latency_p95_ms", 138, 276)
    for found in (cost, p50, p95):
        assert found.interval is not None
        assert found.relative == pytest.approx(1)
        assert found.differs


@pytest.mark.parametrize(
    ("fixtures", "known"),
    [(19, []), (20, ["p50"]), (21, ["cost", "p50"]), (40, ["cost", "p50", "p95"])],
)
def test_few_fixtures_have_no_interval(fixtures: int, known: list[str]) -> None:
    found = resource_changes(calls(fixtures, 2.0))
    names = dict(zip(("cost", "p50", "p95"), found, strict=True))
    assert [name for name, change in names.items() if change.interval is not None] == known


@pytest.mark.parametrize(
    ("head", "low", "high", "differs"),
    [
        (1.3, 0.2, 0.4, True),
        (0.7, -0.4, -0.2, True),
        (1.3, -0.1, 0.7, False),  # chance explains it
        (0.7, -0.7, 0.1, False),
        (1.3, 0.0, 0.7, False),
        (1.04, 0.01, 0.07, False),  # beyond chance, and less than a twentieth
    ],
)
def test_a_change_beyond_chance_and_of_some_size_differs(
    head: float, low: float, high: float, differs: bool
) -> None:
    interval = ConfidenceInterval(low, high)
    assert ResourceChange("cost_per_call_usd", 1.0, head, interval).differs is differs


def test_without_an_interval_or_a_base_nothing_differs() -> None:
    assert not ResourceChange("cost_per_call_usd", 1.0, 9.0, None).differs
    assert not ResourceChange("cost_per_call_usd", 0.0, 9.0, ConfidenceInterval(1, 2)).differs
