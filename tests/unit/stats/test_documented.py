"""The examples of the pages on statistics compute what the pages say."""

import doctest
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize(
    ("page", "examples"), [("docs/statistics.md", 40), ("benchmarks/pcsl.md", 20)]
)
def test_the_worked_examples_are_right(page, examples):
    found = doctest.testfile(str(ROOT / page), module_relative=False, encoding="utf-8")
    assert found.failed == 0
    assert found.attempted > examples
