"""Reads an array of messages in a TypeScript or JavaScript file:
`[{ role: "system", content: "…" }, …]`."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from tree_sitter import Node

from gatekeeper.contract.prompts.code.typescript_tree import line_of, parts_of, text_of, walk
from gatekeeper.contract.prompts.code.written import CodeFault
from gatekeeper.contract.role_lines import ROLES

_CHANGING = ("copyWithin", "fill", "pop", "push", "reverse", "shift", "sort", "splice", "unshift")
_ASSIGNS = ("assignment_expression", "augmented_assignment_expression")
_FIX = 'write `{ role: "user", content: "…" }`'


class ArrayItem(NamedTuple):
    """One message: its role, and the expression of its text."""

    role: str
    content: Node


def array_items(
    array: Node, inside: Callable[[Node], Node], key_of: Callable[[Node], str | None]
) -> list[ArrayItem]:
    """Return the messages of an array. `inside` takes parentheses and types away, `key_of` gives
    the key of a member. Raises CodeFault for an item that is no message."""
    elements = [inside(element) for element in parts_of(array)]
    if not elements:
        raise CodeFault("the array has no message", _FIX, line_of(array))
    return [_item(element, inside, key_of) for element in elements]


def refuse_array_changes(root: Node, name: str) -> None:
    """Refuse code of the file that visibly changes the array or its messages. Raises CodeFault,
    with its line. What a function does with an array that it is given is not seen."""
    for node in walk(root):
        changed: Node | None = None
        if node.type in _ASSIGNS:
            changed = node.child_by_field_name("left")
        elif node.type in ("update_expression", "unary_expression"):
            is_delete = text_of(node.child_by_field_name("operator")) in ("delete", "++", "--")
            changed = node.child_by_field_name("argument") if is_delete else None
        elif node.type == "call_expression":
            called = node.child_by_field_name("function")
            method = text_of(called.child_by_field_name("property")) if called else ""
            is_change = called is not None and method in _CHANGING
            assigns = text_of(called) == "Object.assign"
            arguments = node.child_by_field_name("arguments")
            first = parts_of(arguments)[:1] if assigns and arguments is not None else []
            changed = called if is_change else first[0] if first else None
        if changed is not None and _root_name(changed) == name:
            fix = f"add messages to a copy of the array, as in `[...{name}, …]`"
            raise CodeFault(f"the program changes `{name}` while it runs", fix, line_of(node))


def _root_name(node: Node) -> str:
    """Return the name that a path of members begins with."""
    while (inner := node.child_by_field_name("object")) is not None:
        node = inner
    return text_of(node)


def _item(
    element: Node, inside: Callable[[Node], Node], key_of: Callable[[Node], str | None]
) -> ArrayItem:
    if element.type != "object":
        what = f"`{text_of(element)[:60]}` is not a message"
        raise CodeFault(what, _FIX, line_of(element))
    parts: dict[str, Node] = {}
    for part in parts_of(element):
        key, value = key_of(part), part.child_by_field_name("value")
        if key not in ("role", "content") or key in parts or value is None:
            what = f"gatekeeper does not read `{text_of(part)[:60]}` of a message"
            raise CodeFault(what, "keep only `role` and `content`", line_of(part))
        parts[key] = inside(value)
    if len(parts) != 2:
        raise CodeFault("a message lacks `role` or `content`", _FIX, line_of(element))
    role = text_of(parts["role"])[1:-1].lower() if parts["role"].type == "string" else ""
    if role not in ROLES:
        what = f"the role `{text_of(parts['role'])[:60]}` is not one of {', '.join(ROLES)}"
        raise CodeFault(what, _FIX, line_of(parts["role"]))
    return ArrayItem(role, parts["content"])
