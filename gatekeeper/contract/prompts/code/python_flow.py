"""Follows a list of messages, or a template, to wherever its file hands it on, and refuses each
use through which it may change."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable
from typing import Any

from gatekeeper.contract.prompts.code.python_scopes import FUNCTIONS
from gatekeeper.contract.prompts.code.python_uses import Uses, changed, last_name, words

_ENDS = (ast.UnaryOp, ast.FormattedValue, ast.Expr, ast.If, ast.While, ast.Assert)
_DISPLAYS = (ast.Starred, ast.List, ast.Tuple, ast.Set, ast.Dict, ast.ListComp, ast.GeneratorExp)
_KEYS = ("content", "role")
_READ = ("bool", "id", "isinstance", "len", "print", "range", "repr", "str", "type")
_COPIED = ("dict", "enumerate", "iter", "list", "reversed", "sorted", "tuple", "zip")
_STANDARD = ("asyncio", "json", "logging", "pprint")
"""The modules of the standard library whose functions leave what they are given as it is."""
_METHODS = words(
    "abatch ainvoke astream batch count format format_messages format_prompt index invoke"
    " pretty_print pretty_repr stream"
)
_OPERATORS = words(
    "__add__ __contains__ __eq__ __ge__ __gt__ __le__ __lt__ __ne__ __or__ __radd__ __ror__"
)
"""Methods of this file that an operator next to the list gives the list, or an item of it."""
_COMPARING = ("count", "index", "remove")
_COPYING = ("copy", "items", "keys", "partial", "values")
_FRESH = ("append", "clear", "extend", "insert", "remove", "reverse", "sort")
_TAKING = ("add", "append", "appendleft", "extend", "insert", "put", "setdefault", "update")

Held = list[tuple[str, int]]
"""The names that get what is followed, and in how many new lists around it, which may change."""
_MOST_NEW = 3


class Flow:
    """What the names of one file hold. A name of any scope counts that is given a value."""

    def __init__(self, uses: Uses) -> None:
        self.uses = uses

    def refuse(self, names: Iterable[str]) -> None:
        """Refuse a use of the list, or template, or of a message in it, through which it may
        change. A name of any scope counts that it is given to."""
        todo: Held = [(name, 0) for name in names]
        seen: set[tuple[str, int]] = set()
        while todo:
            name, new = todo.pop()
            if (name, new) in seen:
                continue
            seen.add((name, new))
            for node in self.uses.named[name]:
                if isinstance(node.ctx, ast.Load):
                    todo += self._held(node, new, name)
                elif isinstance(self.uses.parents[id(node)], ast.AugAssign) and not new:
                    raise changed(name, node)

    def _held(self, node: ast.expr, new: int, name: str) -> Held:
        """Return the names that get the value of the expression. Raises CodeFault if it may be
        changed. `new` counts the new lists around what must stay, which may change themselves."""
        around: Any = self.uses.parents[id(node)]
        copied = max(new, 1)
        if isinstance(around, ast.Attribute):
            return self._member(around, new, name)
        if isinstance(around, ast.Subscript):
            return self._item(around, node, new, name)
        if isinstance(around, ast.Call) and around.func is node:
            return self._held(around, new, name)  # what a function returned
        if isinstance(around, ast.Call | ast.keyword):
            return self._argument(around, node, new, name)
        if isinstance(around, ast.Compare):
            return self._operands(new, name, around)
        if isinstance(around, _ENDS) or (isinstance(around, ast.IfExp) and around.test is node):
            return []
        if isinstance(around, ast.Starred):
            return self._held(around, max(new - 1, 0), name)
        if isinstance(around, ast.Dict) and None in around.keys and node in around.values:
            return self._held(around, copied if new < 2 else new, name)  # perhaps `{**node}`
        if isinstance(around, _DISPLAYS):
            return self._held(around, min(new + 1, _MOST_NEW), name)
        if isinstance(around, ast.BinOp) and isinstance(around.op, ast.Add):
            return self._operands(new, name, around) + self._held(around, copied, name)
        is_pipe = isinstance(around, ast.BinOp) and isinstance(around.op, ast.BitOr)
        if is_pipe or isinstance(around, ast.IfExp | ast.BoolOp | ast.Await):
            return self._held(around, new, name)
        if isinstance(around, ast.Return):
            function = self.uses.enclosing(node, (*FUNCTIONS, ast.Lambda))
            if getattr(function, "name", "__").startswith("__"):
                raise changed(name, node)  # who calls it cannot be seen
            return [(getattr(function, "name", ""), new)]
        if isinstance(around, ast.NamedExpr):
            return [(around.target.id, new), *self._held(around, new, name)]
        if isinstance(around, ast.Assign | ast.AnnAssign):
            targets = around.targets if isinstance(around, ast.Assign) else [around.target]
            return [held for target in targets for held in _taken(target, new, name)]
        if isinstance(around, ast.AugAssign):
            return _taken(around.target, copied, name)
        if isinstance(around, ast.For | ast.AsyncFor | ast.comprehension) and around.iter is node:
            return _taken(around.target, max(new - 1, 0), name)
        raise changed(name, node)

    def _item(self, around: ast.Subscript, node: ast.expr, new: int, name: str) -> Held:
        if around.value is not node:
            return []
        if not isinstance(around.ctx, ast.Load):
            adds = isinstance(self.uses.parents[id(around)], ast.AugAssign)  # `copy[0] |= {…}`
            if new > adds:
                return []
            raise changed(name, around)
        if isinstance(around.slice, ast.Constant) and around.slice.value in _KEYS:
            return []
        is_list = isinstance(around.slice, ast.Slice)
        return self._held(around, max(new, 1) if is_list else max(new - 1, 0), name)

    def _member(self, member: ast.Attribute, new: int, name: str) -> Held:
        call = self.uses.parents[id(member)]
        if isinstance(call, ast.Call) and call.func is member:
            if member.attr in _METHODS or (new and member.attr in _FRESH):
                return self._operands(new, name, member) if member.attr in _COMPARING else []
            if member.attr in _COPYING:
                return self._held(call, max(new, 1), name)
            if member.attr == "get" or (new and member.attr == "pop"):
                return self._held(call, max(new - 1, 0), name)
        elif member.attr == "template" and isinstance(member.ctx, ast.Load):
            return []
        raise changed(name, member)

    def _argument(
        self, around: ast.Call | ast.keyword, node: ast.expr, new: int, name: str
    ) -> Held:
        """Return the names that get an argument. A function of another module may be given it."""
        call = around if isinstance(around, ast.Call) else self.uses.parents[id(around)]
        if not isinstance(call, ast.Call):
            raise changed(name, node)
        called = last_name(call.func)
        origin = self.uses.origin(call.func)
        if called in self.uses.defined:
            return self._parameters(call, around, node, new, name)
        if isinstance(call.func, ast.Name) and not origin:
            if called in _READ:
                return []
            is_own = self.uses.bindings(self.uses.tree.body, called)
            if called in _COPIED and not is_own and not self._calls_back(call.keywords):
                return self._held(call, max(new, 1), name)
        elif origin == "typing.cast":
            return self._held(call, new, name)
        elif origin == "copy.copy":
            return self._held(call, max(new, 1), name)
        elif self._is_elsewhere(call, origin):
            if isinstance(call.func, ast.Attribute) and called in _TAKING and not origin:
                return _taken(call.func.value, max(new, 1), name)
            return []
        raise changed(name, node)

    def _is_elsewhere(self, call: ast.Call, origin: str) -> bool:
        """Return whether the call is one of another module, and calls nothing of this file."""
        if self._calls_back([*call.args, *call.keywords]):
            return False
        root: ast.expr = call.func
        while isinstance(root, ast.Attribute | ast.Subscript | ast.Call | ast.Await):
            root = root.func if isinstance(root, ast.Call) else root.value
        if not isinstance(root, ast.Name):
            return False
        module = self.uses.imported.get(root.id, "").partition(".")[0]
        if module in sys.stdlib_module_names:
            return module in _STANDARD or origin == "copy.deepcopy"
        return bool(module) or root.id in self.uses.bound

    def _operands(self, new: int, name: str, node: ast.expr) -> Held:
        """Return the parameters of this file's own operators, which may be given the value."""
        held: Held = []
        for made in (made for operator in _OPERATORS for made in self.uses.defined[operator]):
            given = made.args.args[1:] if isinstance(made, FUNCTIONS) else []
            if not given:
                raise changed(name, node)
            held += [(given[0].arg, new), (given[0].arg, max(new - 1, 0))]
        return held

    def _calls_back(self, arguments: Iterable[ast.AST]) -> bool:
        """Return whether one of a call's arguments is a function of this file."""
        inside = [node for argument in arguments for node in ast.walk(argument)]
        return any(
            isinstance(n, ast.Lambda) or getattr(n, "id", "") in self.uses.defined for n in inside
        )

    def _parameters(
        self, call: ast.Call, around: ast.AST, node: ast.expr, new: int, name: str
    ) -> Held:
        """Return the parameters that a function of the file takes the argument by."""
        found: Held = []
        for made in self.uses.defined[last_name(call.func)]:
            if isinstance(made, ast.ClassDef):
                inits = [part for part in made.body if getattr(part, "name", "") == "__init__"]
                made = inits[0] if inits else made
            if not isinstance(made, FUNCTIONS) or not self.uses.leaves_alone(made.decorator_list):
                raise changed(name, node)
            given = [argument.arg for argument in (*made.args.posonlyargs, *made.args.args)]
            if isinstance(self.uses.parents[id(made)], ast.ClassDef):
                given = given[1:]
            known = {*given, *(argument.arg for argument in made.args.kwonlyargs)}
            if isinstance(around, ast.keyword):
                taken = around.arg
            else:
                at = call.args.index(node)
                taken = given[at] if at < len(given) else None
            if taken not in known or any(isinstance(part, ast.Starred) for part in call.args):
                raise changed(name, node)
            found.append((str(taken), new))
        return found


def _taken(target: ast.expr, new: int, name: str) -> Held:
    """Return the names of an assignment's target, or of a loop's."""
    if isinstance(target, ast.Name | ast.Attribute):
        return [(last_name(target), new)]
    if isinstance(target, ast.Tuple | ast.List):
        return [held for part in target.elts for held in _taken(part, max(new - 1, 0), name)]
    raise changed(name, target)
