"""starts_with, ends_with, not_regex."""

from __future__ import annotations

import pytest

from gatekeeper.checks.check import ParameterError


@pytest.mark.parametrize(
    ("check", "params", "output", "passed"),
    [
        ("starts_with", {"value": "Dear"}, " \nDear Ann", True),
        ("starts_with", {"value": "Dear"}, "dear Ann", False),
        ("starts_with", {"value": "Dear", "ignore_case": True}, "DEAR Ann", True),
        ("starts_with", {"values": ["Yes", "No"]}, "No.", True),
        ("starts_with", {"value": 4}, "4 items", True),
        ("starts_with", {"value": "a", "field": "x"}, '{"x": "ab"}', True),
        ("starts_with", {"value": "a", "field": "y"}, '{"x": "ab"}', False),
        ("ends_with", {"value": "."}, "Done.\n", True),
        ("ends_with", {"value": "."}, "Done. Really", False),
        ("ends_with", {"values": [".", "!"]}, "Done!", True),
        ("not_regex", {"pattern": r"\d"}, "none", True),
        ("not_regex", {"pattern": r"\d"}, "1", False),
        ("not_regex", {"pattern": "A", "ignore_case": True}, "a", False),
    ],
)
def test_evaluates(apply, check, params, output, passed):
    assert apply(check, output, **params).passed is passed


def test_messages_show_the_end_that_counts(apply):
    output = "start " * 100 + "finish"
    message = apply("starts_with", output, value="x").message
    assert message.startswith('expected a text that begins with "x"; got "start ')
    assert apply("ends_with", output, value="x").message.endswith('finish"')


@pytest.mark.parametrize("check", ["starts_with", "ends_with"])
@pytest.mark.parametrize("params", [{}, {"value": "a", "values": ["b"]}, {"value": " "}])
def test_refuses(apply, check, params):
    with pytest.raises(ParameterError):
        apply(check, "a", **params)
