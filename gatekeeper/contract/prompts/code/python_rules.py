"""What a Python file may do with its constants, its classes and its own names."""

from __future__ import annotations

import builtins
import sys
import types
from collections.abc import Sequence

from gatekeeper.contract.prompts.code.names import Names, may_change_any, words
from gatekeeper.contract.prompts.code.tree import Node
from gatekeeper.contract.prompts.code.written import CodeFault

_LIBRARY = words(
    "__future__ abc argparse array ast asyncio atexit base64 binascii bisect calendar cmath"
    " collections colorsys concurrent configparser contextlib contextvars copy csv dataclasses"
    " datetime decimal difflib email enum errno fnmatch fractions functools getopt getpass glob"
    " gzip hashlib heapq hmac html http importlib inspect io ipaddress itertools json keyword"
    " locale logging math mimetypes multiprocessing numbers operator os pathlib platform pprint"
    " queue random re secrets select shlex shutil signal socket socketserver sqlite3 ssl stat"
    " statistics string subprocess sys tarfile tempfile textwrap threading time tokenize tomllib"
    " traceback types typing unicodedata urllib uuid warnings weakref xml zipfile zlib zoneinfo"
)
"""The modules of Python's library that run no text as code and find nothing by its name. A file
that imports another one is refused."""
_ONLY = {
    "ast": words("dump literal_eval parse unparse walk"),
    "importlib": words("metadata resources"),
    "inspect": words(
        "Parameter Signature cleandoc getdoc getfile getsource isabstract isasyncgen isawaitable"
        " isclass iscoroutine iscoroutinefunction isfunction isgenerator ismethod signature"
    ),
    "operator": words("add and_ contains eq getitem itemgetter mul ne not_ or_ sub truediv"),
    "sys": words(
        "argv base_prefix byteorder exc_info executable exit flags float_info getdefaultencoding"
        " getrecursionlimit getsizeof hexversion implementation intern maxsize path platform prefix"
        " setrecursionlimit stderr stdin stdlib_module_names stdout version version_info"
    ),
}
"""The members that do not either, of modules of which others do."""
_NEVER = words(
    "EntryPoint EntryPoints ForwardRef Formatter FunctionType config connection entry_points"
    " get_type_hints managers mock reduction"
)
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
_BUILTINS = words("__builtins__ __import__ breakpoint compile eval exec globals")
_SETTERS = words("setattr delattr __setattr__ __delattr__")
_CLASS_HOOKS = words("__prepare__ __getattribute__")
_ENUM_HOOKS = words("__new__ __init__ _generate_next_value_ __str__ __format__ value _value_")
"""What a class of constants may define that decides what a member stands for."""
_MAKES_CLASS = words("__new__ __init_subclass__ __class_getitem__")
_OPERATORS = words(
    "__add__ __contains__ __eq__ __ge__ __gt__ __le__ __lt__ __ne__ __or__ __radd__ __ror__"
)
_PASSED_LISTS = words("asyncio json logging pprint")
"""The modules of the library whose functions may be given a list of messages."""


class PythonRules:
    """The short lists of harmless uses, and what else may change a constant of Python."""

    end = words(
        "bool id isinstance issubclass len print range repr str type copy.deepcopy"
        " .abatch .ainvoke .astream .batch .count .format .format_messages .format_prompt .index"
        " .invoke .pretty_print .pretty_repr .stream"
    )
    copy = words(
        "dict enumerate iter list reversed sorted tuple zip copy.copy"
        " .copy .items .keys .partial .values"
    )
    item = words(".get")
    same = words("typing.cast")
    fresh = words(".append .clear .extend .insert .pop .remove .reverse .sort")
    taking = words("add append appendleft extend insert put setdefault update")
    each = words("")
    keys = words("content role")
    has_members = False

    def refuse_file(self, names: Names) -> None:
        """Refuse code that can reach the names of its own module other than by writing them."""
        modules = {n.text for n in names.nodes if n.kind == "alias" and n.get("module")}
        for node in names.nodes:
            shown = self._reflects(names, node, modules)
            if shown:
                raise may_change_any(shown, node)

    def _reflects(self, names: Names, node: Node, modules: set[str]) -> str:
        kind, text = node.kind, node.text
        if kind == "alias":
            return self._import_reflects(names, node)
        if kind == "text":
            return text if _is_special(text) or _is_code(node) else ""
        if kind == "member":
            return "" if self._is_harmless_member(names, node) else f".{text}"
        if kind != "name" or node.is_target():
            return ""
        around = node.around
        called = around.kind == "call" and node.role == "function"
        if (text in _BUILTINS and text not in names.imported) or (text in _SETTERS and not called):
            return text
        if text in ("locals", "vars") and not (called and self._is_local(names, around)):
            return text
        if text == "getattr" and not (called and self._is_plain_getattr(names, around)):
            return text
        if text not in modules or around.kind in ("member", "compare", "either", "end"):
            return ""
        is_kept = around.kind == "store" and names.imported[text].partition(".")[0] not in _LIBRARY
        return "" if is_kept or node.role == "test" else text

    def _import_reflects(self, names: Names, alias: Node) -> str:
        whole = alias.parts[1].text
        module = whole.lstrip(".")
        steps, depth = module.split("."), len(whole) - len(module)
        path = "/".join([*([".", *[".."] * (depth - 1)] if depth else []), *steps])
        if names.is_itself(path) or names.is_itself(path.rpartition("/")[0]):
            return whole
        is_library = not depth and steps[0] in sys.stdlib_module_names
        allowed = _is_library(steps) if is_library else "mock" not in steps
        is_special = _is_special(steps[-1]) or steps[-1] == "__dict__"
        return "" if allowed and not is_special and not {*steps[1:]} & _ONLY.keys() else whole

    def _is_harmless_member(self, names: Names, node: Node) -> bool:
        owner, around = node.parts[0].inside(), node.around
        first, *rest = node.dotted() or [""]
        path = names.imported.get(first, "")
        steps = [*path.split("."), *rest]
        is_library = steps[0] in sys.stdlib_module_names and not _is_library(steps)
        if path and (is_library or node.text in _ONLY):
            return False
        called = around.kind == "call" and node.role == "function"
        if node.text == "__dict__":
            return owner.text == "self"
        if node.text == "__class__":
            return called or around.kind in ("member", "compare")
        return called if node.text in _SETTERS else not _is_special(node.text)

    def _is_local(self, names: Names, call: Node) -> bool:
        """Return whether the call reads the variables of a function, or of an object."""
        given, use = call.all("argument"), call.around
        if not given:
            return call.scope is not None and call.scope.kind == "function"
        reads = use.kind != "member" or use.text in ("get", "items", "keys", "values")
        return reads and given[0].dotted()[:1] not in ([], *([name] for name in names.imported))

    def _is_plain_getattr(self, names: Names, call: Node) -> bool:
        given = call.all("argument")
        owner = given[0].dotted() if given else []
        is_other = bool(owner) and owner[0] not in names.defined
        return len(given) > 1 and (given[1].kind == "text" or is_other)

    def refuse_declaration(self, names: Names, bound: Node, name: str) -> None:
        """Refuse a class that a decorator, a metaclass or a base may change."""
        if bound.kind != "class":
            return
        made = self._with_bases(names, bound)
        bases = [base for each in made for base in each.all("base")]
        hooks = _CLASS_HOOKS
        if any(names.origin(base).startswith("enum.") for base in bases):
            hooks |= _ENUM_HOOKS
            names.refuse_changes("_value_", bound)
        for each in made:
            body = each.all("body")
            defines = {n.text for part in body for n in (part, *part.all("target"))}
            own = hooks | {"__init_subclass__"} if each is not bound else hooks
            known = all(self._is_known_base(names, base) for base in each.all("base"))
            if each.get("decorator") or own & defines or not known:
                what = f"a decorator, a metaclass or a base class may change `{name}`"
                fix = "move the text to a plain class, or out of the class"
                raise CodeFault(what, fix, each.line)

    def _with_bases(self, names: Names, made: Node) -> list[Node]:
        """Return a class and the classes of the file that it inherits from."""
        found = [made]
        for each in found:
            parts = [part for base in each.all("base") for part in base.walk()]
            bases = [n for part in parts for n in names.defined.get(part.text, [])]
            found += [n for n in bases if n.kind == "class" and n not in found]
        return found

    def _is_known_base(self, names: Names, base: Node) -> bool:
        """Return whether a base is a class of this file, of another module or of Python."""
        root, made = base.root(), names.defined.get(base.root().text, [])
        called = root.kind != "name" or any(node.kind == "call" for node in base.walk())
        stored = any(node.is_target() for node in names.named.get(root.text, []))
        return not (called or stored) and all(node.kind == "class" for node in made)

    def own_names(self, made: Node) -> list[Node]:
        """Return the uses of `cls` in a class."""
        found: list[Node] = []
        for method in made.walk():
            first = method.get("parameter") if method.kind == "function" else None
            target = first.parts[0].text if first is not None else ""
            makes = {part.root().text for part in method.all("decorator")} | {method.text}
            if target and (target == "cls" or makes & {"classmethod", *_MAKES_CLASS}):
                uses = [n for n in method.walk() if n.kind == "name" and n.text == target]
                found += [n for n in uses if not n.is_target()]
        return found

    def changes(self, names: Names, node: Node, name: str, around: Node | None) -> bool:
        """Return whether the node stores a member of that name, or may do so by `setattr`."""
        if node.kind == "global":
            return name in node.text.split()
        if node.kind == "member" and node.text == name and node.is_target():
            return not self._is_other_self(names, node.parts[0], around)
        if node.kind == "item" and node.is_target():
            return node.text == name and node.parts[0].kind == "call"
        if node.kind != "call" or node.parts[0].text not in _SETTERS:
            return False
        func, given = node.parts[0], node.all("argument")
        owner = func.parts[0] if func.kind == "member" else None
        is_bound = owner is not None and owner.text not in ("object", "type")
        key = given[1 - is_bound] if len(given) > 1 - is_bound else None
        starred = any(argument.kind == "spread" for argument in given)
        if key is not None and key.kind == "text" and key.text != name and not starred:
            return False
        owner = owner if is_bound else given[0] if given else None
        return owner is None or not self._is_other_self(names, owner, around)

    def _is_other_self(self, names: Names, owner: Node, around: Node | None) -> bool:
        """Return whether the expression is the object of a method of an unrelated class, which no
        code calls with something else in its place."""
        method = owner.enclosing("function")
        first = method.get("parameter") if method is not None else None
        made = method.parent if method is not None else None
        is_super = owner.kind == "call" and owner.parts[0].text == "super"
        is_self = first is not None and [first.parts[0].text] == owner.dotted()
        if method is None or made is None or made.kind != "class" or not (is_self or is_super):
            return False
        for use in names.named.get(method.text, []):
            root = use.parts[0].inside() if use.kind == "member" else use
            called = root.parts[0].text if root.kind == "call" else root.text
            if called in ("type", "__class__") or any(
                n.kind == "class" for n in names.defined.get(root.text, [])
            ):
                return False
        return around is None or made not in [*around.walk(), *self._with_bases(names, around)]

    def is_elsewhere(self, names: Names, call: Node) -> bool:
        """Return whether the function is one of another module."""
        root = call.parts[0].root()
        if root.kind != "name":
            return False
        module = names.imported.get(root.text, "").partition(".")[0]
        if module in sys.stdlib_module_names:
            return module in _PASSED_LISTS
        return bool(module) or root.text in names.bound

    def has_operators(self, names: Names) -> bool:
        """Return whether a class of this file has an operator that is given the other operand."""
        return any(names.defined.get(name) for name in _OPERATORS)


def _is_library(steps: Sequence[str]) -> bool:
    """Return whether a file may use this member of a module of Python's library."""
    first, *rest = steps
    allowed = not rest or rest[0] in _ONLY.get(first, rest)
    hidden = any(step in _NEVER or (step[0] == "_" and step[:2] != "__") for step in rest if step)
    return first in _LIBRARY and allowed and not hidden


def _is_special(name: str) -> bool:
    return name in _SPECIAL and name not in _HARMLESS


def _is_code(node: Node) -> bool:
    """Return whether a text stands where a type does, and calls something when it is read."""
    above: Node | None = node
    while above is not None and above.role != "type":
        above = above.parent if above.kind not in ("function", "class", "module") else None
    item = node.enclosing("item")
    literal = item is not None and item.parts[0].text in ("Annotated", "Literal")
    return above is not None and not literal and bool({"(", "="} & {*node.text})
