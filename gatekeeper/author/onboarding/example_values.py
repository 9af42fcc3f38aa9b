"""Makes example values for a template's variables, of the shape in which the template reads them.

`{{ user.name }}` needs a mapping, `{% for turn in turns %}` a list; everything else gets text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from jinja2 import Environment, TemplateSyntaxError, meta, nodes

from gatekeeper.contract.values.definition import Prompt

Node = TypeVar("Node", bound=nodes.Node)

_Path = tuple[str, ...]
_DEEPEST = 5


def prompt_variables(prompt: Prompt) -> tuple[str, ...]:
    """Return the variables that the prompt's templates read, in the order of their first use."""
    found: dict[str, int] = {}
    for index, (text, tree) in enumerate(_parsed(prompt)):
        for name in meta.find_undeclared_variables(tree):
            found.setdefault(name, index * 1_000_000 + _first_use(name, text))
    return tuple(sorted(found, key=lambda name: found[name]))


def _first_use(name: str, text: str) -> int:
    """Return where a variable stands between braces first."""
    used = re.search(rf"\{{[{{%][^{{}}%]*\b{re.escape(name)}\b", text)
    return used.end() if used else max(text.find(name), 0)


def example_values(prompt: Prompt, variables: Sequence[str], text: str) -> dict[str, Any]:
    """Return a value for each variable. `text` has `{name}` where the name of what it stands for
    belongs."""
    uses = _uses([tree for _, tree in _parsed(prompt)])
    return {name: _value(uses, (name,), text, name, 0) for name in variables}


def _parsed(prompt: Prompt) -> list[tuple[str, nodes.Template]]:
    environment = Environment(autoescape=True)
    found = []
    for text in (*(message.content for message in prompt.messages), *prompt.includes.values()):
        try:
            found.append((text, environment.parse(text)))
        except (TemplateSyntaxError, RecursionError):
            continue
    return found


@dataclass(frozen=True, slots=True)
class _Uses:
    """What templates do with expressions: the first loop over each, and the fields of each that are
    read, in order."""

    loops: Mapping[_Path, nodes.For]
    fields: Mapping[_Path, Mapping[str, None]]


def _uses(trees: Sequence[nodes.Node]) -> _Uses:
    known: dict[int, _Path | None] = {}
    loops: dict[_Path, nodes.For] = {}
    fields: dict[_Path, dict[str, None]] = {}
    for loop in _every(trees, nodes.For):
        path = _path(loop.iter, known)
        if path and isinstance(loop.target, nodes.Name):
            loops.setdefault(path, loop)
    called = {id(call.node) for call in _every(trees, nodes.Call)}
    reads: list[nodes.Getattr | nodes.Getitem] = [*_every(trees, nodes.Getattr)]
    for read in (*reads, *_every(trees, nodes.Getitem)):
        path = _path(read, known)
        is_method = path and id(read) in called and hasattr(str, path[-1])
        if path and not is_method:
            fields.setdefault(path[:-1], {})[path[-1]] = None
    return _Uses(loops, fields)


def _path(expression: nodes.Node, known: dict[int, _Path | None]) -> _Path | None:
    """Return the variable of an expression and the fields below it, such as `user` and `name`; None
    for anything else. `known` are the paths so far, by the node."""
    if isinstance(expression, nodes.Name):
        return (expression.name,)
    if not isinstance(expression, nodes.Getattr | nodes.Getitem):
        return None
    if id(expression) not in known:
        above, field = _path(expression.node, known), _field(expression)
        is_near = above is not None and field is not None and len(above) <= _DEEPEST + 1
        known[id(expression)] = (*above, field) if is_near and above and field else None
    return known[id(expression)]


def _value(uses: _Uses, path: _Path, text: str, name: str, level: int) -> Any:
    """Return an example of what the templates do with an expression."""
    plain = text.format(name=name.replace("_", " "))
    if level > _DEEPEST:
        return plain
    loop = uses.loops.get(path)
    if loop is not None and isinstance(loop.target, nodes.Name):
        item = loop.target.name
        return [_value(_uses(loop.body), (item,), text, item, level + 1)]
    fields = uses.fields.get(path, {})
    found = {field: _value(uses, (*path, field), text, field, level + 1) for field in fields}
    if isinstance(found.get("role"), str) and "content" in found:
        found["role"] = "user"  # a message of a chat, whose role a template may write as a line
    return found or plain


def _every(trees: Sequence[nodes.Node], kind: type[Node]) -> Iterator[Node]:
    """Yield the nodes of a kind in the trees, the trees themselves included."""
    for tree in trees:
        if isinstance(tree, kind):
            yield tree
        yield from tree.find_all(kind)


def _field(read: nodes.Getattr | nodes.Getitem) -> str | None:
    """Return the name of the field that is read; None if a number or a variable says it."""
    if isinstance(read, nodes.Getattr):
        return str(read.attr)
    key = read.arg.value if isinstance(read.arg, nodes.Const) else None
    return key if isinstance(key, str) else None
