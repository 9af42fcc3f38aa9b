"""Fixtures whose values are still the examples that `gatekeeper init` wrote."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from gatekeeper import numbers
from gatekeeper.contract.definition import Contract
from gatekeeper.contract.nested_texts import nested_texts
from gatekeeper.errors import Problem

EXAMPLES = (
    "Write a short value of {name} here.",
    "Here belongs a short value of {name}.",
    "Write the longest or strangest {name} that you remember here.",
)
"""What `init` writes for a variable of which it knows the name alone."""

_EXAMPLE = re.compile(
    "|".join(
        re.escape(before) + "[^\n]{1,200}" + re.escape(after)
        for before, _, after in (example.partition("{name}") for example in EXAMPLES)
    )
)


def placeholder_fixtures(contract: Contract) -> Iterator[Problem]:
    """Yield one problem, at the first of these fixtures, if the contract has any."""
    found = [f for f in contract.fixtures if any(map(_is_example, nested_texts(f.vars)))]
    if not found:
        return
    total = numbers.count(len(contract.fixtures), "fixture")
    what = f"{len(found)} of {total} still contain example values from `gatekeeper init`"
    at = found[0].position
    fix = "replace the example values with real inputs"
    yield Problem(at.path if at else contract.path, what, fix, at.line if at else None)


def placeholder_notices(contracts: Iterable[Contract]) -> tuple[str, ...]:
    """Return a notice for each contract with such fixtures."""
    found = (problem for contract in contracts for problem in placeholder_fixtures(contract))
    return tuple(dict.fromkeys(f"{problem}." for problem in found))


def _is_example(text: str) -> bool:
    return _EXAMPLE.fullmatch(text) is not None
