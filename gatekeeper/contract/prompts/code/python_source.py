"""Parses a Python file with `ast` and lowers it to the tree that is read: nothing is run."""

from __future__ import annotations

import ast
import inspect
import re
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any

from gatekeeper.contract.prompts.code.names import Names, changed, may_change_any
from gatekeeper.contract.prompts.code.tree import Described, Node, Parts, Plain, build, rows
from gatekeeper.contract.prompts.code.written import CodeFault, Written
from gatekeeper.contract.values.unique_name import words

_STANDARD = sys.stdlib_module_names
_NAMED_AFTER_MODULES = words("getLogger get_logger Flask")
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
    "inspect": words("cleandoc getdoc isawaitable isclass iscoroutinefunction isfunction"),
    "operator": words("itemgetter"),
    "sys": words(
        "argv executable exit maxsize path platform stderr stdin stdout version version_info"
    ),
}
"""The members that do not either, of modules of which others do."""
_NEVER = words(
    "EntryPoint EntryPoints ForwardRef Formatter FunctionType config connection entry_points"
    " get_type_hints managers mock reduction singledispatch singledispatchmethod"
)
_HARMLESS = words(
    "__all__ __annotations__ __bool__ __call__ __class__ __contains__ __doc__ __enter__ __eq__"
    " __exit__ __file__ __format__ __ge__ __getattr__ __getitem__ __gt__ __hash__ __init__ __iter__"
    " __le__ __len__ __lt__ __main__ __members__ __module__ __name__ __ne__ __new__ __next__"
    " __package__ __post_init__ __qualname__ __repr__ __reversed__ __str__ __version__"
)
"""The special names through which nothing of a file can be changed, or that have a rule here."""
_FRAMES = words("ag_frame cr_frame f_back f_builtins f_globals f_locals gi_frame tb_frame")
_BUILTINS = words("__builtins__ __import__ breakpoint compile eval exec globals vars")
_SETTERS = words("setattr delattr")
_SKIPPED = (ast.expr_context, ast.operator, ast.boolop, ast.unaryop, ast.cmpop)
_ROLES = {
    **dict.fromkeys(("body", "orelse", "finalbody", "handlers", "cases"), "body"),
    **dict.fromkeys(("annotation", "returns"), "type"),
    **dict.fromkeys(("test", "ifs", "guard"), "test"),
    **dict.fromkeys(("decorator_list", "keywords"), "decorator"),
    "bases": "base",
    "value": "value",
    "target": "target",
    "targets": "target",
}
_ROWS = rows(
    """
    Module                        module
    FunctionDef,AsyncFunctionDef  function @name args=args
    Lambda                        function:=> body=result args=args
    ClassDef                      class @name
    Assign,AnnAssign,NamedExpr    store:=
    AugAssign                     store:+=
    TypeAlias                     store:bind name=target value=other
    Delete                        store:del
    For,AsyncFor                  store:for iter=value
    comprehension                 store:each iter=value
    withitem                      store:bind optional_vars=target
    arg                           parameter
    Name                          name @id
    Attribute                     member @attr value=object
    Subscript                     item value=object slice=key
    Slice                         slice
    Call                          call func=function args=argument keywords=argument
    keyword                       keyword @arg
    JoinedStr                     text values=hole
    FormattedValue                hole
    List                          list elts=item
    Tuple                         list:tuple elts=item
    ListComp,GeneratorExp         list elt=item generators=loop
    Dict                          object
    DictComp                      object generators=loop
    Starred                       spread
    BoolOp                        either values=value
    IfExp                         either body=value orelse=value
    BinOpAdd                      sum left=value right=value
    BinOpBitOr                    pipe left=value right=value
    BinOpMod                      other:% left=value
    Compare                       compare
    Await                         through
    Return                        return
    Expr                          end
    UnaryOp                       end operand=value
    Import,ImportFrom             import
    Global                        global
    """
)
_OTHER, _STATEMENT = rows("other other\nstatement statement").values()
_DEDENTING = {"textwrap.dedent": textwrap.dedent, "inspect.cleandoc": inspect.cleandoc}
_LINE_END = re.compile(r"(?<!\\)(?:\\\\)*\\n")
_LONG_QUOTES = ('"""', "'''")
_STRIPS = {"strip": str.strip, "lstrip": str.lstrip, "rstrip": str.rstrip}


@lru_cache(maxsize=2)
def python_names(source: str, path: str) -> Names:
    """Parse a file once for all of its constants, at base and at head. Raises CodeFault."""
    return Names(build(_parse(source), _describe, _place_of), Python(source), path)


def _parse(source: str) -> ast.Module:
    try:
        return ast.parse(source.encode())  # in the encoding that the file declares
    except SyntaxError as error:
        what = f"not Python: {error.msg}"
        raise CodeFault(what, "correct the file", error.lineno or 1) from None
    except (RecursionError, MemoryError, ValueError):
        raise CodeFault("the file is nested too deeply", "simplify the file", 1) from None


def _place_of(node: ast.AST) -> tuple[int, int]:
    return int(getattr(node, "lineno", 1)), int(getattr(node, "col_offset", 0))


def _fields(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """Yield the nodes right inside the node, each with its field."""
    for name, value in ast.iter_fields(node):
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, ast.AST) and not isinstance(part, _SKIPPED):
                yield name, part


def _describe(node: Any) -> Described:
    """Return the kind, the text and the parts of a node."""
    named = type(node).__name__ + (type(node.op).__name__ if isinstance(node, ast.BinOp) else "")
    row = _ROWS.get(named, _STATEMENT if isinstance(node, ast.stmt) else _OTHER)
    roles = _ROLES | row.roles
    kind = row.kind
    parts: Parts = [(roles.get(name, "other"), part) for name, part in _fields(node)]
    text = str(getattr(node, row.named_by, "") or "") if row.named_by else row.text
    bound = getattr(node, "name", None) or getattr(node, "rest", None)
    match node:
        case ast.Constant():
            return ("text", node.value, []) if isinstance(node.value, str) else ("literal", "", [])
        case ast.Subscript(slice=ast.Constant(value=str() | int() as key)):
            text = str(key)
        case ast.FormattedValue() if node.conversion not in (-1, ord("s")):
            parts = [*parts, ("other", Plain("end", "", [], node))]  # as `format_spec`
        case ast.keyword(arg=None):
            kind = "spread"
        case ast.AnnAssign(value=None):
            return "statement", "", [("type", node.annotation)]
        case ast.Global():
            text = " ".join(node.names)
        case ast.Import() | ast.ImportFrom():
            parts = [("alias", _alias(node, alias)) for alias in node.names]
        case ast.Dict():
            parts = [("item", _pair(*pair)) for pair in zip(node.keys, node.values, strict=True)]
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
            parts = [*_parameters(node.args), *(part for part in parts if part[0] != "args")]
        case ast.ExceptHandler() | ast.MatchAs() | ast.MatchStar() | ast.MatchMapping() if bound:
            kind, parts = "store", [("target", Plain("name", bound, [], node)), *parts]
        case ast.MatchClass():
            keys = [("attribute", Plain("text", key, [], node)) for key in node.kwd_attrs]
            parts = [*keys, *parts]
        case ast.arg():
            parts = [("target", Plain("name", node.arg, [], node)), *parts]
    return kind, text, parts


def _pair(key: ast.expr | None, value: ast.expr) -> Plain:
    if key is None:
        return Plain("spread", "", [("value", value)], value)
    text = key.value if isinstance(key, ast.Constant) and isinstance(key.value, str) else ""
    return Plain("pair", text, [("key", key), ("value", value)], key)


def _alias(node: ast.Import | ast.ImportFrom, alias: ast.alias) -> Plain:
    """Return the name that an import binds, with the path of what it names, and whether that is a
    whole module."""
    if isinstance(node, ast.Import):
        whole, path = alias.name, alias.name if alias.asname else alias.name.split(".")[0]
    else:
        module = "." * node.level + (node.module or "")
        whole = path = f"{module}.{alias.name}" if node.module else module + alias.name
    bound = alias.asname or alias.name.split(".")[0]
    kind = "module" if isinstance(node, ast.Import) else "member"
    parts = [("path", Plain("end", path, [], node)), (kind, Plain("end", whole, [], node))]
    return Plain("alias", bound, parts, node)


def _parameters(given: ast.arguments) -> Parts:
    positional = [*given.posonlyargs, *given.args]
    missing = [None] * (len(positional) - len(given.defaults))
    pairs = [
        *zip(positional, [*missing, *given.defaults], strict=True),
        *zip(given.kwonlyargs, given.kw_defaults, strict=True),
    ]
    found: Parts = []
    for argument, default in pairs:
        kind, text, parts = _describe(argument)
        value = [("value", default)] if default is not None else []
        found.append(("parameter", Plain(kind, text, parts + value, argument)))
    return found + [("rest", part) for part in (given.vararg, given.kwarg) if part]


class Python:
    """The short lists of harmless uses, what else may change a constant of Python, and how Python
    writes texts. For the lists, see `Names`."""

    is_python = True

    def refuse_file(self, names: Names) -> None:
        """Refuse code that can reach the names of its own module other than by writing them."""
        modules = {n.text for n in names.nodes if n.kind == "alias" and n.get("module")}
        library = {n for n in modules if names.imported[n].partition(".")[0] in _STANDARD}
        for node in names.nodes:
            shown = self._reflects(names, node, library)
            if shown:
                raise may_change_any(shown, node)

    def _reflects(self, names: Names, node: Node, library: set[str]) -> str:
        kind, text = node.kind, node.text
        if kind == "alias":
            return self._import_reflects(names, node)
        if kind == "text":
            return text if node.role == "attribute" and _is_special(text) else ""
        if kind == "member":
            path = names.imported.get((node.dotted() or [""])[0], "")
            steps = [*path.split("."), *node.dotted()[1:]]
            hidden = (steps[0] in _STANDARD and not _is_library(steps)) or text in _ONLY
            return f".{text}" if _is_special(text) or (path and hidden) else ""
        if kind != "name" or node.is_target():
            return ""
        around = node.around
        called = around.kind == "call" and node.role == "function"
        if text in _BUILTINS and text not in names.imported:
            return text
        if text == "locals":
            is_inner = node.scope is not None and node.scope.kind == "function"
            return "" if called and is_inner and not around.all("argument") else text
        if text == "getattr":
            given = around.all("argument") if called else []
            name = given[1] if len(given) > 1 else node
            return "" if name.kind == "text" and not _is_special(name.text) else text
        if text == "__name__":
            is_named = around.kind == "call" and around.parts[0].text in _NAMED_AFTER_MODULES
            return "" if is_named or around.kind == "compare" else text
        return text if text in library and around.kind != "member" else ""

    def _import_reflects(self, names: Names, alias: Node) -> str:
        whole = alias.parts[1].text
        module = whole.lstrip(".")
        steps, depth = module.split("."), len(whole) - len(module)
        path = "/".join([*([".", *[".."] * (depth - 1)] if depth else []), *steps])
        if names.is_itself(path) or names.is_itself(path.rpartition("/")[0]):
            return whole
        is_library = not depth and steps[0] in _STANDARD
        allowed = _is_library(steps) if is_library else "mock" not in steps
        hidden = _is_special(steps[-1]) or {*steps[1:]} & _ONLY.keys() or steps[-1] in _SETTERS
        return "" if allowed and not hidden else whole

    def refuse_declaration(self, names: Names, bound: Node, name: str) -> None:
        """Refuse a class that a decorator, a metaclass, a base or a use of it may change."""
        if bound.kind != "class":
            return
        origins = [names.origin(base) for base in bound.all("base")]
        is_own = any(
            part.kind == "call" or part.text in names.defined or part.text in names.bound
            for base in bound.all("base")
            for part in base.walk()
        )
        is_enum = any(origin.startswith("enum.") for origin in origins)
        if is_enum:
            names.refuse_changes("_value_", in_class=True)
        body = [part for part in bound.all("body") if part.kind != "end"]
        members = [target.text for part in body for target in (part, *part.all("target"))]
        odd = any(text == "value" or text.startswith("_") for text in members)
        if bound.get("decorator") or is_own or (is_enum and odd) or "__getattribute__" in members:
            what = f"a decorator, a metaclass or a base class may change `{name}`"
            fix = "move the text to a plain class, or out of the class"
            raise CodeFault(what, fix, bound.line)
        own = [node for node in bound.walk() if node.kind == "name" and node.text == "cls"]
        for node in own + names.named.get(name, []):
            around, role = node.around, node.role
            is_read = role in ("function", "base", "key", "type") or node.is_target()
            is_read = is_read or (role == "object" and not around.text.startswith("__"))
            called = around.parts[0].text if around.kind == "call" else ""
            if not is_read and called not in ("isinstance", "issubclass"):
                raise changed(name, node)

    def changes(self, node: Node, name: str, in_class: bool) -> bool:
        """Return whether the node stores a member of that name, or may do so by `setattr`."""
        kind, text = node.kind, node.text
        if kind == "global":
            return name in text.split()
        if kind == "member" and text == name and node.is_target():
            return in_class or node.parts[0].dotted() != ["self"]
        if kind not in ("name", "member") or text not in _SETTERS:
            return False
        given = node.around.all("argument") if node.role == "function" else []
        owner = node.parts[0] if kind == "member" else given[0] if given else node
        return in_class or owner.dotted() != ["self"]

    def __init__(self, source: str) -> None:
        self.lines = [line.encode() for line in source.split("\n")]

    def shown(self, node: Node) -> str:
        """Return the source of the node."""
        return self._segment(node.source)

    def literal(self, node: Node, add_hole: Callable[[Written, Node], None]) -> Written:
        """Return a string literal with the line of each of its lines in the file."""
        found = Written()
        for part in node.parts if isinstance(node.source, ast.JoinedStr) else [node]:
            if part.kind == "text":
                found.add_text(part.source.value, node.line)
            else:
                add_hole(found, part)
        lines = _lines_of(self._segment(node.source).split("\n"), node.line)
        if len(lines) == len(found.lines):
            found.lines = [*lines[:-1], found.lines[-1] and lines[-1]]
        return found

    def number(self, node: Node) -> str | None:
        """Return what a literal other than a text is in a text; None if that is not known."""
        try:
            value = ast.literal_eval(node.source)
        except (ValueError, TypeError, SyntaxError, MemoryError):
            return None
        return str(value) if isinstance(value, int | float | None) else None

    def cleaned(self, names: Names, call: Node, value: Callable[[Node], Written]) -> Written | None:
        """Return the text of a call that only strips or dedents; None for any other call."""
        called, given = call.parts[0], call.all("argument")
        if called.kind == "member" and called.text in _STRIPS and not given:
            return value(called.parts[0]).cleaned(_STRIPS[called.text], call.line)
        dedent = _DEDENTING.get(names.origin(called))
        if dedent is None or len(given) != 1 or given[0].kind in ("keyword", "spread"):
            return None
        return value(given[0]).cleaned(dedent, call.line)

    def _segment(self, node: Any) -> str:
        last = getattr(node, "end_lineno", None) or node.lineno
        lines = [*self.lines[node.lineno - 1 : last]]
        lines[-1] = lines[-1][: node.end_col_offset]
        lines[0] = lines[0][node.col_offset :]
        return b"\n".join(lines).decode(errors="replace")


def _lines_of(source: Sequence[str], start: int) -> list[int]:
    """Return the file's line of each line of a literal's text. Escapes other than `\\n` that make a
    line end are not known, so the count may differ."""
    lines, is_long = [start], any(quotes in source[0] for quotes in _LONG_QUOTES)
    for number, written in enumerate(source, start):
        ends = len(_LINE_END.findall(written))
        lines += [number] * ends
        if ends and written.rstrip()[-3:-1] == "\\n":
            lines[-1] += 1
        if is_long and not written.endswith("\\"):
            lines.append(number + 1)
        elif is_long and number == start:
            lines[-1] += 1
    return lines[:-1] if is_long else lines


def _is_library(steps: Sequence[str]) -> bool:
    """Return whether a file may use this member of a module of Python's library."""
    first, *rest = steps
    allowed = not rest or rest[0] in _ONLY.get(first, rest)
    hidden = any(step in _NEVER or (step[0] == "_" and step[:2] != "__") for step in rest if step)
    return first in _LIBRARY and allowed and not hidden


def _is_special(name: str) -> bool:
    is_special = name.startswith("__") and name.endswith("__") and len(name) > 4
    return name in _FRAMES or (is_special and name not in _HARMLESS)
