"""Every name of one file: what gives it a value, where it is used, what it is imported from."""

from __future__ import annotations

import posixpath
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Protocol

from gatekeeper.contract.prompts.code.tree import Node
from gatekeeper.contract.prompts.code.written import MOVE, CodeFault, Written

_SUFFIXES = (".cjs", ".js", ".jsx", ".mjs", ".ts", ".tsx")


class _Rules(Protocol):
    """What one language lets a file do with a constant, and how it writes texts."""

    is_python: bool

    def refuse_file(self, names: Names) -> None: ...
    def refuse_declaration(self, names: Names, bound: Node, name: str) -> None: ...
    def changes(self, node: Node, name: str, in_class: bool, /) -> bool: ...
    def shown(self, node: Node) -> str: ...
    def literal(self, node: Node, add_hole: Callable[[Written, Node], None]) -> Written: ...
    def number(self, node: Node) -> str | None: ...
    def cleaned(
        self, names: Names, call: Node, value: Callable[[Node], Written], /
    ) -> Written | None: ...


class Names:
    """The names of one file. A name of any scope counts that is given a value."""

    def __init__(self, nodes: Sequence[Node], rules: _Rules, path: str) -> None:
        self.nodes, self.rules, self.path = nodes, rules, path
        self.module = nodes[0]
        self.named: dict[str, list[Node]] = defaultdict(list)
        self.defined: dict[str, list[Node]] = defaultdict(list)
        self.imported: dict[str, str] = {}
        self.bound: set[str] = set()
        self._bindings: dict[tuple[int, str], list[Node]] = defaultdict(list)
        self._done: set[tuple[str, bool]] = set()
        for node in nodes:
            self._note(node)

    def _note(self, node: Node) -> None:
        kind, text = node.kind, node.text
        if kind in ("name", "member", "item", "pair") and text:
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
        if kind in ("store", "keyword", "pair", "default") and text not in ("for", "in", "each"):
            self._define(node)

    def _bind(self, node: Node, name: str) -> None:
        self._bindings[(id(node.scope), name)].append(node)

    def _define(self, node: Node) -> None:
        """Note the names that get a function, or another name, which may be one."""
        value = node.get("value")
        value = value.inside() if value is not None else node
        for target in [part.inside() for part in node.all("target")] or [node]:
            is_other = node.kind == "store" and (target.kind == "member" or value.kind == "name")
            if value.kind == "function" or is_other:
                self.defined[target.text].append(value)

    def bindings(self, scope: Node, name: str) -> list[Node]:
        """Return what gives the name a value in this scope."""
        return self._bindings.get((id(scope), name), [])

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

    def refuse_changes(self, name: str, in_class: bool = False) -> None:
        """Refuse code that gives the name of the module, or of a class, another value as a member.
        The scope's own assignments are counted elsewhere."""
        if (name, in_class) in self._done:
            return
        for node in self.nodes:
            if self.rules.changes(node, name, in_class):
                raise changed(name, node)
        self._done.add((name, in_class))

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


def changed(name: str, node: Node) -> CodeFault:
    """Return the refusal of a use of the name."""
    what = f"this use of `{name}` may change the prompt while the program runs"
    return CodeFault(what, MOVE, node.line)


def may_change_any(shown: str, node: Node) -> CodeFault:
    """Return the refusal of code that can reach every name of its file."""
    what = f"`{shown}` may change any name of this file while the program runs"
    return CodeFault(what, MOVE, node.line)
