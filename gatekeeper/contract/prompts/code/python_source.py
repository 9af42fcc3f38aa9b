"""Parses a Python file with `ast` and lowers it to the tree that is read: nothing is run."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Callable, Iterator
from typing import Any

from gatekeeper.contract.prompts.code.names import Names
from gatekeeper.contract.prompts.code.python_lines import literal_lines
from gatekeeper.contract.prompts.code.python_rules import PythonRules
from gatekeeper.contract.prompts.code.tree import Described, Node, Parts, Plain, build, rows
from gatekeeper.contract.prompts.code.written import CodeFault, Written, kept_if_small

_CODING = re.compile(r"[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
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
    Compare                       compare
    Await                         through
    Yield,YieldFrom               return:yield
    Return                        return
    Expr                          end
    UnaryOp                       end operand=value
    Import,ImportFrom             import
    Global                        global
    """
)
_OTHER, _STATEMENT = rows("other other\nstatement statement").values()
_DEDENTING = {"textwrap.dedent": textwrap.dedent, "inspect.cleandoc": inspect.cleandoc}
_STRIPS = {"strip": (True, True), "lstrip": (True, False), "rstrip": (False, True)}


@kept_if_small
def python_names(source: str, path: str) -> Names:
    """Parse a file once for all of its constants, at base and at head. Raises CodeFault."""
    return Names(build(_parse(source), _describe, _place_of), _Python(source), path)


def _parse(source: str) -> ast.Module:
    for number, line in enumerate(source.split("\n")[:2], start=1):
        coding = _CODING.match(line)
        if coding and coding[1].lower().replace("_", "-") not in ("utf-8", "utf8"):
            what = f"the file declares the encoding {coding[1][:50]}"
            raise CodeFault(what, "save the file as UTF-8, and remove this declaration", number)
    try:
        return ast.parse(source)
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
        first = alias.name.split(".")[0]
        bound, path, whole = (
            alias.asname or first,
            alias.name if alias.asname else first,
            alias.name,
        )
    else:
        module = "." * node.level + (node.module or "")
        whole = path = f"{module}.{alias.name}" if node.module else module + alias.name
        bound = alias.asname or alias.name
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


class _Python(PythonRules):
    """Reads what only Python writes as it does: literals, and calls that take blanks away."""

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
        lines = literal_lines(self._segment(node.source), node.line)
        if len(lines) == len(found.lines):
            found.lines = list(lines)
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
            left, right = _STRIPS[called.text]
            return value(called.parts[0]).stripped(left=left, right=right, line=call.line)
        dedent = _DEDENTING.get(names.origin(called))
        if dedent is None or len(given) != 1 or given[0].kind in ("keyword", "spread"):
            return None
        inner = value(given[0])
        text = inner.only_text()
        if text is None:
            what = "the result of `dedent` depends on the values that fill this f-string"
            fix = "write the text without indentation, and remove `dedent`"
            raise CodeFault(what, fix, call.line)
        inner.parts = [dedent(text)]
        return inner

    def _segment(self, node: Any) -> str:
        last = getattr(node, "end_lineno", None) or node.lineno
        lines = [*self.lines[node.lineno - 1 : last]]
        lines[-1] = lines[-1][: node.end_col_offset]
        lines[0] = lines[0][node.col_offset :]
        return b"\n".join(lines).decode(errors="replace")
