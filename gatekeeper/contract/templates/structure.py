"""Say whether two prompts are the same template, whatever their comments, layout and includes.

Two prompts may send the same requests for every fixture and still differ: in a branch that no
fixture reaches, or in a condition that tells the fixtures apart from everything else.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from jinja2 import nodes

from gatekeeper.contract.definition import Prompt
from gatekeeper.contract.read import locate
from gatekeeper.contract.templates.environment import environment_for


def is_same_template(base: Prompt, head: Prompt, renaming: Mapping[str, str]) -> bool:
    """Return whether two prompts differ at most in comments, in the layout of tags, in what is
    moved into an include, and in the names of variables.

    `renaming` has the new name of each variable by its old one. Both prompts must have been
    loaded, so that their templates are known to compile.
    """
    return _structure(base, renaming) == _structure(head, {})


def _structure(prompt: Prompt, renaming: Mapping[str, str]) -> list[tuple[str, str]]:
    includes = tuple(sorted(prompt.includes.items()))
    names = tuple(sorted(renaming.items()))
    return [
        (message.role, _parsed(message.content, prompt.path, includes, names))
        for message in prompt.messages
    ]


@lru_cache(maxsize=256)
def _parsed(
    source: str,
    path: str,
    includes: tuple[tuple[str, str], ...],
    renaming: tuple[tuple[str, str], ...],
) -> str:
    body = _inlined(source, path, dict(includes))
    tree = nodes.Template(body)
    new_names = dict(renaming)
    for name in tree.find_all(nodes.Name):
        name.name = new_names.get(name.name, name.name)
    return repr(tree)


def _inlined(source: str, path: str, includes: Mapping[str, str]) -> list[nodes.Node]:
    """The template's statements, with those of each include in the include's place."""
    body = environment_for(()).parse(source).body
    return _flattened(body, path, includes)


def _flattened(body: list[nodes.Node], path: str, includes: Mapping[str, str]) -> list[nodes.Node]:
    flat: list[nodes.Node] = []
    for node in body:
        target = _included(node, path)
        if target is not None and target in includes:
            for part in _inlined(includes[target], target, includes):
                _append(flat, part)
            continue
        for field in ("body", "else_", "elif_"):
            inner = getattr(node, field, None)
            if isinstance(inner, list):
                setattr(node, field, _flattened(inner, path, includes))
        _append(flat, node)
    return flat


def _included(node: nodes.Node, path: str) -> str | None:
    """The file that a plain include names. One that takes no variables, or may be missing, is
    left as it is."""
    if not isinstance(node, nodes.Include) or not isinstance(node.template, nodes.Const):
        return None
    plain = node.with_context and not node.ignore_missing
    return locate(node.template.value, path) if plain else None


def _append(flat: list[nodes.Node], node: nodes.Node) -> None:
    """Add a statement. A comment or an include parts a text in two: neighbouring pieces of text
    are joined."""
    if not isinstance(node, nodes.Output):
        flat.append(node)
        return
    if not flat or not isinstance(flat[-1], nodes.Output):
        flat.append(nodes.Output([]))
    output = flat[-1]
    assert isinstance(output, nodes.Output)  # noqa: S101
    for part in node.nodes:
        last = output.nodes[-1] if output.nodes else None
        if isinstance(part, nodes.TemplateData) and isinstance(last, nodes.TemplateData):
            output.nodes[-1] = nodes.TemplateData(last.data + part.data)
        elif not (isinstance(part, nodes.TemplateData) and not part.data):
            output.nodes.append(part)
