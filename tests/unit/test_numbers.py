from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatekeeper import numbers
from gatekeeper.stats.interval import ConfidenceInterval


def _spaced(text: str) -> str:
    return text.replace("\u00a0", " ")


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (None, "–"),
        (float("nan"), "–"),
        (0, "0 %"),
        (1, "100 %"),
        (0.975, "97.5 %"),
        (0.9999, "> 99.9 %"),
        (0.0001, "< 0.1 %"),
        (-0.204, "−20.4 %"),
    ],
)
def test_percent(share: float | None, text: str) -> None:
    assert _spaced(numbers.percent(share)) == text


@given(st.floats(0, 1, exclude_min=True, exclude_max=True))
def test_a_share_between_is_never_called_all_or_none(share: float) -> None:
    assert _spaced(numbers.percent(share)) not in ("0 %", "100 %")


@pytest.mark.parametrize(
    ("difference", "text"),
    [
        (None, "–"),
        (float("inf"), "–"),
        (0.0, "0 points"),
        (-0.175, "−17.5 points"),
        (0.01, "+1 point"),
        (-0.01, "−1 point"),
        (-0.00001, "0 points"),
    ],
)
def test_points(difference: float | None, text: str) -> None:
    assert _spaced(numbers.points(difference)) == text


def test_a_size_has_no_sign() -> None:
    assert _spaced(numbers.size_in_points(-0.12)) == "12 points"
    assert _spaced(numbers.size_in_points(0.01)) == "1 point"


@pytest.mark.parametrize(
    ("effect", "text"),
    [
        (0.0, "0"),
        (1e-17, "0"),
        (1e-6, "< 0.001"),
        (0.00001, "0.001"),
        (0.00032, "0.03"),
        (-0.000499, "0.05"),
        (0.0006, "0.1"),
        (0.0123, "1.2"),
    ],
)
def test_a_small_size_is_never_rounded_to_nothing(effect: float, text: str) -> None:
    assert _spaced(numbers.size_in_points(effect)) == f"{text} points"


def test_interval() -> None:
    assert _spaced(numbers.points_interval(ConfidenceInterval(-0.291, 0.05))) == "[−29.1, +5]"
    assert numbers.points_interval(None) == ""
    assert numbers.points_interval(ConfidenceInterval(float("nan"), 0.1)) == ""


@pytest.mark.parametrize(
    ("p", "alpha", "text"),
    [
        (None, None, "–"),
        (float("nan"), None, "–"),
        (1.3e-9, 0.05, "< 0.0001"),
        (0.0, 0.05, "< 0.0001"),
        (0.0004, 0.05, "= 0.0004"),
        (0.0312, 0.05, "= 0.031"),
        (0.314, 0.05, "= 0.31"),
        (1.0, 0.05, "= 1"),
        (0.04996, 0.05, "= 0.050"),
        (0.05004, 0.05, "= 0.05004"),
        (0.0500, None, "= 0.050"),
        (math.nextafter(0.05, 1), 0.05, "> 0.05"),
    ],
)
def test_p_value(p: float | None, alpha: float | None, text: str) -> None:
    assert numbers.p_value(p, alpha) == text


def test_in_a_table_a_p_value_needs_no_equals_sign() -> None:
    assert numbers.p_value(0.0312, 0.05, equals="") == "0.031"
    assert numbers.p_value(1.0, equals="") == "1"
    assert numbers.p_value(1e-9, equals="") == "< 0.0001"
    assert numbers.p_value(0.0312, at_most=True, equals="") == "≤ 0.031"


@pytest.mark.parametrize(
    ("before", "after", "unit", "text"),
    [
        (0.001, 0.0043, "usd", "0.0010 → 0.0043 USD"),
        (0.0, 0.5, "usd", "0 → 0.50 USD"),
        (412.0, 1203.0, "ms", "412 → 1,203 ms"),
        (900.0, 1204.4, "tokens", "900 → 1,204"),
    ],
)
def test_what_an_amount_became_has_its_unit_once(
    before: float, after: float, unit: numbers.Unit, text: str
) -> None:
    assert numbers.transition(before, after, unit) == text


def test_a_p_value_that_is_a_bound_says_so() -> None:
    assert numbers.p_value(0.0312, 0.05, at_most=True) == "≤ 0.031"
    assert numbers.p_value(1.0, 0.05, at_most=True) == "≤ 1"
    assert numbers.p_value(1e-9, 0.05, at_most=True) == "< 0.0001"


@given(st.floats(0.0001, 1), st.sampled_from([0.01, 0.05, 0.1]))
def test_a_p_value_stands_on_its_side_of_alpha(p: float, alpha: float) -> None:
    shown = float(numbers.p_value(p, alpha).removeprefix("= "))
    assert (shown <= alpha) == (p <= alpha) or abs(p - alpha) < 1e-8


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        (None, "unknown"),
        (float("nan"), "unknown"),
        (0, "0 USD"),
        (12.345, "12.35 USD"),
        (1234.5, "1,234.50 USD"),
        (0.0084, "0.0084 USD"),
        (0.000021, "0.000021 USD"),
        (0.5, "0.50 USD"),
    ],
)
def test_dollars(amount: float | None, text: str) -> None:
    assert numbers.dollars(amount) == text


@given(st.floats(1e-9, 1e6))
def test_an_amount_is_never_shown_as_nothing(amount: float) -> None:
    shown = numbers.dollars(amount).removesuffix(" USD").replace(",", "")
    assert float(shown) == pytest.approx(amount, rel=0.06)
    plain = numbers.plain_amount(amount)
    assert float(plain) == pytest.approx(amount, rel=1e-2)
    assert "e" not in plain


@pytest.mark.parametrize(
    ("amount", "text"), [(0.0, "0"), (12.0, "12"), (0.00087, "0.00087"), (7.8e-7, "0.00000078")]
)
def test_an_amount_for_programs(amount: float, text: str) -> None:
    assert numbers.plain_amount(amount) == text


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.975, "share", "97.5 %"),
        (1499.6, "ms", "1,500 ms"),
        (0.01, "usd", "0.010 USD"),
        (1204.4, "tokens", "1,204"),
        (0.85, "score", "0.85"),
        (0.8504, "score", "0.85"),
        (None, "score", "–"),
        (None, "tokens", "–"),
        (None, "usd", "unknown"),
    ],
)
def test_an_amount_is_written_in_its_unit(
    value: float | None, unit: numbers.Unit, text: str
) -> None:
    assert _spaced(numbers.amount(value, unit)) == text


@pytest.mark.parametrize(
    ("share", "text"),
    [(3.3, "330 %"), (202.8013, "20,280 %"), (0.0001, "< 0.1 %"), (0.0, "0 %"), (0.9999, "100 %")],
)
def test_a_rise_has_no_sign(share: float, text: str) -> None:
    assert _spaced(numbers.rise(share)) == text


def test_times() -> None:
    assert numbers.milliseconds(None) == "–"
    assert numbers.milliseconds(4211.4) == "4,211 ms"
    assert numbers.milliseconds(0.26) == "0.3 ms"
    assert numbers.duration(0.21) == "0.2 s"
    assert numbers.duration(41.7) == "42 s"
    assert numbers.duration(125) == "2 min 5 s"
    assert numbers.duration(7_500) == "2 h 5 min"


def test_a_moment_is_told_in_utc() -> None:
    somewhere = timezone(timedelta(hours=2))
    assert numbers.moment(datetime(2026, 3, 2, 12, 0, tzinfo=somewhere)) == "2026-03-02 10:00 UTC"
    assert numbers.moment(datetime(2026, 3, 2, 12, 0, tzinfo=UTC)) == "2026-03-02 12:00 UTC"
    naive = datetime(2026, 3, 2, 12, 0, tzinfo=UTC).replace(tzinfo=None)
    assert numbers.moment(naive) == "2026-03-02 12:00"


@pytest.mark.parametrize(
    ("given", "text"), [((), ""), ((3,), "line 3"), ((3, 4, 12), "lines 3, 4, 12")]
)
def test_lines_of_a_prompt(given: tuple[int, ...], text: str) -> None:
    assert numbers.lines(given) == text


def test_counts() -> None:
    assert numbers.count(1, "fixture") == "1 fixture"
    assert numbers.count(3000, "fixture") == "3,000 fixtures"
    assert numbers.count(2, "more", "more") == "2 more"
    assert numbers.number(-12.44) == "−12.4"
    assert numbers.number(-0.01) == "0"
