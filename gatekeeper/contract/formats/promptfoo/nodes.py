"""Values of a promptfoo file with their places, and with `$ref` followed as promptfoo does."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from gatekeeper.contract.formats.foreign_suite import At
from gatekeeper.contract.syntax.yaml_positions import Document, KeyPath, field_name
from gatekeeper.contract.values.definition import NotRun, Position
from gatekeeper.errors import ContractError, Problem

_MOST_REFERENCES = 20
"""The most references that may lead to one value. Without a limit, a circle would never end."""
MOST_NOTES = 200
"""The most parts of one contract that are listed as not run. Each becomes a line in the
reports."""


@dataclass(frozen=True, slots=True)
class Node:
    """A value of a document at a key. `value` is what a `$ref` there refers to."""

    document: Document
    key: KeyPath
    value: Any

    @property
    def position(self) -> Position:
        """Return the place of the value in its file."""
        return self.document.position(self.key)

    def child(self, name: str | int) -> Node:
        """Return the value at the name, or an empty node at this place if there is none."""
        try:
            value = self.value[name]
        except (KeyError, IndexError, TypeError):
            value = None
        return resolve(Node(self.document, (*self.key, name), value))

    def get(self, name: str) -> Any:
        """Return the plain value at the name; None if there is none."""
        return self.child(name).value

    def items(self) -> Iterator[tuple[str, Node]]:
        """Yield the names of a mapping with their values; nothing for any other value."""
        for name in self.value if isinstance(self.value, dict) else ():
            yield name, self.child(name)

    def list(self) -> Iterator[Node]:
        """Yield the items of a list; nothing for any other value."""
        for index in range(len(self.value) if isinstance(self.value, list) else 0):
            yield self.child(index)

    def problem(self, what: str, fix: str) -> ContractError:
        """Return an error at this place."""
        at = self.position
        name = field_name(self.key) or None
        return ContractError([Problem(at.path, what, fix, at.line, at.column, name)])

    def at(self, value: Any) -> At:
        """Return a value of the translation that comes from this place."""
        return At(value, self.position)

    def not_run(self, kind: str, why: str) -> NotRun:
        """Return that something of this kind, at this place, is not run."""
        return NotRun(kind, self.position, why)


def root_of(document: Document) -> Node:
    """Return the whole of a document."""
    return resolve(Node(document, (), document.data))


def resolve(node: Node) -> Node:
    """Return the node that a `$ref` within the file refers to, with the other keys beside it.

    Raises ContractError for a reference that leads nowhere, in a circle, or to another file.
    """
    for _ in range(_MOST_REFERENCES):
        if not isinstance(node.value, dict) or not isinstance(node.value.get("$ref"), str):
            return node
        reference = node.value["$ref"]
        if reference != "#" and not reference.startswith("#/"):
            what = f"`$ref: {reference}` refers to another file"
            raise node.problem(what, "write `$ref: '#/…'`, or refer to the file with `file://…`")
        target = _target(node, reference)
        own = {name: value for name, value in node.value.items() if name != "$ref"}
        if own and isinstance(target.value, dict):
            target = Node(node.document, node.key, {**target.value, **own})
        node = target
    raise node.problem("this `$ref` refers back to itself", "write the value instead of the `$ref`")


def _target(node: Node, reference: str) -> Node:
    key: KeyPath = ()
    value: Any = node.document.data
    for part in reference.split("/")[1:]:
        name: str | int = part.replace("~1", "/").replace("~0", "~")
        if isinstance(value, list) and part.isascii() and part.isdigit():
            name = int(part)
        try:
            value = value[name]
        except (KeyError, IndexError, TypeError):
            what = f"`$ref: {reference}` refers to nothing in this file"
            raise node.problem(what, "correct the path") from None
        key = (*key, name)
    return Node(node.document, key, value)


@dataclass
class Notes:
    """What a contract does not run, each once."""

    found: dict[tuple[str, Position, str], NotRun] = field(default_factory=dict)
    left_out: int = 0

    def add(self, note: NotRun) -> None:
        """Remember that something is not run."""
        known = (note.kind, note.position, note.why)
        if known in self.found:
            return
        if len(self.found) >= MOST_NOTES:
            self.left_out += 1
        else:
            self.found[known] = note

    def all(self) -> tuple[NotRun, ...]:
        """Return everything that is not run; what is too much to list is counted."""
        notes = tuple(self.found.values())
        if not self.left_out:
            return notes
        why = (
            f"gatekeeper does not run {self.left_out:,} more parts of this file; the list names "
            f"only the first {MOST_NOTES}"
        )
        return (*notes, NotRun("more", notes[-1].position, why))
