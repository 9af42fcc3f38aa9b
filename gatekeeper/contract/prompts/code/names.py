"""Every name of one file: what gives it a value, where it is used, what it is imported from."""

from __future__ import annotations

import posixpath
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Protocol

from gatekeeper.contract.prompts.code.tree import Node
from gatekeeper.contract.prompts.code.written import MOVE, CodeFault, Written

_SUFFIXES = (".cjs", ".js", ".jsx", ".mjs", ".ts", ".tsx")


class Language(Protocol):
    """What one language writes as it does, and what it lets a file do with a constant.

    `end`, `copy`, `item` and `same` are the functions and methods that leave what they are given
    as it is, and return something else, a new list of its items, an item or itself. `fresh` are
    methods that change a list, which may be a new one; `taking` those of something else that keep
    what they are given; `each` those that call a function with each item. `keys` are those of a
    message whose value is no list. `has_members` says that `a.b` and `a["b"]` are the same, as in
    JavaScript; only Python has an order of assignments, and scopes of classes.
    """

    end: frozenset[str]
    copy: frozenset[str]
    item: frozenset[str]
    same: frozenset[str]
    fresh: frozenset[str]
    taking: frozenset[str]
    each: frozenset[str]
    keys: frozenset[str]
    has_members: bool

    def refuse_file(self, names: Names) -> None:
        """Refuse code that can reach the names of its own file other than by writing them."""

    def refuse_declaration(self, names: Names, bound: Node, name: str) -> None:
        """Refuse a declaration that leaves the name open to change."""

    def changes(self, names: Names, node: Node, name: str, around: Node | None) -> bool:
        """Return whether the node may give a member of that name, of the module or of the class
        `around`, another value."""

    def own_names(self, made: Node) -> list[Node]:
        """Return the names by which the code of an object or class means itself."""

    def is_elsewhere(self, names: Names, call: Node) -> bool:
        """Return whether what is called is code of another file, which may be given a list."""

    def has_operators(self, names: Names) -> bool:
        """Return whether an operator of this file may be given a list next to it."""

    def shown(self, node: Node) -> str:
        """Return the source of the node."""

    def literal(self, node: Node, add_hole: Callable[[Written, Node], None]) -> Written:
        """Return a string literal with the line of each of its lines in the file."""

    def number(self, node: Node) -> str | None:
        """Return what a literal other than a text is in a text; None if that is not known."""

    def cleaned(self, names: Names, call: Node, value: Callable[[Node], Written]) -> Written | None:
        """Return the text of a call that only takes blanks away; None for any other call."""


class Names:
    """The names of one file. A name of any scope counts that is given a value."""

    def __init__(self, nodes: Sequence[Node], language: Language, path: str) -> None:
        self.nodes, self.language, self.path = nodes, language, path
        self.module = nodes[0]
        self.named: dict[str, list[Node]] = defaultdict(list)
        self.defined: dict[str, list[Node]] = defaultdict(list)
        self.imported: dict[str, str] = {}
        self.bound: set[str] = set()
        self.stars: list[Node] = []
        self._bindings: dict[tuple[int, str], list[Node]] = defaultdict(list)
        self._done: set[tuple[str, int]] = set()
        for node in nodes:
            self._note(node)

    def _note(self, node: Node) -> None:
        kind, text = node.kind, node.text
        if kind in ("name", "member", "pair") and text:
            self.named[text].append(node)
            if kind == "name" and node.is_target():
                self.bound.add(text)
                made = node.enclosing("store", "parameter", "default")
                if made is not None and made.text != "each":
                    self._bind(node, text)
        elif kind in ("function", "class") and text not in ("=>", ""):
            self.defined[text].append(node)
            if node.role == "body":
                self._bind(node, text)
        elif kind == "alias":
            self.imported[text] = node.parts[0].text
            self._bind(node, text)
            if text == "*":
                self.stars.append(node)
        is_loop = kind == "store" and text in ("for", "in", "each")
        if kind in ("store", "keyword", "pair", "default") and not is_loop:
            self._define(node)

    def _bind(self, node: Node, name: str) -> None:
        self._bindings[(id(node.scope), name)].append(node)

    def _define(self, node: Node) -> None:
        """Note the names that get a function, or another name, which may be one."""
        value = node.get("value")
        value = value.inside() if value is not None else node
        for target in [part.inside() for part in node.all("target")] or [node]:
            if value.kind == "function":
                self.defined[target.text].append(value)
            elif node.kind == "store" and (target.kind == "member" or value.kind == "name"):
                self.defined[target.text].append(node)

    def bindings(self, scope: Node, name: str) -> list[Node]:
        """Return what gives the name a value in this scope."""
        return self._bindings.get((id(scope), name), [])

    def known(self, scope: Node) -> list[str]:
        """Return the names that have a value in this scope."""
        return [name for found, name in self._bindings if found == id(scope)]

    def origin(self, called: Node) -> str:
        """Return what the expression names, from the module that it is imported from, such as
        `textwrap.dedent`; empty if it is not imported once, or if the file replaces it."""
        first, *rest = called.dotted() or [""]
        bound = self.bindings(self.module, first)
        if first not in self.imported or len(bound) != 1 or bound[0].kind != "alias":
            return ""
        for name in (first, *rest):
            self.refuse_changes(name)
        return ".".join([self.imported[first], *rest])

    def refuse_changes(self, name: str, around: Node | None = None) -> None:
        """Refuse code that gives the name of the module, or of the class around it, another value
        as a member. The scope's own assignments are counted elsewhere."""
        if (name, id(around)) in self._done:
            return
        for node in self.nodes:
            if self.language.changes(self, node, name, around):
                raise changed(name, node)
        self._done.add((name, id(around)))

    def is_itself(self, path: str) -> bool:
        """Return whether a path from an import, such as `a/b` or `./b`, is that of this file."""
        own = posixpath.splitext(self.path)[0].removesuffix("/index").removesuffix("/__init__")
        found = path[: -len(end)] if (end := posixpath.splitext(path)[1]) in _SUFFIXES else path
        if not own or not found:
            return False
        if path.startswith("."):
            folder = posixpath.dirname(self.path)
            return posixpath.normpath(posixpath.join(folder, found)).removesuffix("/index") == own
        is_part = "/" in found and f"/{own}".endswith(f"/{found.lstrip('@~/')}")
        return found == own or is_part


def words(text: str) -> frozenset[str]:
    """Return the words of a text."""
    return frozenset(text.split())


def changed(name: str, node: Node) -> CodeFault:
    """Return the refusal of a use of the name."""
    what = f"this use of `{name}` may change the prompt while the program runs"
    return CodeFault(what, MOVE, node.line)


def may_change_any(shown: str, node: Node) -> CodeFault:
    """Return the refusal of code that can reach every name of its file."""
    what = f"`{shown}` may change any name of this file while the program runs"
    return CodeFault(what, MOVE, node.line)
