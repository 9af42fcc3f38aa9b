"""Reads a list of messages in a Python file: `[{"role": "system", "content": "…"}, …]`, or pairs of
a role and a text as LangChain has them."""

from __future__ import annotations

import ast
from typing import NamedTuple

from gatekeeper.contract.prompts.code.written import CodeFault
from gatekeeper.contract.role_lines import ROLES

_ROLES = {**{role: role for role in ROLES}, "human": "user", "ai": "assistant"}
_FIX = 'write `{"role": "user", "content": "…"}`'


class MessageItem(NamedTuple):
    """One message: its role, and the expression of its text."""

    role: str
    content: ast.expr


def message_items(value: ast.expr) -> list[MessageItem] | None:
    """Return the messages of a list or tuple; None if the value is something else. Raises CodeFault
    for an item that is no message."""
    if not isinstance(value, ast.List | ast.Tuple):
        return None
    if not value.elts:
        raise CodeFault("the list has no message", _FIX, value.lineno)
    return [_item(element) for element in value.elts]


def _item(element: ast.expr) -> MessageItem:
    if isinstance(element, ast.Tuple) and len(element.elts) == 2:
        role, content = element.elts
        return MessageItem(_role(role), content)
    if not isinstance(element, ast.Dict):
        raise CodeFault(f"`{_shown(element)}` is not a message", _FIX, element.lineno)
    parts: dict[str, ast.expr] = {}
    for key, value in zip(element.keys, element.values, strict=True):
        name = key.value if isinstance(key, ast.Constant) else None
        if name not in ("role", "content"):
            what = f"gatekeeper does not read `{_shown(key) if key else '**'}` of a message"
            raise CodeFault(what, "keep only `role` and `content`", value.lineno)
        parts[name] = value
    if len(parts) != 2:
        raise CodeFault("a message lacks `role` or `content`", _FIX, element.lineno)
    return MessageItem(_role(parts["role"]), parts["content"])


def _role(node: ast.expr) -> str:
    role = node.value if isinstance(node, ast.Constant) else None
    if not isinstance(role, str) or role.lower() not in _ROLES:
        what = f"the role `{_shown(node)}` is not one of {', '.join(ROLES)}"
        raise CodeFault(what, _FIX, node.lineno)
    return _ROLES[role.lower()]


def _shown(node: ast.expr) -> str:
    if not isinstance(node, ast.Constant | ast.Name | ast.Attribute):
        return type(node).__name__
    shown = ast.unparse(node)
    return shown if len(shown) <= 60 else f"{shown[:60]}…"
