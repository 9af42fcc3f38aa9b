"""Finds the Python function that a promptfoo file names, from the source alone."""

from __future__ import annotations

import ast

from gatekeeper.contract.formats.promptfoo.nodes import Node
from gatekeeper.contract.formats.promptfoo.sources import FILE, Sources


class NoFunctionError(Exception):
    """The file has no such function; the text says why."""


def named_function(
    sources: Sources, node: Node, reference: str, default: str
) -> tuple[str, ast.FunctionDef]:
    """Return `/FILE.py:NAME` and the function that `file://FILE.py:NAME` names. Without `:NAME`, it
    is the `default`.

    Raises ContractError if there is no such file, NoFunctionError if it has no such function.
    """
    path, _, name = reference.removeprefix(FILE).partition(":")
    name = name or default
    located, text = sources.text(node, path)
    try:
        module = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise NoFunctionError(f"{located} is not Python") from None
    found = [f for f in module.body if isinstance(f, ast.FunctionDef) and f.name == name]
    if not found:
        raise NoFunctionError(f"{located} defines no function `{name}`")
    return f"/{located}:{name}", found[-1]


def takes_two_values(function: ast.FunctionDef) -> bool:
    """Return whether the function can be called with two values by position."""
    arguments = function.args
    places = len(arguments.posonlyargs) + len(arguments.args)
    required = places - len(arguments.defaults)
    by_name = any(default is None for default in arguments.kw_defaults)
    return required <= 2 and (places >= 2 or arguments.vararg is not None) and not by_name
