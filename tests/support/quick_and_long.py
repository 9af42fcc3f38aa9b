"""Of a table of cases, those that `make test` takes; `make test-rest` takes the others.

@pytest.mark.parametrize("attack", a_few(ATTACKS), ids=lambda attack: attack.name)
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from _pytest.mark import ParameterSet


def a_few(cases: Iterable[Any], number: int = 4) -> list[Any]:
    """The cases, all but `number` of them marked `long`: the first, the last, and between them at
    equal distances."""
    every = list(cases)
    last = len(every) - 1
    quick = {round(at * last / max(1, number - 1)) for at in range(number)}
    return [case if at in quick else _long(case) for at, case in enumerate(every)]


def _long(case: Any) -> Any:
    if isinstance(case, ParameterSet):
        return pytest.param(*case.values, marks=(*case.marks, pytest.mark.long), id=case.id)
    several = case if type(case) is tuple else (case,)
    return pytest.param(*several, marks=pytest.mark.long)
