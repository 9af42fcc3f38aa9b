"""Finds the fixtures to which a check does not apply, by the check's `when`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from gatekeeper.contract.meaning.check_keys import named_categories
from gatekeeper.contract.meaning.digests import canonical
from gatekeeper.contract.syntax.schema_errors import nearest
from gatekeeper.contract.templates.budget import Budget
from gatekeeper.contract.templates.client import evaluate_texts
from gatekeeper.contract.templates.value_faults import ValueFault
from gatekeeper.contract.values.definition import CheckSpec, Fixture, Position
from gatekeeper.errors import ContractError, Problem

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
    conditional = [spec for spec in checks if spec.when is not None]
    conditions = _Conditions(path)
    conditions.ask(
        (spec, fixture) for fixture in fixtures for spec in (*conditional, *fixture.checks)
    )
    evaluate = conditions.applies
    applied: dict[int, CheckSpec] = {id(spec): spec for spec in conditional}
    unused = dict(applied)
    found = []
    for fixture in fixtures:
        if not conditional and not fixture.checks:
            found.append(fixture)
            continue
        own = [spec for spec in fixture.checks if spec.when is not None]
        applied |= {id(spec): spec for spec in own}
        unused |= {id(spec): spec for spec in own}
        left_out = set()
        for spec in (*conditional, *own):
            try:
                if evaluate(spec, fixture):
                    unused.pop(id(spec), None)
                else:
                    left_out.add(spec.name)
            except ContractError as error:
                if id(spec) in applied:
                    # The first fixture says enough; the same mistake may concern all of them.
                    problems.extend(error.problems)
                    applied.pop(id(spec))
                unused.pop(id(spec), None)
        found.append(replace(fixture, left_out=frozenset(left_out)) if left_out else fixture)
    categories = {fixture.category for fixture in fixtures if fixture.category}
    problems.extend(_unused_problem(spec, categories, path) for spec in unused.values())
    return tuple(found)


class _Conditions:
    """Evaluates conditions; an expression once for fixtures with the same values of what it
    names."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._known: dict[tuple[str, str], Any] = {}
        self._named: dict[tuple[frozenset[str], int], str] = {}
        self._values: dict[str, Mapping[str, Any]] = {}

    def ask(self, pairs: Iterable[tuple[CheckSpec, Fixture]]) -> None:
        """Evaluate the expressions of all checks with their fixtures, many at once."""
        expressions = (
            (spec.when, fixture) for spec, fixture in pairs if isinstance(spec.when, str)
        )
        keys = dict.fromkeys(self._key(when, fixture) for when, fixture in expressions)
        asked = [(f"{{{{ {when} }}}}", self._values[named]) for when, named in keys]
        self._known = dict(zip(keys, evaluate_texts(asked, Budget()), strict=True))

    def applies(self, spec: CheckSpec, fixture: Fixture) -> bool:
        """Return whether the check applies to the fixture. Raises ContractError."""
        if not isinstance(spec.when, str):
            return fixture.category in named_categories(spec.when)
        value = self._known[self._key(spec.when, fixture)]
        if isinstance(value, bool):
            return value
        at = spec.position or Position(self._path)
        what, fix = (
            (
                f"`when` of check `{spec.name}` must be true or false, but is neither for fixture "
                f"`{fixture.id}`"
            ),
            _EXAMPLE,
        )
        if isinstance(value, ValueFault):
            what = f"in `{{{{ {spec.when} }}}}`: {value.what}"
            fix = (
                f"{_EXAMPLE}; if a fixture lacks the variable, write "
                "`language is defined and language == 'de'`"
            )
        field = f"`when` of `{spec.name}`"
        raise ContractError([at.problem(what, fix, field)])

    def _key(self, when: str, fixture: Fixture) -> tuple[str, str]:
        """Return what tells the evaluation from others. Keeps the values that the expression
        names, because many checks name the same."""
        names = _names(when)
        if (names, id(fixture)) not in self._named:
            values = {**fixture.vars, "expected": fixture.expected}
            named = {name: values[name] for name in names if name in values}
            text = self._named[names, id(fixture)] = canonical(named)
            self._values.setdefault(text, named)
        return when, self._named[names, id(fixture)]


@lru_cache(maxsize=4096)
def _names(when: str) -> frozenset[str]:
    return frozenset(_NAME.findall(when))


def _unused_problem(spec: CheckSpec, categories: set[str], path: str) -> Problem:
    at = spec.position or Position(path)
    what = f"check `{spec.name}` applies to no fixture, because no fixture meets `when`"
    fix = "change `when`, or remove the check"
    unknown = sorted(named_categories(spec.when) - categories)
    if unknown:
        fix = nearest(unknown[0], categories)
    return at.problem(what, fix, "when")
