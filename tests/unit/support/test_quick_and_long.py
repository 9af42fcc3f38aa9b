"""Which cases of a table are marked `long`, and byte code that pytest itself takes."""

from __future__ import annotations

from pathlib import Path

import pytest
from _pytest.assertion.rewrite import PYC_TAIL, _read_pyc, get_cache_dir
from support.compiled_once import write_byte_code
from support.quick_and_long import a_few


def quick(cases: list[object]) -> list[object]:
    return [case for case in cases if not getattr(case, "marks", ())]


@pytest.mark.parametrize(
    ("size", "number", "expected"),
    [(9, 4, [0, 3, 5, 8]), (9, 1, [0]), (3, 4, [0, 1, 2]), (4, 4, [0, 1, 2, 3]), (0, 4, [])],
)
def test_the_ends_and_some_between_are_quick(size: int, number: int, expected: list[int]) -> None:
    cases = a_few(range(size), number)
    assert len(cases) == size
    assert quick(cases) == expected


def test_the_others_keep_values_marks_and_names() -> None:
    known = pytest.mark.filterwarnings("error")
    _, marked, several = a_few(["a", pytest.param("b", marks=known, id="named"), ("c", "d")], 1)
    assert (marked.values, marked.id) == (("b",), "named")
    assert [mark.name for mark in marked.marks] == ["filterwarnings", "long"]
    assert several.values == ("c", "d")


def test_pytest_takes_the_byte_code(pytestconfig: pytest.Config, tmp_path: Path) -> None:
    file = tmp_path / "test_it.py"
    file.write_text("def test_it():\n    assert 1 == 2, 'rewritten'\n", "utf-8")
    compiled = get_cache_dir(file) / f"test_it{PYC_TAIL}"
    assert _read_pyc(file, compiled) is None
    write_byte_code(pytestconfig, [file])
    assert _read_pyc(file, compiled) is not None
    file.write_text("def test_it():\n    pass\n", "utf-8")
    assert _read_pyc(file, compiled) is None
