"""Makes example values for a template's variables, of the shape in which the template reads them.

`{{ user.name }}` needs a mapping, `{% for turn in turns %}` a list; everything else gets text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from gatekeeper.contract.definition import Prompt

if TYPE_CHECKING:
    from jinja2 import nodes

    Node = TypeVar("Node", bound=nodes.Node)

_DEEPEST = 5


def prompt_variables(prompt: Prompt) -> tuple[str, ...]:
    """Return the variables that the prompt's templates read, in the order of their first use."""
    from jinja2 import meta

    found: dict[str, int] = {}
    for index, (text, tree) in enumerate(_parsed(prompt)):
        for name in meta.find_undeclared_variables(tree):
            found.setdefault(name, index * 1_000_000 + max(text.find(name), 0))
    return tuple(sorted(found, key=lambda name: found[name]))


def example_value(prompt: Prompt, variable: str, text: str) -> Any:
    """Return a value for the variable. `text` has `{name}` where the name of what it stands for
    belongs."""
    from jinja2 import nodes

    trees = [tree for _, tree in _parsed(prompt)]
    return _value(trees, nodes.Name(variable, "load"), text, variable, 0)


def _parsed(prompt: Prompt) -> list[tuple[str, nodes.Template]]:
    from jinja2 import Environment, TemplateSyntaxError

    environment = Environment(autoescape=True)
    found = []
    for text in (*(message.content for message in prompt.messages), *prompt.includes.values()):
        try:
            found.append((text, environment.parse(text)))
        except (TemplateSyntaxError, RecursionError):
            continue
    return found


def _value(
    trees: Sequence[nodes.Node], expression: nodes.Expr, text: str, name: str, level: int
) -> Any:
    """Return an example of what the trees do with an expression."""
    from jinja2 import nodes

    plain = text.format(name=name.replace("_", " "))
    if level > _DEEPEST:
        return plain
    for loop in _every(trees, nodes.For):
        if loop.iter == expression and isinstance(loop.target, nodes.Name):
            item = nodes.Name(loop.target.name, "load")
            return [_value(loop.body, item, text, loop.target.name, level + 1)]
    fields: dict[str, nodes.Expr] = {}
    reads: list[nodes.Getattr | nodes.Getitem] = [*_every(trees, nodes.Getattr)]
    for read in (*reads, *_every(trees, nodes.Getitem)):
        field = _field(read, expression)
        if field is not None and not hasattr(str, field):
            fields.setdefault(field, read)
    if not fields:
        return plain
    return {field: _value(trees, read, text, field, level + 1) for field, read in fields.items()}


def _every(trees: Sequence[nodes.Node], kind: type[Node]) -> Iterator[Node]:
    """Yield the nodes of a kind in the trees, the trees themselves included."""
    for tree in trees:
        if isinstance(tree, kind):
            yield tree
        yield from tree.find_all(kind)


def _field(read: nodes.Getattr | nodes.Getitem, expression: nodes.Expr) -> str | None:
    """Return the field of the expression that is read; None if it is something else."""
    from jinja2 import nodes

    if read.node != expression:
        return None
    if isinstance(read, nodes.Getattr):
        return str(read.attr)
    key = read.arg.value if isinstance(read.arg, nodes.Const) else None
    return key if isinstance(key, str) else None
