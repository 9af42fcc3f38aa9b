"""Met, missed or open; and windows."""

import math
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatekeeper.stats.objectives.objective import decide, parse_window

numbers = st.floats(-1e6, 1e6)


@pytest.mark.parametrize(
    ("low", "high", "target", "better", "met"),
    [
        (0.96, 0.99, 0.95, "higher", True),
        (0.95, 0.99, 0.95, "higher", True),
        (0.90, 0.94, 0.95, "higher", False),
        (0.90, 0.95, 0.95, "higher", None),
        (100, 200, 250, "lower", True),
        (100, 250, 250, "lower", True),
        (251, 300, 250, "lower", False),
        (250, 300, 250, "lower", None),
        (None, 0.94, 0.95, "higher", False),
        (None, 0.99, 0.95, "higher", None),
        (0.96, None, 0.95, "higher", True),
        (300, None, 250, "lower", False),
        (100, None, 250, "lower", None),
        (None, None, 0.95, "higher", None),
        (100, math.inf, 250, "lower", None),
    ],
)
def test_the_interval_decides(low, high, target, better, met):
    assert decide(0.5, low, high, target, better) is met


def test_nothing_observed_decides_nothing():
    assert decide(None, 0.99, 1.0, 0.5, "higher") is None


@given(numbers, numbers, numbers)
def test_higher_and_lower_mirror_each_other(a, b, target):
    low, high = sorted((a, b))
    assert decide(low, low, high, target, "higher") == decide(-low, -high, -low, -target, "lower")


@given(numbers, numbers, numbers, st.floats(0, 1e3))
def test_a_wider_interval_never_reverses_a_decision(a, b, target, wider):
    low, high = sorted((a, b))
    narrow = decide(low, low, high, target, "higher")
    wide = decide(low, low - wider, high + wider, target, "higher")
    assert wide in (narrow, None)


@pytest.mark.parametrize(
    ("text", "hours"), [("28d", 28 * 24), ("1h", 1), ("36h", 36), ("4w", 4 * 7 * 24)]
)
def test_windows_are_read(text, hours):
    assert parse_window(text) == timedelta(hours=hours)


@pytest.mark.parametrize(
    "text", ["", "28", "d", "0d", "-1d", "1.5d", " 1d", "1d ", "1d\n", "1D", "1m", "100000d", "١d"]
)
def test_other_text_is_no_window(text):
    with pytest.raises(ValueError, match=r"^window: "):
        parse_window(text)
