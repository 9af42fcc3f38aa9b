"""Finds how a template uses the outputs of earlier steps.

The output of a step is not known while templates are rendered. So its name may stand only where the
output is inserted as it is, `{{ extract }}`, and not in a filter, a condition or an expression.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

from jinja2 import nodes

from gatekeeper.contract.templates.environment import environment_for

_TRANSPARENT = (nodes.Template, nodes.Output, nodes.If, nodes.For)
"""What inserts its texts as they are. Text of other blocks can be changed or taken as a value."""


class Use(NamedTuple):
    """A place of a step's name in a template. `inserted` says that it is `{{ name }}`."""

    name: str
    line: int
    inserted: bool


def step_uses(source: str, names: Collection[str]) -> tuple[Use, ...]:
    """Return each use of the names in a template, in the order of its lines.

    Raises jinja2.TemplateSyntaxError and RecursionError.
    """
    if "{" not in source or not any(name in source for name in names):
        return ()
    found = _uses(environment_for(()).parse(source), frozenset(names), inserts=True)
    return tuple(sorted(found, key=lambda use: use.line))


def _uses(node: nodes.Node, names: frozenset[str], *, inserts: bool) -> Iterator[Use]:
    recursive = isinstance(node, nodes.For) and node.recursive
    inserts = inserts and isinstance(node, _TRANSPARENT) and not recursive
    for name in _bound_names(node):
        if name in names:
            yield Use(name, node.lineno, False)
    for child in node.iter_child_nodes():
        if isinstance(child, nodes.Name) and child.name in names:
            printed = isinstance(node, nodes.Output) and child.ctx == "load"
            yield Use(child.name, child.lineno, inserts and printed)
        else:
            yield from _uses(child, names, inserts=inserts)


def _bound_names(node: nodes.Node) -> Iterator[Any]:
    """Yield the names that a statement gives to something else without a node of their own."""
    if isinstance(node, nodes.Macro | nodes.NSRef):
        yield node.name
    elif isinstance(node, nodes.Import):
        yield node.target
    elif isinstance(node, nodes.FromImport):
        for name in node.names:
            yield name[1] if isinstance(name, tuple) else name
