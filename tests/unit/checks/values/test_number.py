"""`number`: ranges, tolerances in decimals, and numbers that are written in text."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatekeeper.checks.check import ParameterError
from gatekeeper.checks.reading.numbers_in_text import NotANumber, as_number, only_number_in


@pytest.mark.parametrize(
    ("output", "params", "passed"),
    [
        ("42", {"min": 42, "max": 42}, True),
        ("41.9", {"min": 42}, False),
        (" -3.5e2 ", {"max": -350}, True),
        ("0.3", {"expected": 0.1, "absolute": 0.2}, True),
        ("0.3", {"expected": 0.1, "absolute": 0.19}, False),
        ("95", {"expected": 100, "relative": 0.05}, True),
        ("94.99", {"expected": 100, "relative": 0.05}, False),
        ("-95", {"expected": -100, "relative": 0.05}, True),
        ("7", {"expected": "7.0"}, True),
        ("7", {"expected": 7.5, "absolute": 0.1, "relative": 0.1}, True),
        ("true", {"min": 0}, False),
        ("", {"min": 0}, False),
        ("1e999", {"min": 0}, False),
        ("seven", {"min": 0}, False),
        ("7 EUR", {"min": 0}, False),
    ],
)
def test_the_whole_output(apply, output, params, passed):
    found = apply("number", output, **params)
    assert found.passed is passed
    assert bool(found.message) is not passed


def test_the_message_says_how_far_away(apply):
    found = apply("number", '{"a": 12.5}', field="a", expected=10, relative=0.1)
    assert (
        found.message
        == "`a`: expected 10 with a difference of at most 1; got 12.5, which differs by 2.5"
    )


@pytest.mark.parametrize("value", [True, None, [], {}, "NaN", "Infinity", "0x1", "1_000", "1,5"])
def test_what_is_no_number(value):
    assert isinstance(as_number(value), NotANumber)


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"min": 2, "max": 1},
        {"min": 1, "absolute": 1},
        {"expected": 1, "absolute": -1},
        {"expected": "many"},
    ],
)
def test_parameters_must_make_sense(apply, params):
    with pytest.raises(ParameterError):
        apply("number", "1", **params)


@pytest.mark.parametrize(
    ("text", "point", "comma"),
    [
        ("1,234.50 EUR", "1234.50", None),
        ("1.234,50 EUR", None, "1234.50"),
        ("$1,234", "1234", "1.234"),
        ("12,5", None, "12.5"),
        ("about −4 °C", "-4", "-4"),
        ("1'234'567", "1234567", "1234567"),
        ("1\u202f234.5", "1234.5", None),
        ("it is 3, I think.", "3", "3"),
        ("10-20", None, None),
        ("order-17", None, None),
        (".5", None, None),
        ("v1.2.3", None, None),
        ("1e3", None, None),
        ("none", None, None),
    ],
)
def test_the_only_number_in_a_text(text, point, comma):
    for style, wanted in (("point", point), ("comma", comma)):
        found = only_number_in(text, style)
        if wanted is None:
            assert isinstance(found, NotANumber), style
        else:
            assert found == Decimal(wanted), style


@given(st.integers(-(10**12), 10**12), st.integers(0, 99))
def test_grouped_digits_read_back(whole, cents):
    written = f"{whole:,}.{cents:02}"
    assert only_number_in(f"EUR {written} net", "point") == Decimal(f"{whole}.{cents:02}")
    swapped = written.translate(str.maketrans(",.", ".,"))
    assert only_number_in(f"EUR {swapped} net", "comma") == Decimal(f"{whole}.{cents:02}")


@given(st.text())
def test_no_text_raises(text):
    only_number_in(text, "point")
    as_number(text)
