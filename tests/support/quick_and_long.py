"""Of a table of cases, those that `make test` takes; `make test-rest` takes the others.

In `integration/` it takes one case of each table by itself. Elsewhere, where each case costs much:

    @pytest.mark.parametrize("attack", a_few(ATTACKS), ids=lambda attack: attack.name)
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

import pytest
from _pytest.mark import ParameterSet

INTEGRATION = "tests/integration/"
CASES = 1
TURNS = ("pull_request", "fork_stage")


def a_few(cases: Iterable[Any], number: int = 4) -> list[Any]:
    """The cases, all but `number` of them marked `long`: the first, the last, and between them at
    equal distances."""
    every = list(cases)
    quick = _spread(len(every), number)
    return [case if at in quick else _long(case) for at, case in enumerate(every)]


def mark_long(items: Iterable[pytest.Item]) -> None:
    """Mark all but the first case of each table in `integration/` as `long`. Each way into the
    gate keeps one, where `make test` takes all ways."""
    tables: dict[object, list[pytest.Item]] = defaultdict(list)
    for item in items:
        call = getattr(item, "callspec", None)
        if call and item.nodeid.startswith(INTEGRATION) and not item.get_closest_marker("long"):
            name = item.nodeid.partition("[")[0]
            tables[name, call.params.get("run_gate_each_way")].append(item)
    for cases in tables.values():
        quick = _spread(len(cases), CASES)
        for at, case in enumerate(cases):
            if at not in quick:
                case.add_marker(pytest.mark.long)


def without_some_ways(items: Iterable[pytest.Item]) -> list[pytest.Item]:
    """The tests, with every fourth case of a table alone by each way through the action. The
    command takes every case."""
    kept, seen = [], Counter[tuple[str, str]]()
    for item in items:
        call = getattr(item, "callspec", None)
        way = call.params.get("run_gate") if call else None
        if way in TURNS:
            table = item.nodeid.partition("[")[0], way
            seen[table] += 1
            if seen[table] > 1 and seen[table] % 4 != 2 * TURNS.index(way):
                continue
        kept.append(item)
    return kept


def _spread(number: int, most: int) -> Sequence[int]:
    """Places of the first, the last, and others at equal distances."""
    return [round(at * (number - 1) / max(1, most - 1)) for at in range(most)]


def _long(case: Any) -> Any:
    if isinstance(case, ParameterSet):
        return pytest.param(*case.values, marks=(*case.marks, pytest.mark.long), id=case.id)
    several = case if type(case) is tuple else (case,)
    return pytest.param(*several, marks=pytest.mark.long)
