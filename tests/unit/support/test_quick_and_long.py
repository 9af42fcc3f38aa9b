"""Which cases of a table are marked `long`, and byte code that pytest itself takes."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from _pytest.assertion.rewrite import PYC_TAIL, _read_pyc, get_cache_dir
from support.compiled_once import write_byte_code
from support.quick_and_long import INTEGRATION, TURNS, a_few, mark_long, without_some_ways


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


class Item:
    """A test as far as `mark_long` knows it."""

    def __init__(self, name: str, **params: str) -> None:
        self.nodeid, self.marks = name, set[str]()
        self.callspec = SimpleNamespace(params=params)

    def get_closest_marker(self, name: str) -> bool:
        return name in self.marks

    def add_marker(self, mark: pytest.MarkDecorator) -> None:
        self.marks.add(mark.name)


def left(*items: Any) -> list[str]:
    mark_long(items)
    return [item.nodeid.rpartition("::")[2] for item in items if not item.marks]


def test_one_case_of_each_table_in_integration_is_quick() -> None:
    file = f"{INTEGRATION}test_a.py::test_"
    alone = Item(f"{file}alone")
    del alone.callspec
    table = [Item(f"{file}table[{at}]") for at in range(5)]
    assert left(alone, *table, Item(f"{file}b[0]")) == [
        "test_alone",
        *cases_of("table", 0),
        "test_b[0]",
    ]
    unit = [Item(f"tests/unit/test_a.py::test_a[{at}]") for at in range(5)]
    assert left(*unit) == cases_of("a", *range(5))


def test_what_is_long_already_does_not_count_and_each_way_keeps_one() -> None:
    file = f"{INTEGRATION}test_a.py::test_a"
    table = [Item(f"{file}[{at}]") for at in range(4)]
    table[0].marks.add("long")
    table[3].marks.add("container")
    assert left(*table) == cases_of("a", 1)
    ways = [Item(f"{file}[{way}{at}]", run_gate_each_way=way) for way in "xy" for at in range(3)]
    assert left(*ways) == cases_of("a", "x0", "y0")


def test_the_ways_through_the_action_share_the_cases_of_a_table() -> None:
    file = f"{INTEGRATION}test_a.py::test_"
    alone = [Item(f"{file}alone[{way}]", run_gate=way) for way in ("check", *TURNS)]
    ways = ("check", *TURNS)
    table = [Item(f"{file}b[{way}{at}]", run_gate=way) for way in ways for at in range(4)]
    kept = [item.nodeid.rpartition("b[")[2] for item in without_some_ways([*alone, *table])]
    assert kept[:3] == [item.nodeid for item in alone]
    checks = [f"check{at}]" for at in range(4)]
    assert kept[3:] == [
        *checks,
        *(f"{TURNS[0]}{at}]" for at in (0, 3)),
        *(f"{TURNS[1]}{at}]" for at in (0, 1)),
    ]


def cases_of(name: str, *cases: object) -> list[str]:
    return [f"test_{name}[{case}]" for case in cases]
