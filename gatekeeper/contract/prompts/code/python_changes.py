"""Recognises code of a Python file that gives a name of its module or class another value.

Whoever has a class in hand can change it, so each use of its name that is no plain read is
refused. What code of another file does is not seen.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from gatekeeper.contract.prompts.code.written import CodeFault

_READ_IT = (
    "use only the members of the class, as in `{0}.MEMBER`, or move the text out of the class"
)
_INSPECTING = ("isinstance", "issubclass")


def changes_name(
    tree: ast.Module, name: str, around: ast.ClassDef | None
) -> Iterator[ast.expr | ast.stmt]:
    """Yield the code that gives the name another value. `around` is the class that has it."""
    inside = {id(node) for node in ast.walk(around)} if around else set()
    for node in ast.walk(tree):
        is_global = isinstance(node, ast.Global) and name in node.names
        if isinstance(node, ast.stmt | ast.expr) and (is_global or _sets_key(node, name)):
            yield node
        elif isinstance(node, ast.Attribute) and node.attr == name and _is_set(node):
            owner = getattr(node.value, "id", getattr(node.value, "attr", None))
            own = id(node) in inside and owner in ("self", "cls")
            of_class = around is not None and owner == around.name
            if own or of_class or isinstance(node.value, ast.Subscript | ast.Call):
                yield node


def refuse_class_changes(tree: ast.Module, classes: Sequence[ast.ClassDef]) -> None:
    """Refuse what may change the members of the classes. Raises CodeFault, with its line."""
    if not classes:
        return
    known = {node.name: node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
    for found in classes:
        _refuse_making(found, known)
    names = {found.name for found in classes}
    parents = {id(part): node for node in ast.walk(tree) for part in ast.iter_child_nodes(node)}
    harmless = set(_annotated(tree))
    own = {id(node) for found in classes for node in ast.walk(found)}
    for node in ast.walk(tree):
        name = getattr(node, "id", getattr(node, "attr", ""))
        is_use = isinstance(node, ast.Name | ast.Attribute) and name in names
        is_cls = isinstance(node, ast.Name) and name == "cls" and id(node) in own
        if not (is_use or is_cls) or id(node) in harmless:
            continue
        if not _is_read(node, parents[id(node)]):
            what = f"this use of the class `{name}` may change the values of its members"
            raise CodeFault(what, _READ_IT.format(name), int(getattr(node, "lineno", 1)))


def replaces_member(tree: ast.Module, module: str, names: Sequence[str]) -> bool:
    """Return whether the file may replace one of the functions of a module that it imports, such
    as by `textwrap.dedent = …`. `module` may be used for nothing but its members."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in names and _is_set(node):
            return True
        if any(_sets_key(node, name) for name in names):
            return True
        bare = [part for part in ast.iter_child_nodes(node) if getattr(part, "id", None) == module]
        if bare and not isinstance(node, ast.Attribute):
            return True
    return False


def _refuse_making(made: ast.ClassDef, known: dict[str, ast.ClassDef]) -> None:
    """Refuse what runs while Python makes the class, and may change it."""
    waiting, done = [made], set()
    while waiting:
        found = waiting.pop()
        if found.name in done:
            continue
        done.add(found.name)
        by_base = found is not made and any(
            getattr(part, "name", "") == "__init_subclass__" for part in found.body
        )
        if found.decorator_list or found.keywords or by_base:
            what = f"a decorator, a metaclass or a base class may change `{made.name}`"
            fix = "move the text to a plain class, or out of the class"
            raise CodeFault(what, fix, found.lineno)
        bases = [base.id for base in found.bases if isinstance(base, ast.Name)]
        waiting += [known[base] for base in bases if base in known]


def _annotated(tree: ast.Module) -> Iterator[int]:
    """Yield the identity of each node in a type annotation."""
    for node in ast.walk(tree):
        for part in (getattr(node, "annotation", None), getattr(node, "returns", None)):
            if isinstance(part, ast.AST):
                yield from map(id, ast.walk(part))


def _is_read(node: ast.AST, parent: ast.AST) -> bool:
    if not isinstance(getattr(node, "ctx", None), ast.Load):
        return False
    if isinstance(parent, ast.Attribute):
        return not parent.attr.startswith("__")
    if isinstance(parent, ast.Call):
        return parent.func is node or getattr(parent.func, "id", "") in _INSPECTING
    if isinstance(parent, ast.Subscript):
        return parent.value is node and isinstance(parent.ctx, ast.Load)
    return isinstance(parent, ast.ClassDef) and node in parent.bases


def _is_set(node: ast.Attribute) -> bool:
    return not isinstance(node.ctx, ast.Load)


def _sets_key(node: ast.AST, name: str) -> bool:
    """Return whether the node is `globals()["NAME"] = …`, `globals().update(NAME=…)` or
    `setattr(…, "NAME", …)`."""
    if isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
        key = node.slice
        return isinstance(node.value, ast.Call) and _is_text(key, name)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        of_call = isinstance(node.func.value, ast.Call)
        return of_call and any(keyword.arg == name for keyword in node.keywords)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and len(node.args) > 1:
        return node.func.id in ("setattr", "delattr") and _is_text(node.args[1], name)
    return False


def _is_text(node: ast.expr, text: str) -> bool:
    return isinstance(node, ast.Constant) and node.value == text
