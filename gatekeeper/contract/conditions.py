"""Finds the fixtures to which a check does not apply, by the check's `when`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from gatekeeper.contract.check_keys import named_categories
from gatekeeper.contract.definition import CheckSpec, Fixture, Position
from gatekeeper.contract.digests import canonical
from gatekeeper.contract.prompts.render import render_value
from gatekeeper.contract.syntax.schema_errors import nearest
from gatekeeper.contract.templates.budget import Budget
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
    evaluate = _Conditions(path).applies
    conditional = [spec for spec in checks if spec.when is not None]
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
        self._budget = Budget()
        self._known: dict[tuple[str, str], bool] = {}

    def applies(self, spec: CheckSpec, fixture: Fixture) -> bool:
        """Return whether the check applies to the fixture. Raises ContractError."""
        if not isinstance(spec.when, str):
            return fixture.category in named_categories(spec.when)
        values = {**fixture.vars, "expected": fixture.expected}
        named = {name: values[name] for name in _NAME.findall(spec.when) if name in values}
        key = spec.when, canonical(named)
        if key not in self._known:
            self._known[key] = self._evaluate(spec, spec.when, fixture)
        return self._known[key]

    def _evaluate(self, spec: CheckSpec, when: str, fixture: Fixture) -> bool:
        at = spec.position or Position(self._path)
        try:
            value = render_value(f"{{{{ {when} }}}}", fixture, at, self._budget)
        except ContractError as error:
            fix = (
                f"{_EXAMPLE}; if a fixture lacks the variable, write "
                "`language is defined and language == 'de'`"
            )
            found = [replace(p, fix=fix, field=f"`when` of `{spec.name}`") for p in error.problems]
            raise ContractError(found) from None
        if isinstance(value, bool):
            return value
        what = (
            f"`when` of check `{spec.name}` must be true or false, but is "
            f"neither for fixture `{fixture.id}`"
        )
        raise ContractError([Problem(at.path, what, _EXAMPLE, at.line, at.column, "when")])


def _unused_problem(spec: CheckSpec, categories: set[str], path: str) -> Problem:
    at = spec.position or Position(path)
    what = f"check `{spec.name}` applies to no fixture, because no fixture meets `when`"
    fix = "change `when`, or remove the check"
    unknown = sorted(named_categories(spec.when) - categories)
    if unknown:
        fix = nearest(unknown[0], categories)
    return Problem(at.path, what, fix, at.line, at.column, "when")
