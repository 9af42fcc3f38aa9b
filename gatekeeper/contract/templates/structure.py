"""Decides whether two prompts are the same template, apart from comments, layout and includes.

Two prompts may send the same requests for every fixture and still differ: in a branch that no
fixture reaches, or in a condition that tells the fixtures apart from everything else.

It also finds how a template uses the outputs of earlier steps, which are not known while it is
rendered. So a step's name may stand only where its output is inserted as it is, `{{ extract }}`,
and not in a filter, a condition or an expression.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

from jinja2 import nodes

from gatekeeper.contract.reading.read import locate
from gatekeeper.contract.templates.environment import environment_for
from gatekeeper.contract.values.definition import Prompt, Target

_MOST_INLINED = 200_000
_WORD = re.compile(r"[^\W_]|[^\x00-\x7f]")  # also characters that nobody sees
_NAMED = nodes.Include | nodes.Extends | nodes.Import | nodes.FromImport
_NEVER_SENT = nodes.Compare | nodes.Test | _NAMED
_NAMING = (nodes.Call, nodes.Assign, nodes.Macro, nodes.CallBlock, nodes.For, nodes.With)
_OF_NAMES = (
    *("attr", "dictsort", "groupby", "map", "max", "min", "reject", "rejectattr", "select"),
    *("selectattr", "sort", "sum", "unique"),
)
_OF_KEYS = (
    *("count", "endswith", "find", "get", "index", "lstrip", "partition", "removeprefix"),
    *("removesuffix", "replace", "rsplit", "rstrip", "split", "startswith", "strip"),
)
"""Filters and methods whose first value is looked for, and not sent."""


class NewLine(NamedTuple):
    """A line of text that a prompt has and base's has not, where it is written. `in_comment` says
    that Jinja drops it."""

    text: str
    path: str
    line: int
    in_comment: bool


def new_lines(base: Target, head: Target) -> tuple[NewLine, ...]:
    """Return each line of text that head's prompts write and base's do not, tags left out.

    Lines of comments count if only the text shows that the prompt is read as Jinja: the program
    may send them.
    """
    shown = {prompt.shown_by for target in (base, head) for prompt in target.prompts}
    before = {line.text for prompt in base.sent for line in _lines(prompt)}
    return tuple(
        line
        for prompt in head.sent
        for line in _lines(prompt)
        if line.text not in before and (shown == {"text"} or not line.in_comment)
    )


def _lines(prompt: Prompt) -> Iterator[NewLine]:
    for message in prompt.messages:
        for line in _written(message.content):
            yield line._replace(path=message.path or prompt.path, line=message.line_at(line.line))
    for path, content in prompt.includes.items():
        yield from (line._replace(path=path) for line in _written(content))


@lru_cache(maxsize=256)
def _written(source: str) -> tuple[NewLine, ...]:
    """Return the lines of text, of comments, and of texts in expressions that may be sent, if they
    have a letter, a digit or a character beyond ASCII."""
    environment = environment_for(())
    lines = [
        NewLine(line.strip(), "", number, kind == "comment")
        for start, kind, text in environment.lex(source)
        if kind in ("data", "comment")
        for number, line in enumerate(text.split("\n"), start)
    ]
    for const, words in _constants(environment.parse(source), 1):
        pieces = map(str.strip, const.value.split("\n"))
        more = (piece for piece in pieces if len(piece.split()) >= words)
        lines += (NewLine(piece, "", const.lineno, False) for piece in more)
    return tuple(line for line in lines if _WORD.search(line.text))


def _constants(node: nodes.Node, words: int) -> Iterator[tuple[nodes.Const, int]]:
    """Yield each text in an expression that a model may be sent, with how many words it needs to be
    taken for one: a lone word that is no part of an output is rather a name or a key."""
    if isinstance(node, nodes.Const) and isinstance(node.value, str):
        yield node, words
    if isinstance(node, nodes.Output):
        words = 1
    elif isinstance(node, _NAMING):
        words = 2
    for part in _sent_parts(node):
        yield from _constants(part, words)


def _sent_parts(node: nodes.Node) -> Iterable[nodes.Node]:
    """Return the parts of a node whose texts may be sent: not conditions, keys and names."""
    if isinstance(node, _NEVER_SENT):
        return ()
    if isinstance(node, nodes.Pair):
        return (node.value,)
    if isinstance(node, nodes.Getitem):
        return (node.node,)
    if isinstance(node, nodes.If | nodes.CondExpr | nodes.For):
        return node.iter_child_nodes(exclude=("test",))
    if isinstance(node, nodes.Filter) and node.name in _OF_NAMES:
        return (node.node,) if node.node else ()
    if isinstance(node, nodes.Call | nodes.Filter) and _called(node) in _OF_KEYS:
        return (*([node.node] if node.node else []), *node.args[1:])
    return node.iter_child_nodes()


def _called(node: nodes.Call | nodes.Filter) -> str | None:
    """Return the name of a filter or of a method."""
    if isinstance(node, nodes.Filter):
        return node.name
    return node.node.attr if isinstance(node.node, nodes.Getattr) else None


def is_same_chain(base: Target, head: Target, renaming: Mapping[str, str]) -> bool:
    """Return whether two targets have the same steps and prompts, as `is_same_template` compares
    them."""
    names = [[step.name for step in target.steps] for target in (base, head)]
    return names[0] == names[1] and all(
        is_same_template(before, now, renaming)
        for before, now in zip(base.sent, head.sent, strict=True)
    )


def is_same_template(base: Prompt, head: Prompt, renaming: Mapping[str, str]) -> bool:
    """Return whether two prompts differ at most in comments, in the layout of tags, in what is
    moved into an include, and in the names of variables.

    Files that are imported, extended or included otherwise than plainly count as they are.
    `renaming` has the new name of each variable by its old one. Both prompts must have been
    loaded, so that their templates are known to compile.
    """
    return _structure(base, renaming) == _structure(head, {})


def _structure(prompt: Prompt, renaming: Mapping[str, str]) -> list[tuple[str, str]]:
    includes = tuple(sorted(prompt.includes.items()))
    names = tuple(sorted(renaming.items()))
    found = []
    inlined: set[str] = set()
    for message in prompt.messages:
        text, paths = _parsed(message.content, prompt.path, includes, names)
        found.append((message.role, text))
        inlined |= paths
    folder = posixpath.dirname(prompt.path) or "."
    for path, content in includes:
        if path not in inlined:
            # Its name is as seen from the prompt, so that both may move together.
            place = posixpath.relpath(path, folder)
            found.append((place, _parsed(content, path, includes, names)[0]))
    return found


@lru_cache(maxsize=256)
def _parsed(
    source: str,
    path: str,
    includes: tuple[tuple[str, str], ...],
    renaming: tuple[tuple[str, str], ...],
) -> tuple[str, frozenset[str]]:
    """Return the template's tree as text, and the paths of the files that are inserted in it."""
    found = _Inlining(dict(includes))
    tree = nodes.Template(found.inlined(source, path))
    new_names = dict(renaming)
    for name in tree.find_all(nodes.Name):
        name.name = new_names.get(name.name, name.name)
    return repr(tree), frozenset(found.paths)


@dataclass(slots=True)
class _Inlining:
    """Puts the statements of each plain include in the include's place. `paths` are those files,
    and `left` is how many characters of them may still come: ten files of which each includes the
    next ten times are as long as ten thousand million files."""

    includes: Mapping[str, str]
    paths: set[str] = field(default_factory=set)
    left: int = _MOST_INLINED

    def inlined(self, source: str, path: str) -> list[nodes.Node]:
        """Return the template's statements, with includes inserted."""
        body = environment_for(()).parse(source).body
        return self._flattened(body, path)

    def _flattened(self, body: list[nodes.Node], path: str) -> list[nodes.Node]:
        flat: list[nodes.Node] = []
        for node in body:
            target = _included(node, path)
            size = len(self.includes.get(target or "", ""))
            if target is not None and target in self.includes and size <= self.left:
                self.left -= size + 1
                self.paths.add(target)
                for part in self.inlined(self.includes[target], target):
                    _append(flat, part)
                continue
            for name in ("body", "else_", "elif_"):
                inner = getattr(node, name, None)
                if isinstance(inner, list):
                    setattr(node, name, self._flattened(inner, path))
            _append(flat, node)
        return flat


def _included(node: nodes.Node, path: str) -> str | None:
    """Return the file that a plain include names.

    An include that takes no variables, or may be missing, is left as it is.
    """
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
