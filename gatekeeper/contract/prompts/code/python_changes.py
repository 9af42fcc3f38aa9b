"""Recognises code that gives a name of its module or class another value by its text."""

from __future__ import annotations

import ast


def sets_key(node: ast.AST, name: str) -> bool:
    """Return whether the node is `globals()["NAME"] = …`, `globals().update(NAME=…)` or
    `setattr(…, "NAME", …)`."""
    if isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
        key = node.slice
        return isinstance(node.value, ast.Call) and _is_text(key, name)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        of_call = isinstance(node.func.value, ast.Call)
        return of_call and any(keyword.arg == name for keyword in node.keywords)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and len(node.args) > 1:
        return node.func.id in ("setattr", "delattr") and _is_text(node.args[1], name)
    return False


def _is_text(node: ast.expr, text: str) -> bool:
    return isinstance(node, ast.Constant) and node.value == text
