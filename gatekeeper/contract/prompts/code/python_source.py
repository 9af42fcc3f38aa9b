"""Finds and reads a string constant of a Python file, with `ast`: nothing is run.

`NAME` is a constant of the module, `Class.NAME` one of a class. A function that does nothing but
return a text counts as well: its f-string has the variables. Whatever the program computes is
refused, and so is a name that the file assigns more than once, because the last one counts there.
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from gatekeeper.contract.prompts.code.langchain import messages_argument, template_argument
from gatekeeper.contract.prompts.code.python_flow import Flow
from gatekeeper.contract.prompts.code.python_lines import literal_lines
from gatekeeper.contract.prompts.code.python_messages import message_items
from gatekeeper.contract.prompts.code.python_scopes import FUNCTIONS, binds, line_of, scope_nodes
from gatekeeper.contract.prompts.code.python_uses import Uses, last_name
from gatekeeper.contract.prompts.code.written import (
    SEPARATE,
    CodeFault,
    Computed,
    Effort,
    Messages,
    Path,
    Written,
    kept_if_small,
)

_CODING = re.compile(r"[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
_DEDENTING = {"textwrap.dedent": textwrap.dedent, "inspect.cleandoc": inspect.cleandoc}
_LITERALS = (ast.Dict, ast.List, ast.Set, ast.Tuple, ast.UnaryOp, ast.Constant, ast.Compare)
_STRIPS = {"strip": (True, True), "lstrip": (True, False), "rstrip": (False, True)}


def read_python(source: str, name: str) -> Messages:
    """Return the messages of the constant of that name; a text is one of the user. Raises
    CodeFault, with its line."""
    lines = [line.encode() for line in source.split("\n")]
    return _Reading(_uses(source), lines, Effort()).constant(name)


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


@kept_if_small
def _uses(source: str) -> Uses:
    """Parse a file once for all of its constants, at base and at head."""
    return Uses(_parse(source))


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


@dataclass(frozen=True)
class _Reading:
    """Reads constants in one scope. `own` are names that a function's caller gives a value, with
    the code of their defaults.
    `around` are the classes around the constant, of which only the last lends it its names."""

    uses: Uses
    lines: Sequence[bytes]
    effort: Effort
    own: Mapping[str, str] | None = None
    around: tuple[ast.ClassDef, ...] = ()

    def constant(self, name: str) -> Messages:
        """Return what the name stands for. Raises CodeFault."""
        *classes, last = name.split(".")
        reading, line = self, 1
        for step in classes:
            known = reading.uses.bindings(reading._body, step)
            if known and isinstance(known[0], FUNCTIONS):
                fix = f"move the text out of `{step}`, into a constant of the file"
                raise CodeFault(
                    f"the prompt is inside the function `{step}`", fix, line_of(known[0])
                )
            found = reading._only_binding(step, line)
            if not isinstance(found, ast.ClassDef):
                raise CodeFault(f"`{step}` is no class", "correct the name", line_of(found))
            line = found.lineno
            reading = replace(reading, around=(*reading.around, found))
        return reading._messages(last, reading._only_binding(last, line))

    def _messages(self, name: str, statement: ast.stmt) -> Messages:
        reading, value = self, _value_of(statement)
        self.uses.refuse_reflection()
        self.uses.refuse_class_uses(self.around)
        if isinstance(statement, FUNCTIONS):
            value, reading = self._returned(statement)
        if value is None:
            fix = "use a constant whose value is text as the prompt"
            raise CodeFault(f"`{name}` is not a constant", fix, statement.lineno)
        given = self._langchain(value, messages_argument)
        items = message_items(given or value)
        if items is not None:
            found = [(item.role, reading.value(item.content)) for item in items]
        else:
            found = [("user", reading.value(value))]
        if items is not None or self._langchain(value, template_argument) is not None:
            Flow(self.uses).refuse(getattr(target, "id", "") for target in _targets(statement))
        return found

    @property
    def _body(self) -> Sequence[ast.stmt]:
        return self.around[-1].body if self.around else self.uses.tree.body

    def _of(self, name: str, reader: ast.expr) -> _Reading:
        """Return the reading of the scope that a name in the constant belongs to."""
        if not self.around:
            return self
        bound = self.uses.bindings(self._body, name)
        own = [statement for statement in self._body if bound[:1] == _targets(statement)[:1] != []]
        if own and own[0].lineno <= reader.lineno <= (own[0].end_lineno or 0):
            return replace(self, around=())  # `NAME = NAME` takes the module's
        if any(_place(node) > _place(reader) for node in bound) or name.startswith("__"):
            what = f"the class assigns `{name}` only after this line reads it"
            raise CodeFault(what, SEPARATE, reader.lineno)
        return self if bound else replace(self, around=())

    def _only_binding(self, name: str, line: int, reader: ast.expr | None = None) -> ast.stmt:
        """Return the statement of the scope that gives the name its value."""
        bound = self.uses.bindings(self._body, name)
        if not bound:
            raise CodeFault(f"there is no `{name}`", self._nearest(name), line)
        lines = sorted({line_of(node) for node in bound})
        if len(bound) > 1:
            places = ", ".join(map(str, lines[:10]))
            what = f"`{name}` is assigned more than once (lines {places})"
            raise CodeFault(what, SEPARATE, lines[1] if len(lines) > 1 else lines[0])
        if isinstance(bound[0], ast.alias):
            fix = f"define `{name}` in this file, or use the file that defines `{name}`"
            raise CodeFault(f"`{name}` is imported", fix, lines[0])
        for statement in self._body:
            if bound[0] is statement or bound[0] in _targets(statement):
                if reader is not None and self.own is None and _place(bound[0]) > _place(reader):
                    raise CodeFault(f"`{name}` has no value yet", SEPARATE, reader.lineno)
                self._refuse_later_stars(statement, name)
                self.uses.refuse_stores(name, self.around[-1] if self.around else None)
                return statement
        what = f"`{name}` is assigned under a condition, in a loop, or together with other names"
        raise CodeFault(what, SEPARATE, lines[0])

    def _nearest(self, name: str) -> str:
        import difflib

        targets = [target for s in self._body for target in _targets(s)]
        known = {target.id for target in targets if isinstance(target, ast.Name)}
        known |= {s.name for s in self._body if isinstance(s, ast.ClassDef)}
        close = difflib.get_close_matches(name, sorted(known), n=1)
        return f"did you mean `{close[0]}`?" if close else "correct the name"

    def _refuse_later_stars(self, statement: ast.stmt, name: str) -> None:
        for node in self.uses.stars:
            if not self.around and line_of(node) > statement.lineno:
                what = f"a later `import *` may give `{name}` another value"
                fix = "list the imported names, or move the import before the constant"
                raise CodeFault(what, fix, line_of(node))

    def _returned(
        self, function: ast.FunctionDef | ast.AsyncFunctionDef
    ) -> tuple[ast.expr, _Reading]:
        """Return what a function returns, if it does nothing else, and what reads it."""
        body = function.body
        if isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
            body = body[1:]
        if len(body) != 1 or not isinstance(body[0], ast.Return) or body[0].value is None:
            what = f"the function `{function.name}` does more than return a text"
            raise CodeFault(what, SEPARATE, function.lineno)
        static = [getattr(found, "id", "") for found in function.decorator_list]
        if {*static} - {"classmethod", "staticmethod"} or (static and not self.around):
            what = f"a decorator may change what `{function.name}` returns"
            raise CodeFault(what, SEPARATE, function.lineno)
        given = function.args
        named = [*given.kwonlyargs, given.vararg, given.kwarg, *given.posonlyargs, *given.args]
        own = {argument.arg: "" for argument in named if argument}
        pairs = [*zip(given.kwonlyargs, given.kw_defaults, strict=True)]
        pairs += zip([*given.posonlyargs, *given.args][::-1], given.defaults[::-1], strict=False)
        own |= {argument.arg: ast.unparse(value) for argument, value in pairs if value}
        return body[0].value, replace(self, own=own, around=())

    def value(self, node: ast.expr) -> Written:
        """Return the text of an expression. Raises CodeFault if the program computes it."""
        with self.effort.deeper(node.lineno):
            return self._value(node)

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

    def _computed(self, node: ast.expr) -> Computed:
        shown = ast.unparse(node) if len(self.lines) < 10_000 else type(node).__name__
        short = shown if len(shown) <= 60 else f"{shown[:60]}…"
        return Computed(f"the program computes `{short}` while it runs", SEPARATE, node.lineno)

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
        self.effort.add_name(node.lineno)
        if node.id in (self.own or ()):
            raise self._computed(node)
        reading = self._of(node.id, node)
        inner = _value_of(reading._only_binding(node.id, node.lineno, node))
        if inner is None:
            raise self._computed(node)
        found = Written()
        found.add(replace(reading, own=None).value(inner), node.lineno)
        return found

    def _call(self, node: ast.Call) -> Written:
        called, arguments = node.func, node.args
        template = self._langchain(node, template_argument)
        if template is not None:
            return self.value(template)
        if node.keywords:
            raise self._computed(node)
        if isinstance(called, ast.Attribute) and called.attr in _STRIPS and not arguments:
            left, right = _STRIPS[called.attr]
            return self.value(called.value).stripped(left=left, right=right, line=node.lineno)
        dedent = _DEDENTING.get(self.uses.origin(called))
        if dedent is None or len(arguments) != 1:
            raise self._computed(node)
        inner = self.value(arguments[0])
        text = inner.only_text()
        if text is None:
            what = "the result of `dedent` depends on the values that fill this f-string"
            fix = "write the text without indentation, and remove `dedent`"
            raise CodeFault(what, fix, node.lineno)
        inner.parts = [dedent(text)]
        return inner

    def _langchain(
        self, value: ast.expr, argument: Callable[[ast.Call], ast.expr | None]
    ) -> ast.expr | None:
        """Return the argument of a class of LangChain's packages; None if it is no such call."""
        given = argument(value) if isinstance(value, ast.Call) else None
        if given is None or not isinstance(value, ast.Call):
            return None
        return given if self.uses.origin(value.func).startswith("langchain") else None

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
        constant = self._known(path, part.value)
        return path if constant is None else constant

    def _known(self, path: Path, part: ast.expr) -> Written | None:
        """Return the text of a hole that a constant of the module fills; None for a variable."""
        name = str(path[0])
        if name in (self.own or ()):
            return None
        reading = self._of(name, part)
        if all(isinstance(node, ast.alias) for node in self.uses.bindings(reading._body, name)):
            return None
        inner = _value_of(reading._only_binding(name, part.lineno, part))
        if isinstance(inner, _LITERALS) and not _is_text(inner):
            return self._literal_part(inner, path, part)
        try:
            return replace(reading, own=None).value(inner) if inner and len(path) == 1 else None
        except Computed:
            return None  # its value comes from elsewhere, so the fixture gives it

    def _computing(self, path: Path, reader: ast.expr) -> dict[str, str]:
        """Return the code of this file that gives a hole its value, which may be a default."""
        name = str(path[0])
        if self.own and name in self.own:
            return {name: self.own[name]}
        reading = self._of(name, reader)
        bound = self.uses.bindings(reading._body, name)
        if all(isinstance(node, ast.alias) for node in bound):
            return {name: self.uses.imported.get(name, "")}
        found: list[ast.stmt] = [reading._only_binding(name, reader.lineno)]
        if isinstance(found[0], ast.ClassDef) and len(path) > 1:
            body = found[0].body
            found = [s for s in body if str(path[1]) in map(last_name, _targets(s))] or found
        return {".".join(map(str, path)): "\n".join(map(ast.unparse, found))}

    def _literal_part(self, value: ast.expr, path: Path, part: ast.expr) -> Written:
        """Return the text of a number, or of an item of a list or dictionary of literals."""
        Flow(self.uses).refuse([str(path[0])])
        try:
            found = ast.literal_eval(value)
            for step in path[1:]:
                found = found[step]
        except (ValueError, TypeError, LookupError, SyntaxError, MemoryError):
            found = ()
        if not isinstance(found, str | int | float | None):
            what = f"gatekeeper does not read this part of `{path[0]}`"
            fix = "write the text into a constant of its own, and use only its name"
            raise CodeFault(what, fix, part.lineno)
        made = Written()
        made.add_text(str(found), part.lineno)
        return made

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
                found.computed |= self._computing(value, node)
        lines = literal_lines(self._segment(node), node.lineno)
        if len(lines) == len(found.lines):
            found.lines = list(lines)
        return found

    def _segment(self, node: ast.expr) -> str:
        last = node.end_lineno or node.lineno
        lines = [*self.lines[node.lineno - 1 : last]]
        lines[-1] = lines[-1][: node.end_col_offset]
        lines[0] = lines[0][node.col_offset :]
        return b"\n".join(lines).decode(errors="replace")


def _targets(statement: ast.stmt) -> list[ast.expr]:
    if isinstance(statement, ast.Assign):
        return statement.targets
    return [statement.target] if isinstance(statement, ast.AnnAssign) and statement.value else []


def _value_of(statement: ast.stmt) -> ast.expr | None:
    return statement.value if isinstance(statement, ast.Assign | ast.AnnAssign) else None


def _place(node: ast.AST) -> tuple[int, int]:
    return line_of(node), int(getattr(node, "col_offset", 0))


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


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
