"""The examples of the pages on statistics compute what the pages say."""

import doctest
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[3] / "docs"


@pytest.mark.parametrize(("page", "examples"), [("statistics.md", 40), ("papers.md", 20)])
def test_the_worked_examples_are_right(page, examples):
    found = doctest.testfile(str(DOCS / page), module_relative=False, encoding="utf-8")
    assert found.failed == 0
    assert found.attempted > examples
