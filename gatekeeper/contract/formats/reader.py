"""Reads files of other tools: values with their places, the forms that a field must have, and the
keys that an object may have.

Every format reads through these three classes: `SuiteFiles` reads files, a `Node` is a value at its
place, and `Keys` is the table of the keys of one kind of object. A key that a translation does not
read could change what is decided, so none is passed over in silence: a key that is likely misspelt
is an error, and any other unknown key is named as not run. A check with an unknown key is not run
at all, unless the other tool ignores such keys, too.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gatekeeper.contract.formats.foreign_suite import At
from gatekeeper.contract.reading.globs import matching
from gatekeeper.contract.reading.read import UnreadableError, locate, read_text
from gatekeeper.contract.reading.size_limits import MOST_FIXTURE_TEXT
from gatekeeper.contract.syntax.yaml_positions import Document, KeyPath, parse_once
from gatekeeper.contract.values.change import ReadFiles
from gatekeeper.contract.values.definition import NotRun, Position
from gatekeeper.contract.values.unique_name import words
from gatekeeper.errors import ContractError

_ALIKE = 0.8
"""How similar a name must be to count as a misspelling, from 0 to 1. Files may hold keys of
their own, so less similar names are no mistakes."""
_LONGEST = 100
_FOR_PEOPLE = frozenset({"$schema", "$comment", "comment", "description", "notes", "title"})
"""Keys that decide nothing in any object of any format."""
_OWN_PREFIX = "x-"
_MOST_REFERENCES = 20
"""The most references that may lead to one value. Without a limit, a circle would never end."""
MOST_NOTES = 200
"""The most parts of one contract that are listed as not run. Each becomes a line in the
reports."""


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


def keys(read: str, harmless: str = "", **not_run: str) -> Keys:
    """Return the keys of an object, written as words, and why others are not run."""
    return Keys(words(read), words(harmless), not_run)


def meant(name: str, known: Collection[str]) -> str | None:
    """Return the known name that a misspelt one is likely meant to be; None for a known name, and
    for one that is like none of them."""
    if name in known:
        return None
    lower = {other.lower(): other for other in sorted(known)}
    close = difflib.get_close_matches(name.lower(), list(lower), n=1, cutoff=_ALIKE)
    return lower[close[0]] if close else None


class CannotRunError(Exception):
    """A part of a file that gatekeeper does not run, for one reason or several; the rest of it can
    go on."""

    def __init__(self, *notes: NotRun) -> None:
        super().__init__(notes[0].why)
        self.notes = notes


@dataclass(frozen=True, slots=True)
class Node:
    """A value of a document at a key. With `follows`, it is what a `$ref` there refers to, as
    promptfoo reads it."""

    document: Document
    key: KeyPath
    value: Any
    follows: bool = False

    @property
    def position(self) -> Position:
        """Return the place of the value in its file."""
        return self.document.position(self.key)

    @property
    def line(self) -> int:
        """Return the first line of a text."""
        return self.document.text_lines.get(self.key, self.position.line or 1)

    @property
    def mapping(self) -> dict[str, Any]:
        """Return the value if it is a mapping, and else an empty one."""
        return self.value if isinstance(self.value, dict) else {}

    def child(self, *path: str | int) -> Node:
        """Return the value at the path, or an empty node at this place if there is none."""
        node = self
        for name in path:
            try:
                value = node.value[name]
            except (KeyError, IndexError, TypeError):
                value = None
            node = Node(node.document, (*node.key, name), value, node.follows)
            if node.follows and isinstance(value, dict):
                node = node.resolved()
        return node

    def get(self, *path: str | int) -> Any:
        """Return the plain value at the path; None if there is none."""
        return self.child(*path).value

    def items(self) -> Iterator[tuple[str, Node]]:
        """Yield the names of a mapping with their values; nothing for any other value."""
        for name in self.mapping:
            yield name, self.child(name)

    def each(self) -> Iterator[Node]:
        """Yield the items of a list; nothing for any other value."""
        for index in range(len(self.value) if isinstance(self.value, list) else 0):
            yield self.child(index)

    def problem(self, what: str, fix: str) -> ContractError:
        """Return an error at this place."""
        return ContractError([self.document.problem(self.key, what, fix)])

    def at(self, value: Any) -> At:
        """Return a value of the translation that comes from this place."""
        return At(value, self.position)

    def copy(self) -> At:
        """Return the value with the places of everything in it."""
        inner: Any = self.value
        if isinstance(inner, dict):
            inner = {name: self._plain(name).copy() for name in inner}
        elif isinstance(inner, list):
            inner = [self._plain(index).copy() for index in range(len(inner))]
        return self.at(inner)

    def copied_text(self, name: str) -> At | None:
        """Return a copy of the text at the name; None if there is none."""
        node = self.child(name)
        return node.copy() if isinstance(node.value, str) else None

    def _plain(self, name: str | int) -> Node:
        return Node(self.document, (*self.key, name), self.value[name])

    def copies(self, names: Iterable[str]) -> dict[str, At]:
        """Return copies of the values that a mapping has at these names."""
        return {name: self.child(name).copy() for name in names if name in self.mapping}

    def not_run(self, kind: str, why: str) -> NotRun:
        """Return that something of this kind, at this place, is not run."""
        return NotRun(kind, self.position, why)

    def cannot_run(self, kind: str, why: str) -> CannotRunError:
        """Return the error that names something at this place as not run."""
        return CannotRunError(self.not_run(kind, why))

    def one_of(self, names: Sequence[str]) -> str | None:
        """Return which of the names, of which only one is read, the object has; None if it has
        none. Raises ContractError if it has several."""
        found = [name for name in names if self.mapping.get(name) is not None]
        if len(found) > 1:
            what = f"only one of `{found[0]}` and `{found[1]}` can be read"
            raise self.child(found[1]).problem(what, "keep one of them")
        return found[0] if found else None

    def mappings(self) -> list[Node]:
        """Return the items of a list of mappings. Raises ContractError for anything else."""
        if not isinstance(self.value, list) or not self.value:
            what = "the value must be a list with at least one item"
            raise self.problem(what, "write each item as `- …`")
        items = list(self.each())
        for item in items:
            if not isinstance(item.value, dict):
                raise item.problem("not a mapping", "write `key: value`")
        return items

    def text(self) -> str:
        """Return the text. Raises ContractError for anything else, and if it is empty."""
        if not isinstance(self.value, str) or not self.value.strip():
            raise self.problem("not a text", "write the text here")
        return self.value

    def resolved(self) -> Node:
        """Return the node that a `$ref` within the file refers to, with the other keys beside it.

        Raises ContractError for a reference that leads nowhere, in a circle, or to another file.
        """
        node = self
        for _ in range(_MOST_REFERENCES):
            reference = node.mapping.get("$ref") if node.follows else None
            if not isinstance(reference, str):
                return node
            if reference != "#" and not reference.startswith("#/"):
                what = f"`$ref: {reference}` refers to another file"
                fix = "write `$ref: '#/…'`, or refer to the file with `file://…`"
                raise node.problem(what, fix)
            target = node._target(reference)
            own = {name: value for name, value in node.mapping.items() if name != "$ref"}
            if own and isinstance(target.value, dict):
                target = Node(node.document, node.key, {**target.value, **own}, True)
            node = target
        fix = "write the value instead of the `$ref`"
        raise node.problem("this `$ref` refers back to itself", fix)

    def _target(self, reference: str) -> Node:
        key: KeyPath = ()
        value: Any = self.document.data
        for part in reference.split("/")[1:]:
            name: str | int = part.replace("~1", "/").replace("~0", "~")
            if isinstance(value, list) and part.isascii() and part.isdigit():
                name = int(part)
            try:
                value = value[name]
            except (KeyError, IndexError, TypeError):
                what = f"`$ref: {reference}` refers to nothing in this file"
                raise self.problem(what, "correct the path") from None
            key = (*key, name)
        return Node(self.document, key, value, True)

    def unknown_keys(
        self, table: Keys, *, own: Collection[str] = (), check: str | None = None
    ) -> list[NotRun]:
        """Return a note on each key of the object that is not run: those of the table, and unknown
        ones. The notes name the `check` that has the keys, which then must not run either.

        Raises ContractError at the first misspelt key, unless the key that is likely meant stands
        beside it. `own` are names of the author's own, such as the variables of the prompt.
        """
        notes = []
        for name, value in self.mapping.items():
            why = table.not_run.get(name) if value else None
            if why is None:
                if name in table.known | _FOR_PEOPLE or name in own or name.startswith(_OWN_PREFIX):
                    continue
                other = meant(name, table.known)
                if other is not None and other not in self.mapping:
                    what, fix = f"unknown key `{name[:_LONGEST]}`", f"did you mean `{other}`?"
                    place = (*self.key, name)
                    raise ContractError([self.document.problem(place, what, fix, at_key=True)])
                why = "gatekeeper does not know this key"
                if check is not None:
                    why = f"gatekeeper does not know the key `{name[:_LONGEST]}` of this check"
            kind = name[:_LONGEST] if check is None else check
            notes.append(NotRun(kind, self.document.position((*self.key, name)), why))
        return notes

    def unknown_in(
        self, tables: Mapping[str, Keys], kinds: Mapping[str, str], check: str | None = None
    ) -> list[NotRun]:
        """Return what `unknown_keys` finds in every object of a kind below this one. `kinds` maps
        the places of objects, such as `targets.*` for each value in `targets`, to their tables."""
        return [
            note
            for place, kind in kinds.items()
            for found in self._below(place.split(".") if place else [])
            for note in found.unknown_keys(tables[kind], check=check)
        ]

    def _below(self, parts: Sequence[str]) -> Iterator[Node]:
        if not parts:
            yield self
            return
        several = parts[0] == "*"
        named = [node for _, node in self.items()] or [*self.each()]
        for node in named if several else [self.child(parts[0])]:
            yield from node._below(parts[1:])

    def unknown_keywords(self) -> list[NotRun]:
        """Return a note on each unknown keyword of a JSON Schema. Raises ContractError at the first
        misspelt one."""
        if isinstance(self.value, list):
            return [n for part in range(len(self.value)) for n in self._schema_notes(part)]
        notes = self.unknown_keys(SCHEMA)
        for name, value in self.mapping.items():
            if name in _SCHEMAS_BY_NAME and isinstance(value, dict):
                for part in value:
                    notes += self._plain(name)._schema_notes(part)
            elif name not in _DATA:
                notes += self._schema_notes(name)
        return notes

    def _schema_notes(self, name: str | int) -> list[NotRun]:
        return self._plain(name).unknown_keywords()


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


def root_of(document: Document, *, follows: bool = False) -> Node:
    """Return the whole of a document."""
    return Node(document, (), document.data, follows).resolved()


@dataclass
class Notes:
    """What a contract does not run, each once."""

    found: dict[tuple[str, Position, str], NotRun] = field(default_factory=dict)
    left_out: int = 0

    def add(self, *notes: NotRun) -> None:
        """Remember that something is not run."""
        for note in notes:
            known = (note.kind, note.position, note.why)
            if known in self.found:
                continue
            if len(self.found) >= MOST_NOTES:
                self.left_out += 1
            else:
                self.found[known] = note

    def all(self) -> tuple[NotRun, ...]:
        """Return everything that is not run; what is too much to list is counted."""
        notes = tuple(self.found.values())
        if not self.left_out:
            return notes
        why = f"{self.left_out:,} more parts are not run; the list ends after {MOST_NOTES}"
        return (*notes, NotRun("more", notes[-1].position, why))

    def copy(self) -> Notes:
        """Return the same notes, to which others can be added."""
        return Notes(dict(self.found), self.left_out)


@dataclass
class SuiteFiles(ReadFiles):
    """A revision, as the translation of one foreign file sees it: the contracts depend on the files
    that were read and on the patterns that were looked up. A translation searches by `find`, not in
    the entries."""

    patterns: set[str] = field(default_factory=set)
    characters: int = 0

    def text(self, node: Node, reference: str) -> tuple[str, str]:
        """Return the path and the text of a file that a document names at the node.

        Raises ContractError, at that place, if it cannot be read.
        """
        path, text = self.uncounted_text(node, reference, node.document.path)
        self.characters += len(text)
        if self.characters > MOST_FIXTURE_TEXT:
            what = f"the files of this suite have more than {MOST_FIXTURE_TEXT:,} characters"
            raise node.problem(what, "split the suite")
        return path, text

    def uncounted_text(self, node: Node, reference: str, base: str) -> tuple[str, str]:
        """Return the path and the text of a file, as seen from the file `base`. Raises
        ContractError at the node."""
        try:
            path = locate(reference, base)
            self.paths.add(path)  # also if it is missing: adding it affects the contracts
            return path, read_text(self, path)
        except UnreadableError as error:
            raise node.problem(error.what, error.fix) from None

    def parsed(self, node: Node, reference: str) -> Node:
        """Return the whole of a file of YAML or JSON. Raises ContractError."""
        path, text = self.text(node, reference)
        return root_of(parse_once(text, path))

    def own_text(self, document: Document) -> str:
        """Return the text of a document's file."""
        return self.text(root_of(document), f"/{document.path}")[1]

    def find(self, pattern: str) -> list[str]:
        """Return the files that match a pattern from the repository root, such as
        `evals/tests/*.yaml`, in order. A file that comes to match it affects the contracts."""
        self.patterns.add(pattern)
        return sorted(
            path
            for path in matching(self.revision.entries, pattern)
            if self.revision.entries[path].kind == "file"
        )
