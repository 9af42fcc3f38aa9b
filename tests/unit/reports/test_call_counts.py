from __future__ import annotations

from dataclasses import replace

import pytest
from support import results as examples

from gatekeeper.gate.call_result import Calls, JudgeCalls
from gatekeeper.reports.call_counts import describe_calls, describe_cost


def test_calls_that_did_not_happen_are_left_out() -> None:
    assert describe_calls(Calls(made=1)) == "1 call made"
    assert describe_calls(Calls(4, 3, 2)) == "4 calls made, 2 not needed, 3 cached"
    assert describe_calls(Calls(4, failed=1)) == (
        "4 calls made, retries included, 1 request failed"
    )
    assert describe_calls(Calls(1, failed=1)) == "1 call made, 1 request failed"
    assert "12 requests failed" in describe_calls(Calls(48, failed=12))
    made = Calls(made=2_000, surplus=3, unrecorded=1)
    assert describe_calls(made) == ("2,000 calls made, 1 not recorded, 3 not used for the decision")


def test_judges_are_counted_apart_with_their_cost_for_100_samples() -> None:
    asked = JudgeCalls(made=48, cached=2, failed=1, samples=40, cost_usd=0.2)
    assert describe_calls(Calls(96, judge=asked)) == (
        "96 calls made (48 to judges, 0.50 USD for 100 samples), 2 answers of judges cached, "
        "1 unanswered question to judges"
    )
    assert describe_calls(Calls(0, judge=JudgeCalls(cached=31, samples=30, cost_usd=0.0))) == (
        "0 calls made, 31 answers of judges cached"
    )
    unknown = JudgeCalls(made=5, samples=5)
    assert unknown.cost_per_100_samples is None
    assert describe_calls(Calls(10, judge=unknown)) == "10 calls made (5 to judges)"


def test_what_providers_read_from_their_caches_is_told() -> None:
    found = describe_calls(Calls(40, cached_tokens=52_000, cache_write_tokens=1_300))
    assert found == "40 calls made, 52,000 tokens read from the provider's cache"
    for nothing in (None, 0):
        assert describe_calls(Calls(40, cached_tokens=nothing)) == "40 calls made"


def test_output_tokens_for_reasoning_are_told() -> None:
    found = describe_calls(Calls(40, reasoning_tokens=1_204))
    assert found == "40 calls made, 1,204 output tokens used for reasoning"
    for nothing in (None, 0):
        assert describe_calls(Calls(40, reasoning_tokens=nothing)) == "40 calls made"


@pytest.mark.parametrize(
    ("cost", "most", "said"),
    [
        (0.0000084, 0.000041, "cost 0.0000084 USD (forecast: at most 0.000041 USD)"),
        (0.0, 0.0, "cost 0 USD"),
        (None, None, "cost unknown"),
        (0.5, None, "cost 0.50 USD"),
        (None, 2.0, "cost unknown (forecast: at most 2.00 USD)"),
    ],
)
def test_the_cost_stands_next_to_its_forecast(
    cost: float | None, most: float | None, said: str
) -> None:
    result = replace(examples.PASS, cost_usd=cost, most_cost_usd=most)
    assert describe_cost(result) == said
