"""Reads an array of messages in a TypeScript or JavaScript file:
`[{ role: "system", content: "…" }, …]`."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from tree_sitter import Node

from gatekeeper.contract.prompts.code.typescript_tree import line_of, parts_of, text_of
from gatekeeper.contract.prompts.code.written import CodeFault
from gatekeeper.contract.role_lines import ROLES

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
