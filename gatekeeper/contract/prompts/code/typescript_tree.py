"""Walks the syntax tree that tree-sitter makes of TypeScript and JavaScript."""

from __future__ import annotations

from collections.abc import Iterator

from tree_sitter import Node

NAMES = ("identifier", "type_identifier", "shorthand_property_identifier_pattern")
WRAPPERS = ("parenthesized_expression", "as_expression", "satisfies_expression")


def walk(node: Node) -> Iterator[Node]:
    """Yield the node and all inside it, in the order of the file."""
    waiting = [node]
    while waiting:
        found = waiting.pop()
        yield found
        waiting += reversed(found.children)


def line_of(node: Node) -> int:
    """Return the line that the node starts in, from 1."""
    return int(node.start_point.row) + 1


def text_of(node: Node | None) -> str:
    """Return the source of the node; empty for none."""
    return (node.text or b"").decode(errors="replace") if node is not None else ""


def parts_of(node: Node) -> list[Node]:
    """Return the named nodes right inside the node, without comments."""
    return [child for child in node.named_children if child.type != "comment"]


def names_it(node: Node | None, name: str) -> bool:
    """Return whether a declaration's name, or the pattern in its place, has the name."""
    if node is None or not node.type.endswith("_pattern"):
        return text_of(node) == name
    return any(part.type in NAMES and text_of(part) == name for part in walk(node))
