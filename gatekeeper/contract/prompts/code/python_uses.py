"""Allows the uses of a constant that leave it as it is, and refuses every other use in its file.

A constant is read only if each use of its name, of the class around it and of the module's own
names is known to be harmless. A text cannot be changed, so it may be read anywhere. A list of
messages or a template can: `python_flow.py` follows it wherever the file hands it on. What code of
another file does is not seen.
"""

from __future__ import annotations

import ast
import builtins
import sys
import types
from collections import defaultdict
from collections.abc import Collection, Sequence

from gatekeeper.contract.prompts.code.python_scopes import FUNCTIONS, binds, line_of, scope_nodes
from gatekeeper.contract.prompts.code.written import MOVE, CodeFault


def words(text: str) -> frozenset[str]:
    """Return the words of a text."""
    return frozenset(text.split())


_SPECIAL = {
    name
    for thing in (builtins, sys, type, dict, types.FunctionType, types.MethodType, types.CellType)
    for name in dir(thing)
    if name.startswith("__")
} | words("ag_frame cr_frame f_back f_builtins f_globals f_locals gi_frame tb_frame")
_HARMLESS = words(
    "__all__ __annotations__ __bool__ __call__ __contains__ __delattr__ __dict__ __doc__ __eq__"
    " __file__ __format__ __ge__ __getattr__ __getitem__ __gt__ __hash__ __init__ __iter__ __le__"
    " __init_subclass__ __len__ __lt__ __main__ __module__ __name__ __ne__ __new__ __next__"
    " __package__ __qualname__ __repr__ __reversed__ __setattr__ __str__"
)
"""The special names through which nothing of a file can be changed, or that have a rule here."""
_BUILTINS = ("__builtins__", "__import__", "breakpoint", "eval", "exec", "globals")
_MODULES = {
    "sys": words(
        "argv base_prefix byteorder exc_info executable exit flags float_info getdefaultencoding"
        " getrecursionlimit getsizeof hexversion implementation intern maxsize path platform prefix"
        " setrecursionlimit stderr stdin stdlib_module_names stdout version version_info"
    ),
    "importlib": words("metadata resources"),
    "inspect": words(
        "Parameter Signature cleandoc getdoc getfile getsource isabstract isasyncgen isawaitable"
        " isclass iscoroutine iscoroutinefunction isfunction isgenerator ismethod signature"
    ),
    "gc": words("collect"),
    "operator": words("add and_ contains eq getitem itemgetter mul ne not_ or_ sub truediv"),
    **dict.fromkeys(words("__main__ builtins code codeop ctypes imp runpy"), words("")),
}
"""The members that a file may use of the modules that lead to the names of any file."""
_REACHING = ("builtins", "ctypes", "gc", "importlib", "inspect", "runpy", "sys")
_ENUM_HOOKS = words("__new__ __init__ _generate_next_value_ __str__ __format__ value _value_")
"""What a class of constants may define that decides what a member stands for."""
_SETTERS = ("setattr", "delattr", "__setattr__", "__delattr__")
_TESTS = (ast.Compare, ast.BoolOp, ast.UnaryOp, ast.If, ast.While, ast.IfExp, ast.Assert)
_INSPECTED = ("isinstance", "issubclass")


class Uses:
    """Every use of a name in one file. Each method raises CodeFault at a use that may change it."""

    def __init__(self, tree: ast.Module) -> None:
        self.tree = tree
        self.nodes = list(ast.walk(tree))
        self.stars: list[ast.AST] = []
        self.parents = {id(p): node for node in self.nodes for p in ast.iter_child_nodes(node)}
        self.named: dict[str, list[ast.Name | ast.Attribute]] = defaultdict(list)
        self.defined: dict[str, list[ast.AST]] = defaultdict(list)
        self._modules: set[str] = set()
        self.imported: dict[str, str] = {}
        self._bindings: dict[tuple[int, str], list[ast.AST]] = {}
        self._done: set[tuple[str, int]] = set()
        self.bound = {n.arg for n in self.nodes if isinstance(n, ast.arg)}
        for node in self.nodes:
            if isinstance(node, ast.Name | ast.Attribute):
                self.named[last_name(node)].append(node)
                if not isinstance(node.ctx, ast.Load):
                    self.bound.add(last_name(node))
                if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
                    self.defined[node.attr].append(node)
            elif isinstance(node, ast.keyword) and isinstance(node.value, ast.Lambda):
                self.defined[node.arg or ""].append(node)
            elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Lambda | ast.Name):
                for target in node.targets:
                    self.defined[last_name(target)].append(node)
            elif isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                self.defined[node.name].append(node)
            elif isinstance(node, ast.Import):
                for alias in node.names:
                    self._modules.add(alias.asname or alias.name.partition(".")[0])
                    self._import(alias, alias.name if alias.asname else alias.name.split(".")[0])
            elif isinstance(node, ast.ImportFrom):
                if node.names[0].name == "*":
                    self.stars.append(node)
                for alias in node.names:
                    self._import(alias, f"{'.' * node.level}{node.module or ''}.{alias.name}")

    def bindings(self, body: Sequence[ast.stmt], name: str) -> list[ast.AST]:
        """Return what gives the name a value in this scope."""
        known = (id(body), name)
        if known not in self._bindings:
            found = [node for node in scope_nodes(body) if binds(node, name)]
            self._bindings[known] = [node for node in found if not self._is_only_typed(node)]
        return self._bindings[known]

    def _is_only_typed(self, node: ast.AST) -> bool:
        around = self.parents[id(node)]
        return isinstance(around, ast.AnnAssign) and around.value is None

    def origin(self, called: ast.expr) -> str:
        """Return what the expression names, from the module that it is imported from, such as
        `textwrap.dedent`; empty if it is not imported once, or if the file replaces it."""
        names: list[str] = []
        while isinstance(called, ast.Attribute):
            names.insert(0, called.attr)
            called = called.value
        if not isinstance(called, ast.Name) or called.id not in self.imported:
            return ""
        bound = self.bindings(self.tree.body, called.id)
        if len(bound) != 1 or not isinstance(bound[0], ast.alias):
            return ""
        for name in (called.id, *names):
            self.refuse_stores(name)
        return ".".join([self.imported[called.id], *names])

    def refuse_reflection(self) -> None:
        """Refuse code that can reach the names of its own module other than by writing them."""
        for node in self.nodes:
            shown = self._reflects(node)
            if shown:
                what = f"`{shown}` may change any name of this file while the program runs"
                raise CodeFault(what, MOVE, line_of(node))

    def _reflects(self, node: ast.AST) -> str:
        parent = self.parents.get(id(node))
        if isinstance(node, ast.Import | ast.ImportFrom):
            return self._imports_reflection(node)
        if isinstance(node, ast.Constant):
            named = isinstance(node.value, str) and _is_special(node.value)
            return str(node.value) if named else ""
        if isinstance(node, ast.Attribute):
            return "" if self._is_harmless_member(node, parent) else f".{node.attr}"
        if not isinstance(node, ast.Name) or not isinstance(node.ctx, ast.Load):
            return ""
        called = isinstance(parent, ast.Call) and parent.func is node
        if node.id in _BUILTINS or (node.id in _SETTERS and not called):
            return node.id
        if node.id in ("locals", "vars") and not self._is_local_call(node, parent):
            return node.id
        if node.id == "getattr" and not self._is_plain_getattr(parent):
            return node.id
        is_kept = isinstance(parent, ast.Assign) and self.imported.get(node.id) not in _MODULES
        harmless = is_kept or isinstance(parent, (ast.Attribute, *_TESTS))
        return node.id if node.id in self._modules and not harmless else ""

    def _imports_reflection(self, node: ast.Import | ast.ImportFrom) -> str:
        for alias in node.names:
            path = alias.name if isinstance(node, ast.Import) else f"{node.module}.{alias.name}"
            root, _, rest = path.partition(".")
            member = rest.partition(".")[0]
            wanted = _MODULES.get(root) if not getattr(node, "level", 0) else None
            if path.endswith("mock") or ".mock." in path or (rest and alias.name in _REACHING):
                return path
            if _is_special(alias.name) or alias.name == "__dict__":
                return path
            if wanted is not None and (not wanted or member) and member not in wanted:
                return path
        return ""

    def _is_harmless_member(self, node: ast.Attribute, parent: ast.AST | None) -> bool:
        owner = node.value.id if isinstance(node.value, ast.Name) else ""
        wanted = _MODULES.get(self.imported.get(owner, ""))
        if wanted is not None and node.attr not in wanted:
            return False
        if owner in self.imported and node.attr in _REACHING:
            return False
        if node.attr == "__dict__":
            return owner == "self"
        if node.attr == "__class__":
            is_called = isinstance(parent, ast.Call) and parent.func is node
            return is_called or isinstance(parent, ast.Attribute | ast.Compare)
        if node.attr in _SETTERS:
            return isinstance(parent, ast.Call) and parent.func is node
        return not _is_special(node.attr)

    def _is_local_call(self, node: ast.Name, parent: ast.AST | None) -> bool:
        """Return whether the call gives the variables of a function, or of an object."""
        if not isinstance(parent, ast.Call) or parent.func is not node:
            return False
        if parent.args:
            given, use = parent.args[0], self.parents[id(parent)]
            if isinstance(use, ast.Attribute) and use.attr not in (
                "get",
                "items",
                "keys",
                "values",
            ):
                return False
            while isinstance(given, ast.Attribute):
                given = given.value
            return isinstance(given, ast.Name) and given.id not in self.imported
        around = self.enclosing(node, (*FUNCTIONS, ast.ClassDef, ast.Lambda))
        return isinstance(around, FUNCTIONS)

    def _is_plain_getattr(self, parent: ast.AST | None) -> bool:
        if not isinstance(parent, ast.Call) or len(parent.args) < 2:
            return False
        owner, key = parent.args[:2]
        while isinstance(owner, ast.Attribute):
            owner = owner.value
        is_own = not isinstance(owner, ast.Name) or owner.id in self.defined
        return isinstance(key, ast.Constant) or not is_own

    def refuse_stores(self, name: str, around: ast.ClassDef | None = None) -> None:
        """Refuse code that gives the name of the module, or of the class around it, another value.

        The scope's own assignments are counted elsewhere."""
        if (name, id(around)) in self._done:
            return
        for node in self.nodes:
            found = isinstance(node, ast.Global) and name in node.names
            if isinstance(node, ast.Attribute) and node.attr == name:
                found = not isinstance(node.ctx, ast.Load)
                found = found and not self._is_other_self(node.value, around)
            elif isinstance(node, ast.Call) and last_name(node.func) in _SETTERS:
                found = self._sets(node, name, around)
            elif isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
                key = node.slice.value if isinstance(node.slice, ast.Constant) else None
                found = isinstance(node.value, ast.Call) and key == name
            if found:
                raise changed(name, node)
        self._done.add((name, id(around)))

    def _is_other_self(self, owner: ast.expr, around: ast.ClassDef | None) -> bool:
        """Return whether the expression is the object of a method of an unrelated class."""
        if isinstance(owner, ast.Call) and last_name(owner.func) == "super":
            method = self.enclosing(owner, FUNCTIONS)
        elif isinstance(owner, ast.Name):
            method = self.enclosing(owner, (*FUNCTIONS, ast.Lambda))
            given = method.args.args if isinstance(method, FUNCTIONS) else []
            if not given or given[0].arg != owner.id:
                return False
        else:
            return False
        made = self.parents.get(id(method))
        if not isinstance(made, ast.ClassDef) or not isinstance(method, FUNCTIONS):
            return False
        if around is None:
            return not self._is_unbound(method.name)
        own = {id(node) for node in ast.walk(around)} | self._ancestors(around)
        return id(made) not in own and not self._is_unbound(method.name)

    def _is_unbound(self, name: str) -> bool:
        """Return whether the file takes a method of that name from a class, and not from an
        object: its `self` may then be anything."""
        for node in self.named[name]:
            owner = node.value if isinstance(node, ast.Attribute) else None
            classes = self.defined[last_name(owner)] if owner is not None else []
            is_type = isinstance(owner, ast.Call) and last_name(owner.func) == "type"
            if is_type or last_name(owner or node) == "__class__":
                return True
            if any(isinstance(made, ast.ClassDef) for made in classes):
                return True
        return False

    def _sets(self, call: ast.Call, name: str, around: ast.ClassDef | None) -> bool:
        """Return whether `setattr` or a relative of it may give the name another value."""
        func, args = call.func, call.args
        is_bound = isinstance(func, ast.Attribute) and last_name(func.value) not in (
            "object",
            "type",
        )
        key = args[0 if is_bound else 1] if len(args) > 1 - is_bound else None
        starred = any(isinstance(argument, ast.Starred) for argument in args)
        if isinstance(key, ast.Constant) and key.value != name and not starred:
            return False
        owner = (
            func.value
            if is_bound and isinstance(func, ast.Attribute)
            else args[0]
            if args
            else None
        )
        return owner is None or not self._is_other_self(owner, around)

    def refuse_class_uses(self, classes: Sequence[ast.ClassDef]) -> None:
        """Refuse a use of the classes through which their members may change."""
        known = {node.name: node for node in self.nodes if isinstance(node, ast.ClassDef)}
        own = {id(node) for found in classes for node in ast.walk(found)}
        harmless = {id(part) for node in self.nodes for part in _annotations(node)}
        for found in classes:
            self._refuse_making(found, known)
        for name in {*(found.name for found in classes), "cls"} if classes else ():
            for node in self.named[name]:
                if id(node) in harmless or (name == "cls" and id(node) not in own):
                    continue
                if not self._is_class_read(node):
                    what = f"this use of the class `{name}` may change the values of its members"
                    fix = f"use only the members of the class, as in `{name}.MEMBER`, or move the"
                    raise CodeFault(what, f"{fix} text out of the class", node.lineno)

    def _refuse_making(self, made: ast.ClassDef, known: dict[str, ast.ClassDef]) -> None:
        """Refuse what runs while Python makes the class, and may change it."""
        waiting, done, hooks = [made], set[str](), {"__prepare__", "__getattribute__"}
        while waiting:
            found = waiting.pop()
            if found.name in done:
                continue
            done.add(found.name)
            bases = [last_name(getattr(base, "value", base)) for base in found.bases]
            bases += [last_name(base) for base in found.bases]
            if any(self.origin(base).startswith("enum.") for base in found.bases):
                hooks |= _ENUM_HOOKS
                self.refuse_stores("_value_", found)
            waiting += [known[base] for base in bases if base in known]
            if found is not made:
                hooks.add("__init_subclass__")
            own = any(hooks & {*_defines(part)} for name in done for part in known[name].body)
            unknown = any(not self._is_known_base(base, known) for base in found.bases)
            if found.decorator_list or found.keywords or own or unknown:
                what = f"a decorator, a metaclass or a base class may change `{made.name}`"
                fix = "move the text to a plain class, or out of the class"
                raise CodeFault(what, fix, found.lineno)

    def _is_known_base(self, base: ast.expr, known: dict[str, ast.ClassDef]) -> bool:
        """Return whether a base is a class of this file, of another module or of Python."""
        while isinstance(base, ast.Subscript | ast.Attribute):
            base = base.value
        if not isinstance(base, ast.Name):
            return False
        stored = any(not isinstance(node.ctx, ast.Load) for node in self.named[base.id])
        return not stored and (base.id in known or base.id not in self.defined)

    def _ancestors(self, made: ast.ClassDef) -> set[int]:
        """Return the identities of a class and of the classes of the file that it inherits from."""
        waiting, found = [made], set[int]()
        while waiting:
            node = waiting.pop()
            if id(node) not in found:
                found.add(id(node))
                names = {last_name(part) for base in node.bases for part in ast.walk(base)}
                waiting += [
                    k for n in names for k in self.defined[n] if isinstance(k, ast.ClassDef)
                ]
        return found

    def _is_class_read(self, node: ast.Name | ast.Attribute) -> bool:
        parent = self.parents[id(node)]
        if not isinstance(node.ctx, ast.Load):
            return False
        if isinstance(parent, ast.Attribute):
            return not _is_special(parent.attr) and parent.attr not in (*_SETTERS, "__dict__")
        if isinstance(parent, ast.keyword):
            parent = self.parents[id(parent)]
        if isinstance(parent, ast.Call) and parent.func is not node:
            if getattr(parent.func, "id", "") in (*_INSPECTED, "list"):
                return True
            return bool(self.origin(parent.func)) and last_name(parent.func) not in self.defined
        if isinstance(parent, ast.Call):
            return True
        if isinstance(parent, ast.Subscript):
            return parent.value is node and isinstance(parent.ctx, ast.Load)
        if isinstance(parent, ast.comprehension | ast.For):
            return parent.iter is node
        return isinstance(parent, ast.ClassDef) and node in parent.bases

    def leaves_alone(self, decorators: Sequence[ast.expr]) -> bool:
        """Return whether no decorator is one of this file."""
        names = [part for found in decorators for part in ast.walk(found)]
        known = {"classmethod", "staticmethod", *self.imported}
        return all(
            part.id in known and part.id not in self.bound | self.defined.keys()
            for part in names
            if isinstance(part, ast.Name)
        ) and not any(isinstance(part, ast.Lambda) for part in names)

    def enclosing(self, node: ast.AST, kinds: tuple[type[ast.AST], ...]) -> ast.AST | None:
        """Return the innermost node of these kinds around another."""
        found = self.parents.get(id(node))
        while found is not None and not isinstance(found, kinds):
            found = self.parents.get(id(found))
        return found

    def _import(self, alias: ast.alias, path: str) -> None:
        self.imported[alias.asname or alias.name.partition(".")[0]] = path


def _defines(statement: ast.stmt) -> Collection[str]:
    targets = getattr(statement, "targets", [getattr(statement, "target", statement)])
    return {str(getattr(statement, "name", "")), *map(last_name, targets)}


def _annotations(node: ast.AST) -> Collection[ast.AST]:
    """Return the nodes of the types that a node declares."""
    types = (getattr(node, "annotation", None), getattr(node, "returns", None))
    return [part for found in types if isinstance(found, ast.AST) for part in ast.walk(found)]


def last_name(node: ast.AST) -> str:
    """Return a name, or the last name of a member; empty for anything else."""
    return str(getattr(node, "id", getattr(node, "attr", "")))


def _is_special(name: str) -> bool:
    return name in _SPECIAL and name not in _HARMLESS


def changed(name: str, node: ast.AST) -> CodeFault:
    """Return the refusal of a use of the name."""
    what = f"this use of `{name}` may change the prompt while the program runs"
    return CodeFault(what, MOVE, line_of(node))
