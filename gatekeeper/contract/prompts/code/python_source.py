"""Finds and reads a string constant of a Python file, with `ast`: nothing is run.

`NAME` is a constant of the module, `Class.NAME` one of a class. A function that does nothing but
return a text counts as well: its f-string has the variables. Whatever the program computes is
refused, and so is a name that the file assigns more than once, because the last one counts there.
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field

from gatekeeper.contract.prompts.code.langchain import (
    CLASSES,
    langchain_imports,
    messages_argument,
    template_argument,
)
from gatekeeper.contract.prompts.code.python_changes import (
    changes_name,
    refuse_class_changes,
    replaces_member,
)
from gatekeeper.contract.prompts.code.python_lines import literal_lines
from gatekeeper.contract.prompts.code.python_messages import (
    message_items,
    refuse_list_changes,
)
from gatekeeper.contract.prompts.code.python_scopes import (
    FUNCTIONS,
    binds,
    line_of,
    scope_nodes,
)
from gatekeeper.contract.prompts.code.written import CodeFault, Messages, Path, Written

_DEEPEST = 50
_MOST_NAMES = 1_000
_CODING = re.compile(r"[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
_MOVE = "write the text in a separate constant, and use that constant here or as the prompt"
_REPLACEABLE = ("from_template", "from_messages", *CLASSES)
_STRIPS = {"strip": (True, True), "lstrip": (True, False), "rstrip": (False, True)}


def read_python(source: str, name: str) -> Messages:
    """Return the messages of the constant of that name; a text is one of the user. Raises
    CodeFault, with its line."""
    return _Reading(_parse(source), source).constant(name)


def has_python_name(source: str, name: str) -> bool:
    """Return whether the file gives the name a value itself, and not only by an import."""
    body: Sequence[ast.stmt] = _parse(source).body
    for step in name.split("."):
        nodes = [node for node in scope_nodes(body) if binds(node, step)]
        nodes = [node for node in nodes if not isinstance(node, ast.alias)]
        if not nodes:
            return False
        body = nodes[0].body if isinstance(nodes[0], ast.ClassDef) else ()
    return True


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


@dataclass
class _Reading:
    """Reads constants. `own` are names that a caller gives, `classes` those around the constant."""

    tree: ast.Module
    source: str
    own: frozenset[str] = frozenset()
    classes: tuple[ast.ClassDef, ...] = ()
    _depth: int = 0
    _names: int = 0
    _lines: list[bytes] = field(default_factory=list)
    _bindings_of: dict[tuple[int, str], list[ast.AST]] = field(default_factory=dict)
    _unchanged: set[str] = field(default_factory=set)
    _unstarred: set[tuple[int, str]] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._lines = [line.encode() for line in self.source.split("\n")]

    def constant(self, name: str) -> Messages:
        """Return what the name stands for. Raises CodeFault."""
        *classes, last = name.split(".")
        body: Sequence[ast.stmt] = self.tree.body
        line = 1
        for step in classes:
            found = self._only_binding(body, step, line)
            if not isinstance(found, ast.ClassDef):
                raise CodeFault(f"`{step}` is no class", "correct the name", line_of(found))
            body, line = found.body, found.lineno
            self.classes = (*self.classes, found)
        statement = self._only_binding(body, last, line)
        self._refuse_changes(last)
        refuse_class_changes(self.tree, self.classes)
        if isinstance(statement, FUNCTIONS):
            return self._messages(statement, *self._returned(statement))
        if not isinstance(statement, ast.Assign | ast.AnnAssign) or statement.value is None:
            fix = "use a constant whose value is text as the prompt"
            raise CodeFault(f"`{last}` is not a constant", fix, statement.lineno)
        return self._messages(statement, statement.value, self)

    def _messages(self, statement: ast.stmt, value: ast.expr, reading: _Reading) -> Messages:
        given = messages_argument(value) if isinstance(value, ast.Call) else None
        if isinstance(value, ast.Call) and given is not None and self._is_langchain(value.func):
            value = given
        items = message_items(value)
        if items is None:
            return [("user", reading.value(value))]
        for target in _targets(statement):
            refuse_list_changes(self.tree, getattr(target, "id", ""))
        return [(item.role, reading.value(item.content)) for item in items]

    def _bindings(self, body: Sequence[ast.stmt], name: str) -> list[ast.AST]:
        known = (id(body), name)
        if known not in self._bindings_of:
            self._bindings_of[known] = [node for node in scope_nodes(body) if binds(node, name)]
        return self._bindings_of[known]

    def _bound(self, name: str) -> tuple[Sequence[ast.stmt], list[ast.AST]]:
        """Return the scope that a name in the constant belongs to, and what binds it there."""
        for body in (*(found.body for found in self.classes[-1:]), self.tree.body):
            bound = self._bindings(body, name)
            if bound:
                return body, bound
        return self.tree.body, []

    def _only_binding(self, body: Sequence[ast.stmt], name: str, line: int) -> ast.stmt:
        """Return the statement of the scope that gives the name its value."""
        bound = self._bindings(body, name)
        if not bound:
            raise CodeFault(f"there is no `{name}`", self._nearest(body, name), line)
        lines = sorted({line_of(node) for node in bound})
        if len(bound) > 1:
            places = ", ".join(map(str, lines[:10]))
            what = f"`{name}` is assigned more than once (lines {places})"
            raise CodeFault(what, _MOVE, lines[1] if len(lines) > 1 else lines[0])
        for statement in body:
            if bound[0] is statement or bound[0] in _targets(statement):
                self._refuse_later_stars(body, statement, name)
                return statement
        if isinstance(bound[0], ast.alias):
            what, fix = (
                f"`{name}` is imported",
                f"define `{name}` in this file, or use the file that defines `{name}`",
            )
            raise CodeFault(what, fix, lines[0])
        what = f"`{name}` is assigned under a condition, in a loop, or together with other names"
        raise CodeFault(what, _MOVE, lines[0])

    def _nearest(self, body: Sequence[ast.stmt], name: str) -> str:
        import difflib

        known = {
            target.id for s in body for target in _targets(s) if isinstance(target, ast.Name)
        } | {s.name for s in body if isinstance(s, ast.ClassDef)}
        close = difflib.get_close_matches(name, sorted(known), n=1)
        return f"did you mean `{close[0]}`?" if close else "correct the name"

    def _refuse_later_stars(self, body: Sequence[ast.stmt], statement: ast.stmt, name: str) -> None:
        if (id(body), name) in self._unstarred:
            return
        for node in scope_nodes(body):
            is_star = isinstance(node, ast.ImportFrom) and node.names[0].name == "*"
            if is_star and line_of(node) > statement.lineno:
                what = f"a later `import *` may give `{name}` another value"
                fix = "list the imported names, or move the import before the constant"
                raise CodeFault(what, fix, line_of(node))
        self._unstarred.add((id(body), name))

    def _refuse_changes(self, name: str) -> None:
        """Refuse what visibly gives the name another value while the program runs."""
        if name in self._unchanged:
            return
        around = self.classes[-1] if self.classes else None
        for node in changes_name(self.tree, name, around):
            what = f"the program changes `{name}` while it runs"
            raise CodeFault(what, _MOVE, node.lineno)
        self._unchanged.add(name)

    def _returned(
        self, function: ast.FunctionDef | ast.AsyncFunctionDef
    ) -> tuple[ast.expr, _Reading]:
        """Return what a function returns, if it does nothing else, and what reads it."""
        body = function.body
        if isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
            body = body[1:]
        if len(body) != 1 or not isinstance(body[0], ast.Return) or body[0].value is None:
            what = f"the function `{function.name}` does more than return a text"
            raise CodeFault(what, _MOVE, function.lineno)
        if function.decorator_list:
            what = f"a decorator may change what `{function.name}` returns"
            raise CodeFault(what, _MOVE, function.lineno)
        given = function.args
        named = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
        own = frozenset(argument.arg for argument in named if argument)
        inner = _Reading(self.tree, self.source, own)  # a class around it lends it no names
        return body[0].value, inner

    def value(self, node: ast.expr) -> Written:
        """Return the text of an expression. Raises CodeFault if the program computes it."""
        self._depth += 1
        if self._depth > _DEEPEST:
            raise CodeFault(
                "the program puts the text together in too many steps", _MOVE, node.lineno
            )
        try:
            return self._value(node)
        finally:
            self._depth -= 1

    def _value(self, node: ast.expr) -> Written:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return self._literal(node, [node.value])
        if isinstance(node, ast.JoinedStr):
            return self._literal(node, [self._hole_or_text(part) for part in node.values])
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            return self._sum(node)
        if isinstance(node, ast.Name):
            return self._named(node)
        if isinstance(node, ast.Call):
            return self._call(node)
        raise self._computed(node)

    def _computed(self, node: ast.expr) -> CodeFault:
        shown = ast.unparse(node) if len(self.source) < 100_000 else type(node).__name__
        short = shown if len(shown) <= 60 else f"{shown[:60]}…"
        return CodeFault(f"the program computes `{short}` while it runs", _MOVE, node.lineno)

    def _sum(self, node: ast.BinOp) -> Written:
        terms: list[ast.expr] = []
        left: ast.expr = node
        while isinstance(left, ast.BinOp) and isinstance(left.op, ast.Add):
            terms.append(left.right)
            left = left.left
        found = Written()
        for term in (left, *reversed(terms)):
            found.add(self.value(term))
        return found

    def _named(self, node: ast.Name) -> Written:
        """Return the text of another constant of the module."""
        self._names += 1
        if node.id in self.own or self._names > _MOST_NAMES:
            raise self._computed(node)
        statement = self._only_binding(self._bound(node.id)[0], node.id, node.lineno)
        self._refuse_changes(node.id)
        found = Written()
        inner = statement.value if isinstance(statement, ast.Assign | ast.AnnAssign) else None
        if inner is None:
            raise self._computed(node)
        found.add(self.value(inner), node.lineno)
        return found

    def _call(self, node: ast.Call) -> Written:
        called, arguments = node.func, node.args
        template = template_argument(node)
        if template is not None and self._is_langchain(called):
            return self.value(template)
        if node.keywords:
            raise self._computed(node)
        if isinstance(called, ast.Attribute) and called.attr in _STRIPS and not arguments:
            left, right = _STRIPS[called.attr]
            return self.value(called.value).stripped(left=left, right=right, line=node.lineno)
        if not self._is_dedent(called) or len(arguments) != 1:
            raise self._computed(node)
        inner = self.value(arguments[0])
        text = inner.only_text()
        if text is None:
            what = "the result of `dedent` depends on the values that fill this f-string"
            fix = "write the text without indentation, and remove `dedent`"
            raise CodeFault(what, fix, node.lineno)
        inner.parts = [textwrap.dedent(text)]
        return inner

    def _is_langchain(self, called: ast.expr) -> bool:
        """Return whether the class comes from a package of LangChain, under a name of its own."""
        name = next(node.id for node in ast.walk(called) if isinstance(node, ast.Name))
        bound = [node for node in scope_nodes(self.tree.body) if binds(node, name)]
        is_imported = len(bound) == 1 and bound[0] in langchain_imports(self.tree)
        return is_imported and not replaces_member(self.tree, "", _REPLACEABLE)

    def _is_dedent(self, called: ast.expr) -> bool:
        """Return whether this is the standard library's function, under a name of its own."""
        module = isinstance(called, ast.Attribute) and called.attr == "dedent"
        name = called.value if isinstance(called, ast.Attribute) else called
        if not isinstance(name, ast.Name) or name.id != ("textwrap" if module else "dedent"):
            return False
        bound = [node for node in scope_nodes(self.tree.body) if binds(node, name.id)]
        wanted = [
            alias
            for node in scope_nodes(self.tree.body)
            if isinstance(node, ast.Import if module else ast.ImportFrom)
            and getattr(node, "module", "textwrap") == "textwrap"
            for alias in node.names
            if alias.name == name.id
        ]
        is_imported = len(bound) == 1 and bound[0] in wanted
        return is_imported and not replaces_member(self.tree, "textwrap", ("dedent",))

    def _hole_or_text(self, part: ast.expr) -> str | Path | Written:
        if isinstance(part, ast.Constant):
            return str(part.value)
        assert isinstance(part, ast.FormattedValue)  # noqa: S101
        if part.conversion not in (-1, ord("s")) or part.format_spec is not None:
            what = f"the placeholder `{{{ast.unparse(part.value)[:60]}}}` formats its value"
            fix = "write only the name in the braces, and put the formatted text into the fixture"
            raise CodeFault(what, fix, part.lineno)
        path = _path(part.value)
        if path is None:
            fix = "assign the value to a variable first; fixtures then set that variable"
            what = f"the placeholder `{{{ast.unparse(part.value)[:60]}}}` computes its value"
            raise CodeFault(what, fix, part.lineno)
        constant = self._known(path, part) if len(path) == 1 else None
        return path if constant is None else constant

    def _known(self, path: Path, part: ast.expr) -> Written | None:
        """Return the text of a hole that a constant of the module fills; None for a variable."""
        name = str(path[0])
        body, bound = self._bound(name)
        imported = all(isinstance(node, ast.alias) for node in bound)
        if name in self.own or imported:
            return None
        statement = self._only_binding(body, name, part.lineno)
        self._refuse_changes(name)
        inner = statement.value if isinstance(statement, ast.Assign | ast.AnnAssign) else None
        if isinstance(inner, ast.Constant) and isinstance(inner.value, int):
            number = Written()
            number.add_text(str(inner.value), part.lineno)
            return number
        texts = (ast.Constant, ast.JoinedStr, ast.BinOp, ast.Name, ast.Call)
        try:
            return self.value(inner) if isinstance(inner, texts) else None
        except CodeFault:
            return None  # its value comes from elsewhere, so the fixture gives it

    def _literal(self, node: ast.expr, values: Sequence[str | Path | Written]) -> Written:
        """Return a string literal with the line of each of its lines in the file."""
        found = Written()
        for value in values:
            if isinstance(value, Written):
                found.add(value, node.lineno)
            elif isinstance(value, str):
                found.add_text(value, node.lineno)
            else:
                found.add_hole(value, node.lineno)
        lines = literal_lines(self._segment(node), node.lineno)
        if len(lines) == len(found.lines):
            found.lines = list(lines)
        return found

    def _segment(self, node: ast.expr) -> str:
        last = node.end_lineno or node.lineno
        lines = self._lines[node.lineno - 1 : last]
        lines[-1] = lines[-1][: node.end_col_offset]
        lines[0] = lines[0][node.col_offset :]
        return b"\n".join(lines).decode(errors="replace")


def _targets(statement: ast.stmt) -> list[ast.expr]:
    if isinstance(statement, ast.Assign):
        return statement.targets
    return [statement.target] if isinstance(statement, ast.AnnAssign) and statement.value else []


def _path(node: ast.expr) -> Path | None:
    """Return the variable of a hole, with the keys of the part that it names."""
    steps: list[str | int] = []
    while True:
        if isinstance(node, ast.Name):
            return (node.id, *reversed(steps))
        if isinstance(node, ast.Attribute):
            steps.append(node.attr)
        elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
            key = node.slice.value
            if not isinstance(key, str | int) or isinstance(key, bool):
                return None
            steps.append(key)
        else:
            return None
        node = node.value
