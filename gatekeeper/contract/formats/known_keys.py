"""The keys that files of other tools may have, in one table, and what becomes of every other key.

A key that a translation does not read could change what is decided, so none is passed over in
silence: a key that is likely misspelt is an error, and any other unknown key is named as not run. A
check with an unknown key is not run at all, unless the other tool ignores such keys, too.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gatekeeper.contract.formats.fields import value_at
from gatekeeper.contract.syntax.yaml_positions import Document, KeyPath
from gatekeeper.contract.values.definition import NotRun
from gatekeeper.errors import ContractError

_ALIKE = 0.8
"""How similar a name must be to count as a misspelling, from 0 to 1. Files may hold keys of
their own, so less similar names are no mistakes."""
_LONGEST = 100
_FOR_PEOPLE = frozenset({"$schema", "$comment", "comment", "description", "notes", "title"})
"""Keys that decide nothing in any object of any format."""
_OWN_PREFIX = "x-"


@dataclass(frozen=True, slots=True)
class Keys:
    """The keys of one kind of object. The translation reads `read`; `harmless` ones decide nothing,
    here or in the other tool; `not_run` ones do something that gatekeeper does not do, for the
    reason given."""

    read: frozenset[str]
    harmless: frozenset[str] = frozenset()
    not_run: Mapping[str, str] = field(default_factory=dict)

    @property
    def known(self) -> frozenset[str]:
        """Return every key of such an object, without those that any object may have."""
        return self.read | self.harmless | self.not_run.keys()


def keys(read: str, harmless: str = "", **others: Any) -> Keys:
    """Return the keys of an object, written as words."""
    return Keys(frozenset(read.split()), frozenset(harmless.split()), **others)


def meant(name: str, known: Collection[str]) -> str | None:
    """Return the known name that a misspelt one is likely meant to be; None for a known name, and
    for one that is like none of them."""
    if name in known:
        return None
    lower = {other.lower(): other for other in sorted(known)}
    close = difflib.get_close_matches(name.lower(), list(lower), n=1, cutoff=_ALIKE)
    return lower[close[0]] if close else None


def unknown_keys(
    document: Document,
    key: KeyPath,
    value: Any,
    table: Keys,
    *,
    own: Collection[str] = (),
    check: str | None = None,
) -> list[NotRun]:
    """Return a note on each key of an object that is not run: those of the table, and unknown ones.
    The notes name the `check` that has the keys, which then must not run either.

    Raises ContractError at the first misspelt key, unless the key that is likely meant stands
    beside it. `own` are names of the author's own, such as the variables of the prompt.
    """
    notes = []
    for written in value if isinstance(value, dict) else ():
        name, place = str(written), (*key, written)
        why = table.not_run.get(name) if value[written] else None
        if why is None:
            if name in table.known | _FOR_PEOPLE or name in own or name.startswith(_OWN_PREFIX):
                continue
            other = meant(name, table.known)
            if other is not None and other not in value:
                what, fix = f"unknown key `{name[:_LONGEST]}`", f"did you mean `{other}`?"
                raise ContractError([document.problem(place, what, fix, at_key=True)])
            why = "gatekeeper does not know this key"
            if check is not None:
                why = f"gatekeeper does not know the key `{name[:_LONGEST]}` of this check"
        kind = name[:_LONGEST] if check is None else check
        notes.append(NotRun(kind, document.position(place), why))
    return notes


def unknown_in(
    document: Document,
    key: KeyPath,
    tables: Mapping[str, Keys],
    kinds: Mapping[str, str],
    check: str | None = None,
) -> list[NotRun]:
    """Return what `unknown_keys` finds in every object of a kind below the key. `kinds` maps the
    places of objects, such as `targets.*` for each value in `targets`, to their tables."""
    notes = []
    for place, kind in kinds.items():
        for found in _places(document, key, place.split(".") if place else []):
            notes += unknown_keys(
                document, found, value_at(document, found), tables[kind], check=check
            )
    return notes


def _places(document: Document, key: KeyPath, parts: Sequence[str]) -> Iterator[KeyPath]:
    if not parts:
        yield key
        return
    value = value_at(document, key)
    names: Iterable[Any] = (parts[0],)
    if parts[0] == "*":
        names = range(len(value)) if isinstance(value, list) else ()
        names = value if isinstance(value, dict) else names
    for name in names:
        yield from _places(document, (*key, name), parts[1:])


SCHEMA = keys(
    "$anchor $defs $dynamicAnchor $dynamicRef $id $ref $vocabulary additionalItems "
    "additionalProperties allOf anyOf const contains contentEncoding contentMediaType "
    "contentSchema default definitions dependencies dependentRequired dependentSchemas deprecated "
    "else enum example examples exclusiveMaximum exclusiveMinimum format id if items maxContains "
    "maxItems maxLength maxProperties maximum minContains minItems minLength minProperties minimum "
    "multipleOf not nullable oneOf pattern patternProperties prefixItems properties propertyNames "
    "readOnly required then type unevaluatedItems unevaluatedProperties uniqueItems writeOnly"
)
"""The keywords of JSON Schema, which itself ignores others."""
_SCHEMAS_BY_NAME = frozenset(
    {"$defs", "definitions", "dependentSchemas", "patternProperties", "properties"}
)
_DATA = frozenset({"const", "default", "enum", "example", "examples"})


def unknown_keywords(document: Document, key: KeyPath, schema: Any) -> list[NotRun]:
    """Return a note on each unknown keyword of a JSON Schema. Raises ContractError at the first
    misspelt one."""
    if isinstance(schema, list):
        parts = [unknown_keywords(document, (*key, n), part) for n, part in enumerate(schema)]
        return [note for notes in parts for note in notes]
    notes = unknown_keys(document, key, schema, SCHEMA)
    for name, value in schema.items() if isinstance(schema, dict) else ():
        if name in _SCHEMAS_BY_NAME and isinstance(value, dict):
            for part in value:
                notes += unknown_keywords(document, (*key, name, part), value[part])
        elif name not in _DATA:
            notes += unknown_keywords(document, (*key, name), value)
    return notes
