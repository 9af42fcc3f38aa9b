"""length and latency: what is not reported is undetermined, never a pass and never a failure."""

from __future__ import annotations

import pytest

from gatekeeper.checks.check import ParameterError


class TestLength:
    @pytest.mark.parametrize(
        ("params", "output", "message"),
        [
            ({"max": 4}, "four", ""),
            ({"max": 4}, " four \n", ""),
            ({"max": 3}, "four", "expected at most 3 characters; got 4"),
            ({"min": 5}, "four", "expected at least 5 characters; got 4"),
            ({"min": 1}, " ", "expected at least 1 characters; got 0"),
            ({"max": 2, "unit": "words"}, "one two\nthree", "expected at most 2 words; got 3"),
            ({"min": 3, "max": 3, "unit": "words"}, "one two\nthree", ""),
            ({"max": 1}, "é", ""),
        ],
    )
    def test_counts(self, apply, params, output, message):
        finding = apply("length", output, **params)
        assert (finding.passed, finding.message) == (not message, message)

    @pytest.mark.parametrize(("reported", "passed"), [(16, True), (17, False), (None, None)])
    def test_tokens_are_what_the_provider_reported(self, apply, reported, passed):
        completion = {"completion_tokens": reported}
        finding = apply("length", "x", completion=completion, max=16, unit="tokens")
        assert finding.passed is passed
        assert bool(finding.message) is (passed is not True)

    @pytest.mark.parametrize("params", [{}, {"min": 3, "max": 2}])
    def test_refuses_no_bound_and_crossed_bounds(self, apply, params):
        with pytest.raises(ParameterError):
            apply("length", "x", **params)


@pytest.mark.parametrize(
    ("latency", "passed", "message"),
    [
        (1000, True, ""),
        (1000.6, False, "expected at most 1,000 ms; the request took 1,001 ms"),
        (None, None, "the provider did not report how long the request took"),
    ],
)
def test_latency(apply, latency, passed, message):
    finding = apply("latency", "x", completion={"latency_ms": latency}, max_ms=1000)
    assert (finding.passed, finding.message) == (passed, message)


@pytest.mark.parametrize(
    ("kind", "params", "completion", "passed"),
    [
        ("ttft", {"max_ms": 800}, {"ttft_ms": 800.0}, True),
        ("ttft", {"max_ms": 800}, {"ttft_ms": 800.1}, False),
        ("ttft", {"max_ms": 800}, {"latency_ms": 10.0}, None),
        ("tokens", {"max": 10}, {"prompt_tokens": 6, "completion_tokens": 4}, True),
        ("tokens", {"max": 9}, {"prompt_tokens": 6, "completion_tokens": 4}, False),
        ("tokens", {"max": 9}, {"completion_tokens": 4}, None),
        ("tokens", {"max": 4, "of": "answer"}, {"completion_tokens": 4}, True),
        ("tokens", {"max": 5, "of": "prompt"}, {"prompt_tokens": 6}, False),
        ("cost", {"max_usd": 0.01}, {"cost_usd": 0.01}, True),
        ("cost", {"max_usd": 0.01}, {"cost_usd": 0.011}, False),
        ("cost", {"max_usd": 0.01}, {}, None),
        ("cost", {"max_usd": 0.01}, {"cost_usd": 0.0}, True),
    ],
)
def test_measures_of_one_call(apply, kind, params, completion, passed):
    finding = apply(kind, "x", completion=completion, **params)
    assert finding.passed is passed
    assert bool(finding.message) is (passed is not True)
