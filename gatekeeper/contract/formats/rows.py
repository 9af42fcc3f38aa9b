"""The tables of other tools' assertions: what each of them is here, and how their texts become
templates.

An assertion of another tool is a row of its format's table: its types there, the check that it is
here, and where each parameter of the check comes from, which is a value or a function of the
assertion. A type that gatekeeper knows and does not run is a row that says why. Whatever has no row
is named as not run, too. An export reads the same rows from the other side.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from gatekeeper.contract.formats.foreign_suite import (
    At,
    ForeignContract,
    build_document,
)
from gatekeeper.contract.formats.reader import CannotRunError, Keys, Node
from gatekeeper.contract.prompts.styles.format_fields import split_fields
from gatekeeper.contract.prompts.styles.literal import StyleFault, literal
from gatekeeper.contract.values.definition import NotRun, Prompt

Check = dict[str, Any]
_HOLE = re.compile(r"\{\{-?\s*([A-Za-z_][A-Za-z0-9_.]*)\s*-?\}\}")
_SPECIAL = re.compile(r"\{[{%#]|\r")


@dataclass(frozen=True, slots=True)
class Row:
    """What assertions of these types are here. `check` is the type of a check, `judge KIND` for one
    that asks a model, or a function that makes the whole check. Of `params`, a function gets the
    assertion, and a parameter that it makes None is left out. `keys` are those of the object that
    holds the assertion's own settings.

    `why` says why gatekeeper does not run the assertion. `also` names further checks that an export
    writes as this assertion. `marks` are what a format says of its types besides.
    """

    kinds: tuple[str, ...]
    check: str | Callable[[Any], Check] = ""
    params: Mapping[str, Any] = field(default_factory=dict)
    keys: Keys | None = None
    why: str = ""
    also: tuple[str, ...] = ()
    marks: frozenset[str] = frozenset()

    def make(self, assertion: Any) -> Check:
        """Return the check of an assertion."""
        if callable(self.check):
            return self.check(assertion)
        judge, _, kind = self.check.partition(" ")
        made: Check = {"judge": kind} if kind else {"type": judge}
        for name, value in self.params.items():
            found = value(assertion) if callable(value) else value
            if found is not None:
                made[name] = found
        return made


def row(
    kinds: str,
    check: str | Callable[[Any], Check],
    /,
    *,
    keys: Keys | None = None,
    also: str = "",
    marks: Collection[str] = (),
    **params: Any,
) -> Row:
    """Return the row of these types, written as words. The name of a parameter that is a word of
    Python ends with `_`."""
    words = tuple(kinds.split())
    params = {name.rstrip("_"): value for name, value in params.items()}
    return Row(words, check, params, keys, also=tuple(also.split()), marks=frozenset(marks))


def not_run(kinds: str, why: str, marks: Collection[str] = ()) -> Row:
    """Return the row of types that gatekeeper does not run."""
    return Row(tuple(kinds.split()), why=why, marks=frozenset(marks))


def table(*rows: Row) -> Mapping[str, Row]:
    """Return the rows by their types."""
    return {kind: row for row in rows for kind in row.kinds}


def written_as(rows: Mapping[str, Row]) -> Mapping[str, str]:
    """Return the assertion as which an export writes each check."""
    return {
        check: kind
        for kind, row in rows.items()
        for check in (row.check, *row.also)
        if isinstance(check, str)
    }


def checks_of(
    assertions: Iterable[Node], make: Callable[[Node], Check], notes: list[NotRun]
) -> list[At]:
    """Return the checks of assertions; those that are not run go to `notes`."""
    found = []
    for node in assertions:
        try:
            found.append(node.at(make(node)))
        except CannotRunError as error:
            notes += error.notes
    return found


def refuse_unknown(notes: Iterable[NotRun]) -> None:
    """Raise CannotRunError if an assertion has keys that gatekeeper does not know."""
    found = tuple(notes)
    if found:
        raise CannotRunError(*found)


UNCLEAR_CHOICES = (
    "it needs at least two choices with scores from 0 to 1, at least one of them above 0"
)


def least_passing(scores: Mapping[str, Any]) -> float | None:
    """Return the lowest score above 0 of a judge's choices; None if they cannot be ours: each needs
    a score from 0 to 1, and there must be at least two."""
    numbers = [s for s in scores.values() if isinstance(s, int | float) and 0 <= s <= 1]
    passing = [score for score in numbers if score > 0]
    return min(passing) if passing and len(numbers) == len(scores) >= 2 else None


def contract_of(
    root: Node,
    name: str,
    tree: Mapping[str, Any],
    notes: Iterable[NotRun] = (),
    prompt: Prompt | None = None,
    *,
    single: bool = True,
    parts: tuple[str, ...] = (),
) -> ForeignContract:
    """Return a contract of a file, of which `tree` is the data without its version and name; values
    that are None are left out. `single` says that the file has no other contract."""
    path = root.document.path if single else f"{root.document.path}#{name}"
    named = {"contract": 1, "name": root.child("name").at(name)}
    data = named | {key: value for key, value in tree.items() if value is not None}
    return ForeignContract(build_document(path, data, root.position), tuple(notes), prompt, parts)


def fill(text: str, name: Callable[[str], str | None]) -> str:
    """Return a template with each `{{ variable }}` replaced by what `name` makes of it, and all
    other text as it is. If it makes nothing of it, the braces stay text."""
    if not _SPECIAL.search(text):
        return text
    parts: list[str] = []
    start = 0
    for match in _HOLE.finditer(text):
        found = name(match[1])
        if found is not None:
            parts += [literal(text[start : match.start()]), found]
            start = match.end()
    return "".join([*parts, literal(text[start:])])


def format_fields(text: object) -> frozenset[str]:
    """Return the names of the fields of a text for Python's `str.format`."""
    with suppress(StyleFault):  # translating the text says so
        parts = split_fields(text) if isinstance(text, str) else ()
        return frozenset(part.expression for part in parts if part.expression)
    return frozenset()


def from_format_fields(node: Node) -> str:
    """Return a template for a text with the fields of Python's `str.format`, such as `{article}`.

    Raises ContractError for fields that are more than a name, which `str.format` looks up in the
    value, and for conversions.
    """
    made = []
    try:
        for part in split_fields(node.text()):
            if part.expression and part.expression != part.text[1:-1]:
                what = f"the field `{part.text}` must contain only the name of a variable"
                fix = "write `{name}`; if a brace is part of the text, write the brace twice"
                raise StyleFault(what, fix, part.line)
            made.append(part.template)
    except StyleFault as fault:
        raise node.problem(fault.what, fault.fix) from None
    return "".join(made)
