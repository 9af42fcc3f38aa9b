from __future__ import annotations

from dataclasses import replace
from io import StringIO

import pytest
from rich.console import Console
from support import results as examples

from gatekeeper.gate.results.parts import Calls, Forecast, ForecastAmounts, JudgeCalls
from gatekeeper.reports.html import render_html
from gatekeeper.reports.markdown.comment import render_comment
from gatekeeper.reports.terminal.console import print_result
from gatekeeper.reports.words.call_counts import describe_calls, describe_cost, describe_forecast


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


def test_the_tokens_of_prompts_and_answers_are_told_if_both_are_known() -> None:
    used = Calls(40, prompt_tokens=31_000, completion_tokens=200, cached_tokens=12)
    assert describe_calls(used) == (
        "40 calls made, 31,200 tokens used, 12 tokens read from the provider's cache"
    )
    for unknown in (Calls(40, prompt_tokens=31_000), Calls(40, completion_tokens=200)):
        assert describe_calls(unknown) == "40 calls made"
    assert describe_calls(Calls(prompt_tokens=0, completion_tokens=0)) == "0 calls made"


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
    ("cost", "said"), [(0.0000084, "0.0000084 USD"), (0.0, "0 USD"), (None, "unknown")]
)
def test_the_cost_is_told_or_unknown(cost: float | None, said: str) -> None:
    assert describe_cost(replace(examples.PASS, cost_usd=cost)) == f"cost {said}"


@pytest.mark.parametrize(
    ("expected", "most", "said"),
    [
        (
            ForecastAmounts(120, 30_000, 1_000, 0.0000091),
            ForecastAmounts(200, 40_000, 12_000, 0.000041),
            "expected 120 calls, 31,000 tokens, 0.0000091 USD; "
            "at most 200 calls, 52,000 tokens, 0.000041 USD, "
            "plus one more try of calls without an answer",
        ),
        (
            ForecastAmounts(1, 30, 10, None),
            ForecastAmounts(1, 90, None, None),
            "expected 1 call, 40 tokens, cost unknown; "
            "at most 1 call, unknown tokens, cost unknown, "
            "plus one more try of calls without an answer",
        ),
    ],
)
def test_the_forecast_is_an_interval(
    expected: ForecastAmounts, most: ForecastAmounts, said: str
) -> None:
    result = replace(examples.PASS, forecast=Forecast(expected, most))
    assert describe_forecast(result) == said
    (line,) = [row for row in render_comment(result).splitlines() if "Forecast" in row]
    assert line == f"- Forecast before the first call: {said}"
    assert said in render_html(result)
    written = StringIO()
    print_result(result, {}, Console(file=written, width=200))
    assert f"forecast before the first call: {said}" in written.getvalue()


def test_a_run_that_called_no_model_has_no_forecast() -> None:
    assert examples.PASS.forecast is None
    assert describe_forecast(examples.PASS) == ""
    for page in (render_comment(examples.PASS), render_html(examples.PASS)):
        assert "Forecast" not in page
