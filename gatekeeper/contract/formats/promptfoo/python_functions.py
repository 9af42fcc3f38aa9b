"""Finds the Python function that a promptfoo file names, from the source alone."""

from __future__ import annotations

from gatekeeper.contract.formats.promptfoo.nodes import Node
from gatekeeper.contract.formats.promptfoo.sources import FILE, Sources
from gatekeeper.contract.syntax.parsing import BrokenTextError, PythonFunction, read_functions


class NoFunctionError(Exception):
    """The file has no such function; the text says why."""


def named_function(
    sources: Sources, node: Node, reference: str, default: str
) -> tuple[str, PythonFunction]:
    """Return `/FILE.py:NAME` and the function that `file://FILE.py:NAME` names. Without `:NAME`, it
    is the `default`.

    Raises ContractError if there is no such file, NoFunctionError if it has no such function.
    """
    path, _, name = reference.removeprefix(FILE).partition(":")
    name = name or default
    located, text = sources.text(node, path)
    try:
        found = [function for function in read_functions(text) if function.name == name]
    except BrokenTextError:
        raise NoFunctionError(f"{located} is not Python") from None
    if not found:
        raise NoFunctionError(f"{located} defines no function `{name}`")
    return f"/{located}:{name}", found[-1]


def takes_two_values(function: PythonFunction) -> bool:
    """Return whether the function can be called with two values by position."""
    places = len(function.only_by_position) + len(function.by_position_or_name)
    required = places - function.defaults
    enough = places >= 2 or function.takes_any_number
    return required <= 2 and enough and not function.requires_names
