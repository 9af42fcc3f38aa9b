"""Walks the syntax tree that tree-sitter makes of TypeScript and JavaScript."""

from __future__ import annotations

from collections.abc import Iterator

from tree_sitter import Node

NAMES = ("identifier", "type_identifier", "shorthand_property_identifier_pattern")
FUNCTIONS = ("arrow_function", "function_declaration", "function_expression")
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


def names_in(pattern: Node) -> Iterator[str]:
    """Yield the names that a declaration's name, or the pattern in its place, gives a value."""
    if pattern.type in NAMES:
        yield text_of(pattern)
    value = pattern.child_by_field_name("value") or pattern.child_by_field_name("right")
    for part in parts_of(pattern):
        is_default = part == value and pattern.type != "pair_pattern"
        if not is_default and part.type != "type_annotation":
            yield from names_in(part)
