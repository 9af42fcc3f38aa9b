"""The names of one scope of a Python file, and what gives them their values."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


def scope_nodes(body: Sequence[ast.AST]) -> Iterator[ast.AST]:
    """Yield the nodes of one scope, without the bodies of functions and classes inside it."""
    waiting: list[ast.AST] = list(reversed(body))
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, _SCOPES):
            inner = set(map(id, node.body if isinstance(node.body, list) else [node.body]))
            waiting += [part for part in ast.iter_child_nodes(node) if id(part) not in inner]
        elif isinstance(node, ast.comprehension):
            waiting += [node.iter, *node.ifs]  # its target is a name of its own
        else:
            waiting += ast.iter_child_nodes(node)


def binds(node: ast.AST, name: str) -> bool:
    """Return whether the node gives the name a value in its scope."""
    if isinstance(node, ast.Name):
        return node.id == name and not isinstance(node.ctx, ast.Load)
    if isinstance(node, ast.alias):
        return (node.asname or node.name.partition(".")[0]) == name
    if isinstance(node, ast.MatchMapping):
        return node.rest == name
    named = (*FUNCTIONS, ast.ClassDef, ast.ExceptHandler, ast.MatchAs, ast.MatchStar)
    return isinstance(node, named) and node.name == name


def line_of(node: ast.AST) -> int:
    """Return the line of the file, counted from 1."""
    return int(getattr(node, "lineno", 1))
