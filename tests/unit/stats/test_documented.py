"""The examples of docs/statistics.md compute what the page says."""

import doctest
from pathlib import Path

PAGE = Path(__file__).parents[3] / "docs" / "statistics.md"


def test_the_worked_examples_are_right():
    found = doctest.testfile(str(PAGE), module_relative=False, encoding="utf-8")
    assert found.failed == 0
    assert found.attempted > 40
