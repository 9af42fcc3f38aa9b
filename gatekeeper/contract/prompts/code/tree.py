"""The one small syntax tree that both languages are lowered to.

A node has a kind, a text (its name, its key, its operator) and parts, each with its role in it:

| kind | stands for | roles of its parts |
| --- | --- | --- |
| `module`, `function`, `class` | a scope | `body`, `parameter`, `decorator`, `base`, `type` |
| `store` | whatever gives a target a value: an assignment, a loop, `del` | `target`, `value` |
| `parameter`, `default` | a target that a call, or a pattern, gives a value | `target`, `value` |
| `name`, `member`, `item` | a name, `object.name`, `object[key]` | `object`, `key` |
| `call`, `keyword` | a call, an argument with a name | `function`, `argument`, `value` |
| `text`, `hole`, `literal` | a text with its holes, a number and the like | `hole`, `value` |
| `list`, `object`, `pair`, `spread` | a literal or a pattern | `item`, `value` |
| `sum`, `pipe`, `either`, `through` | what hands its operands on | `value`, `test` |
| `return`, `import`, `alias`, `export` | what they say | `value` |
| `end` | whatever uses up a value and leaves it as it is | `value` |

Everything else is `other` or `statement`, and a value that must not change may not be used there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

SCOPES = ("module", "function", "class")
_OUTSIDE = ("base", "decorator", "type")
"""The roles of a function or class that the names around it belong to."""
_AROUND_TARGETS = ("list", "object", "pair", "spread", "through")
Place = tuple[int, int]
Parts = list[tuple[str, Any]]
Described = tuple[str, str, Parts]


@dataclass(frozen=True)
class Plain:
    """A node that the parser does not have by itself; `at` is the parser's node in its place."""

    kind: str
    text: str
    parts: Parts
    at: Any


@dataclass(eq=False, slots=True)
class Node:
    """One node of the tree. `source` is the parser's node, and `scope` what the node belongs to."""

    kind: str
    text: str
    role: str
    place: Place
    source: Any
    parent: Node | None
    scope: Node | None
    parts: list[Node] = field(default_factory=list)

    @property
    def line(self) -> int:
        """Return the line of the file, counted from 1."""
        return self.place[0]

    @property
    def around(self) -> Node:
        """Return the node around this one; the module has none."""
        assert self.parent is not None  # noqa: S101
        return self.parent

    def all(self, role: str) -> list[Node]:
        """Return the parts of that role."""
        return [part for part in self.parts if part.role == role]

    def get(self, role: str) -> Node | None:
        """Return the first part of that role; None without one."""
        return next((part for part in self.parts if part.role == role), None)

    def walk(self) -> Iterator[Node]:
        """Yield the node and all inside it, in the order of the file."""
        waiting = [self]
        while waiting:
            found = waiting.pop()
            yield found
            waiting += reversed(found.parts)

    def enclosing(self, *kinds: str) -> Node | None:
        """Return the innermost node of these kinds around this one."""
        found = self.parent
        while found is not None and found.kind not in kinds:
            found = found.parent
        return found

    def inside(self) -> Node:
        """Return the expression without parentheses and types around it."""
        found = self
        while found.kind == "through":
            found = found.parts[0]
        return found

    def outside(self) -> Node:
        """Return the expression with the parentheses and types around it."""
        found = self
        while found.parent is not None and found.parent.kind == "through":
            found = found.parent
        return found

    def is_target(self) -> bool:
        """Return whether a store gives the expression a value, or deletes it."""
        node = self
        while node.parent is not None and node.role != "target":
            if node.role == "key" or node.parent.kind not in _AROUND_TARGETS:
                return False
            node = node.parent
        if node.parent is None or node.parent.kind != "default":
            return node.role == "target"
        return node.parent.is_target() or node.parent.role in ("target", "parameter")

    def dotted(self) -> list[str]:
        """Return the names in `a.b.c`; none if it is anything else."""
        names: list[str] = []
        node = self.inside()
        while node.kind == "member":
            names.insert(0, node.text)
            node = node.parts[0].inside()
        return [node.text, *names] if node.kind == "name" else []

    def root(self) -> Node:
        """Return the expression whose members, items and results the node is made of."""
        node = self.inside()
        while node.kind in ("member", "item", "call") and node.parts:
            node = node.parts[0].inside()
        return node


class Row(NamedTuple):
    """How one type of the parser's nodes is lowered."""

    kind: str
    text: str
    named_by: str
    roles: dict[str, str]


def rows(table: str) -> dict[str, Row]:
    """Read a table of `types kind:text @field field=role`, one row a line. `@field` is what gives
    the node its text, and `*` stands for every other field."""
    found: dict[str, Row] = {}
    for line in table.strip().splitlines():
        types, made, *words = line.split()
        kind, _, text = made.partition(":")
        named_by = "".join(word[1:] for word in words if word[0] == "@")
        roles = dict(word.split("=") for word in words if word[0] != "@")
        found |= dict.fromkeys(types.split(","), Row(kind, text, named_by, roles))
    return found


def build(
    root: Any, describe: Callable[[Any], Described], place_of: Callable[[Any], Place]
) -> list[Node]:
    """Return the nodes of a file, in its order; the module is the first. Deep trees are no limit
    here."""
    nodes: list[Node] = []
    waiting: list[tuple[Any, str, Node | None]] = [(root, "", None)]
    while waiting:
        source, role, parent = waiting.pop()
        if isinstance(source, Plain):
            kind, text, parts, source = source.kind, source.text, source.parts, source.at
        else:
            kind, text, parts = describe(source)
        scope = parent
        if parent is not None and (parent.kind not in SCOPES or role in _OUTSIDE):
            scope = parent.scope
        if scope is not None and parent is not None and parent.kind == "parameter":
            scope = scope if role == "target" else scope.scope
        node = Node(kind, text, role, place_of(source), source, parent, scope)
        nodes.append(node)
        if parent is not None:
            parent.parts.append(node)
        waiting += [(part, its, node) for its, part in reversed(parts)]
    return nodes
