"""Finds the fixtures to which a check does not apply, by the check's `when`."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from gatekeeper.contract.meaning.digests import canonical
from gatekeeper.contract.meaning.schemas import named_categories
from gatekeeper.contract.syntax.schema_errors import nearest
from gatekeeper.contract.templates.budget import Budget
from gatekeeper.contract.templates.client import evaluate_texts
from gatekeeper.contract.templates.value_faults import ValueFault
from gatekeeper.contract.values.definition import CheckSpec, Fixture, Position
from gatekeeper.errors import Problem

_NAME = re.compile(r"[^\W\d]\w*")
_EXAMPLE = "write an expression that is true or false, such as `language == 'de'`"


def apply_conditions(
    checks: Sequence[CheckSpec],
    fixtures: Sequence[Fixture],
    path: str,
    problems: list[Problem],
) -> tuple[Fixture, ...]:
    """Return the fixtures, each with the names of the checks that do not apply to it.

    Every mistake is added to `problems`: an expression that fails, and a check that applies to no
    fixture. `path` is the contract's, for a check of which no place is known.
    """
    asked = [
        (spec, fixture)
        for fixture in fixtures
        for spec in (*checks, *fixture.checks)
        if spec.when is not None
    ]
    unused = {id(spec): spec for spec, _ in asked}
    faulty = set()
    left_out: dict[str, set[str]] = defaultdict(set)
    for (spec, fixture), value in zip(asked, _values(asked), strict=True):
        if value is not False:
            unused.pop(id(spec), None)
        else:
            left_out[fixture.id].add(spec.name)
        # The first fixture says enough; the same mistake may concern all of them.
        if not isinstance(value, bool) and id(spec) not in faulty:
            faulty.add(id(spec))
            problems.append(_fault(spec, fixture, value, path))
    categories = {fixture.category for fixture in fixtures if fixture.category}
    problems.extend(_unused_problem(spec, categories, path) for spec in unused.values())
    return tuple(
        replace(f, left_out=frozenset(left_out[f.id])) if f.id in left_out else f for f in fixtures
    )


def _values(asked: Sequence[tuple[CheckSpec, Fixture]]) -> Iterator[Any]:
    """Yield the value of each check's condition for a fixture. All expressions are evaluated
    together, each once for fixtures with the same values of what it names."""
    named: dict[tuple[frozenset[str], str], str] = {}
    values: dict[str, Mapping[str, Any]] = {}
    keys: list[tuple[str, str] | None] = []
    names: dict[str, frozenset[str]] = {}
    for spec, fixture in asked:
        if not isinstance(spec.when, str):
            keys.append(None)
            continue
        if spec.when not in names:
            names[spec.when] = frozenset(_NAME.findall(spec.when))
        place = names[spec.when], fixture.id
        if place not in named:  # many checks name the same
            every = {**fixture.vars, "expected": fixture.expected}
            own = {name: every[name] for name in place[0] if name in every}
            named[place] = canonical(own)
            values.setdefault(named[place], own)
        keys.append((spec.when, named[place]))
    distinct = list(dict.fromkeys(key for key in keys if key))
    found = evaluate_texts([(f"{{{{ {when} }}}}", values[own]) for when, own in distinct], Budget())
    known = dict(zip(distinct, found, strict=True))
    for key, (spec, fixture) in zip(keys, asked, strict=True):
        yield known[key] if key else fixture.category in named_categories(spec.when)


def _fault(spec: CheckSpec, fixture: Fixture, value: Any, path: str) -> Problem:
    """Return the problem of a condition that is neither true nor false."""
    what = f"`when` of check `{spec.name}` must be true or false, but is neither for fixture "
    what, fix = f"{what}`{fixture.id}`", _EXAMPLE
    if isinstance(value, ValueFault):
        what = f"in `{{{{ {spec.when} }}}}`: {value.what}"
        fix = (
            f"{_EXAMPLE}; if a fixture lacks the variable, write "
            "`language is defined and language == 'de'`"
        )
    at = spec.position or Position(path)
    return at.problem(what, fix, f"`when` of `{spec.name}`")


def _unused_problem(spec: CheckSpec, categories: set[str], path: str) -> Problem:
    at = spec.position or Position(path)
    what = f"check `{spec.name}` applies to no fixture, because no fixture meets `when`"
    fix = "change `when`, or remove the check"
    unknown = sorted(named_categories(spec.when) - categories)
    if unknown:
        fix = nearest(unknown[0], categories)
    return at.problem(what, fix, "when")
