"""Fixtures that still have the values of `gatekeeper init`."""

from __future__ import annotations

from typing import Any

import pytest
from support.outcomes import contract

from gatekeeper.contract.fixtures.unused_variables import (
    EXAMPLES,
    placeholder_fixtures,
)
from gatekeeper.contract.values.definition import Fixture, Position


@pytest.mark.parametrize("example", EXAMPLES)
def test_the_first_fixture_with_an_example_value_is_named(example: str) -> None:
    text = example.format(name="user name")
    values: list[dict[str, Any]] = [{"a": "Ann", "n": 3}, {"a": "Ben", "b": [{"c": text}]}]
    fixtures = tuple(
        Fixture(f"f{line}", row, position=Position("a.csv", line))
        for line, row in enumerate(values, 1)
    )
    (found,) = placeholder_fixtures(contract(fixtures=fixtures))
    assert (found.path, found.line) == ("a.csv", 2)
    assert "1 of 2 fixtures" in found.what


def test_an_input_about_an_example_is_no_example() -> None:
    quoted = EXAMPLES[0].format(name="name") + " he said"
    made = contract(fixtures=(Fixture("one", {"a": quoted}),))
    assert not list(placeholder_fixtures(made))
