"""Splits a rendered template into messages by the role lines that the template itself wrote.

A loop over the turns of a dialogue makes as many role lines as there are turns, so such a template
is rendered as a whole and split afterwards. Text from a fixture must never begin a message: the
template's tree gets marks with a random token around each of its role lines, before it is compiled,
and only lines with marks count. The marks stand where the text goes straight into the result. What
a `{% macro %}` or `{% set %}` takes in has none, so a template cannot see them either.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from types import CodeType

from jinja2 import nodes
from jinja2.environment import Template

from gatekeeper.contract.reading.role_lines import ROLES, role_of_line
from gatekeeper.contract.templates.environment import PromptEnvironment, environment_for

_TOKEN = secrets.token_hex(8)
_MARK = re.compile(rf"\x02{_TOKEN}([sel])([0-9]*)\x03")
_LINE_END = f"\x02{_TOKEN}l\x03"
"""Stands on a line that the template itself begins or ends."""
_SHOWN = 60
_HEAD = re.compile(r"[ \t]*(?:#+[ \t]*)?")
_TAIL = re.compile(r"[ \t]*:[ \t]*")
_KEPT = frozenset({"lower", "trim", "string", "upper", "capitalize"})

RolePart = tuple[str, str]
"""The role and the text of a message."""


class RoleLineFault(Exception):
    """A role line that begins no message, or a wrong one: `what` is wrong on the template's `line`,
    and how to `fix` it."""

    def __init__(self, what: str, fix: str, line: int | None = None) -> None:
        super().__init__(what)
        self.what, self.fix, self.line = what, fix, line


@dataclass(frozen=True, slots=True)
class RoleLine:
    """A role line of a template, on a `line` of it, counted from 1. `variable` says that a variable
    names the role, `touched` that a value stands next to it on its line, so that the value decides
    whether it is a role line."""

    line: int
    variable: bool
    touched: bool


@dataclass(slots=True)
class _Piece:
    """Neighbouring text of a template, with the line of the file that each of its lines is on."""

    lines: list[str]
    numbers: list[int]

    def add(self, data: nodes.TemplateData) -> None:
        first, *rest = data.data.split("\n")
        self.lines[-1] += first
        self.lines += rest
        self.numbers += range(data.lineno + 1, data.lineno + 1 + len(rest))


_Parts = list[_Piece | nodes.Expr]


@dataclass(slots=True)
class _Marking:
    """Adds marks to a template's tree. `literal` are the lines between `raw` tags."""

    literal: frozenset[int]
    found: list[RoleLine] = field(default_factory=list)

    def mark(self, body: Sequence[nodes.Node]) -> None:
        """Mark the role lines in statements whose text goes straight into the result."""
        for node in body:
            if isinstance(node, nodes.Output):
                self._mark_output(node)
            elif isinstance(node, nodes.For) and not node.recursive:
                self.mark([*node.body, *node.else_])
            elif isinstance(node, nodes.If):
                self.mark([*node.body, *node.elif_, *node.else_])
            elif isinstance(node, nodes.With):
                self.mark(node.body)

    def _mark_output(self, output: nodes.Output) -> None:
        parts = _parts(output)
        for at, part in enumerate(parts):
            if isinstance(part, _Piece):
                self._mark_lines(part, after_value=at > 0, before_value=at + 1 < len(parts))
        for at, part in enumerate(parts):
            before, after = parts[at - 1], parts[at + 1] if at + 1 < len(parts) else None
            if isinstance(part, _Piece) or part.lineno in self.literal or not _names_role(part):
                continue
            if isinstance(before, _Piece) and isinstance(after, _Piece):
                first, last = at == 1, at + 2 == len(parts)
                self._mark_variable(before, after, first=first, last=last)
        output.nodes = [
            nodes.TemplateData("\n".join(part.lines)) if isinstance(part, _Piece) else part
            for part in parts
        ]

    def _mark_lines(self, piece: _Piece, *, after_value: bool, before_value: bool) -> None:
        """Mark the literal role lines of a text, and the line ends at its edges."""
        last = len(piece.lines) - 1
        for at, line in enumerate(piece.lines):
            if role_of_line(line) and piece.numbers[at] not in self.literal:
                touched = (at == 0 and after_value) or (at == last and before_value)
                start, end = self._marks(RoleLine(piece.numbers[at], False, touched))
                before, after = _LINE_END if at else "", _LINE_END if at < last else ""
                piece.lines[at] = f"{before}{start}{line}{end}{after}"
        if last and not piece.lines[0].strip(" \t"):
            piece.lines[0] = f"{_LINE_END}{piece.lines[0]}"
        if last and not piece.lines[-1].strip(" \t"):
            piece.lines[-1] += _LINE_END

    def _mark_variable(self, before: _Piece, after: _Piece, *, first: bool, last: bool) -> None:
        """Mark the line of a variable that names a role, if it has nothing else but the colon.

        `first` and `last` say that no other value stands before `before` or behind `after`.
        """
        head, tail = _unmarked(before.lines[-1]), _unmarked(after.lines[0])
        if not _HEAD.fullmatch(head) or not _TAIL.fullmatch(tail):
            return
        begins, ends = len(before.lines) > 1, len(after.lines) > 1
        touched = not ((begins or first) and (ends or last))
        start, end = self._marks(RoleLine(after.numbers[0], True, touched))
        before.lines[-1] = f"{_LINE_END if begins else ''}{start}{before.lines[-1]}"
        after.lines[0] += f"{end}{_LINE_END if ends else ''}"

    def _marks(self, line: RoleLine) -> tuple[str, str]:
        self.found.append(line)
        number = len(self.found) - 1
        return f"\x02{_TOKEN}s{number}\x03", f"\x02{_TOKEN}e{number}\x03"


def _parts(output: nodes.Output) -> _Parts:
    """Return the texts and values of an output, with a text before each value. A comment parts a
    text in two: neighbouring texts are joined."""
    parts: _Parts = [_Piece([""], [output.lineno])]
    for node in output.nodes:
        last = parts[-1]
        if not isinstance(node, nodes.TemplateData):
            if not isinstance(last, _Piece):
                parts.append(_Piece([""], [node.lineno]))
            parts.append(node)
            continue
        if not isinstance(last, _Piece):
            last = _Piece([""], [node.lineno])
            parts.append(last)
        elif len(parts) == 1 and last.lines == [""]:
            last.numbers = [node.lineno]
        last.add(node)
    return parts


def _names_role(node: nodes.Expr) -> bool:
    """Return whether the value is called `role`: `role`, `turn.role`, `turn["role"] | lower`."""
    while isinstance(node, nodes.Filter) and node.name in _KEPT and node.node is not None:
        node = node.node
    if isinstance(node, nodes.Getattr):
        return node.attr == "role"
    if isinstance(node, nodes.Getitem):
        return isinstance(node.arg, nodes.Const) and node.arg.value == "role"
    return isinstance(node, nodes.Name) and node.name == "role"


class _MarkingEnvironment(PromptEnvironment):
    """Compiles templates with marks."""

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        tree = super()._parse(source, name, filename)
        _Marking(_literal_lines(source)).mark(tree.body)
        return tree


_MARKING = _MarkingEnvironment({})


@lru_cache(maxsize=256)
def role_lines_of(source: str) -> tuple[RoleLine, ...]:
    """Return the role lines of a template whose text goes straight into the result.

    Raises jinja2.TemplateSyntaxError and RecursionError.
    """
    marking = _Marking(_literal_lines(source))
    marking.mark(environment_for(()).parse(source).body)
    return tuple(marking.found)


@lru_cache(maxsize=256)
def compiled_with_marks(environment: PromptEnvironment, source: str, path: str) -> Template:
    """Return the template, which renders to a text for `split_by_role_lines`. Only its own role
    lines have marks, and none of what it includes."""
    return Template.from_code(
        environment, _marked_code(source, path), environment.make_globals(None)
    )


@lru_cache(maxsize=256)
def _marked_code(source: str, path: str) -> CodeType:
    _MARKING.work = 0
    return _MARKING.compile(source, path, path)


def _literal_lines(source: str) -> frozenset[int]:
    """Return the lines that are between `raw` tags, or have one."""
    lines: set[int] = set()
    if "raw" in source:
        begin = 0
        for line, kind, _ in environment_for(()).lex(source):
            if kind == "raw_begin":
                begin = line
            elif kind == "raw_end":
                lines.update(range(begin, line + 1))
    return frozenset(lines)


def _unmarked(text: str) -> str:
    return _MARK.sub("", text)


@dataclass(frozen=True, slots=True)
class _Place:
    """A marked role line in a rendered text: its name and colon from `start` to `stop`, and its
    line from `begin` to `end`."""

    text: str
    start: int
    stop: int
    template: RoleLine

    @property
    def begin(self) -> int:
        return self.text.rfind("\n", 0, self.start) + 1

    @property
    def end(self) -> int:
        end = self.text.find("\n", self.stop)
        return len(self.text) if end < 0 else end

    def role(self, *, own_ends: bool) -> str | None:
        """Return the role that the line begins a message of; None if there is more text on it, so
        that it is no role line. `own_ends` says that the template begins and ends the line.
        """
        template, begin, end = self.template, self.begin, self.end
        if self.text[self.stop : end].strip(" \t"):
            return None
        role = role_of_line(self.text[begin:end])
        if role is not None and own_ends and not template.touched:
            return role
        shown = " ".join(self.text[self.start : self.stop].split())[:_SHOWN]
        if role is not None:
            what = f"the role line `{shown}` comes from a value, not from the template"
            raise RoleLineFault(
                what, "write the role line alone on its line in the template", template.line
            )
        if template.touched:
            return None
        if self.text[begin : self.start].strip(" \t#"):
            what = f"other text stands before the role line `{shown}` on the same line"
            fix = "begin a new line before the role; a tag before it must not end in `-%}`"
            raise RoleLineFault(what, fix, template.line)
        what = f"the role line renders to `{shown}`, which is not one of {', '.join(ROLES)}"
        fix = "correct the value; if the line is text and not a role, add other words to the line"
        raise RoleLineFault(what, fix, template.line)


def split_by_role_lines(text: str, source: str) -> tuple[RolePart, ...]:
    """Return the messages of a text that was rendered with marks from this source.

    Text before the first role line is a system message. Blank lines around a message are dropped.

    Raises:
        RoleLineFault: A line is no role line although it is meant as one, or only because of a
            value; or there is no message.
    """
    clean, marks = _read_marks(text)
    templates = role_lines_of(source)
    parts: list[RolePart] = []
    role, begin = "system", 0
    for at, (start, kind, number) in enumerate(marks):
        if kind != "s":
            continue
        stop_at = next(n for n in range(at, len(marks)) if marks[n][1:] == ("e", number))
        place = _Place(clean, start, marks[stop_at][0], templates[int(number)])
        before = (marks[n] for n in range(at, -1, -1))
        after = (marks[n] for n in range(stop_at, len(marks)))
        own_begin = place.begin == 0 or _has_line_end(before, place.begin, start)
        own_end = place.end == len(clean) or _has_line_end(after, place.stop, place.end)
        found = place.role(own_ends=own_begin and own_end)
        if found is not None:
            parts.append((role, clean[begin : place.begin]))
            role, begin = found, place.end + 1
    parts.append((role, clean[begin:]))
    trimmed = [(role, _without_blank_lines(part)) for role, part in parts]
    messages = trimmed if trimmed[0][1] else trimmed[1:]
    if not messages:
        fix = "write a message outside of loops and conditions"
        raise RoleLineFault("with these values, the prompt has no message", fix)
    return tuple(messages)


_Mark = tuple[int, str, str]
"""The place in the text without marks, the kind, and the number of a mark."""


def _read_marks(text: str) -> tuple[str, list[_Mark]]:
    """Return the text without marks, and the marks in it."""
    pieces, marks, length, done = [], [], 0, 0
    for match in _MARK.finditer(text):
        pieces.append(text[done : match.start()])
        length += match.start() - done
        done = match.end()
        marks.append((length, match[1], match[2]))
    return "".join((*pieces, text[done:])), marks


def _has_line_end(marks: Iterable[_Mark], first: int, last: int) -> bool:
    """Return whether one of the next marks says that the template begins or ends the line."""
    for place, kind, _ in marks:
        if not first <= place <= last:
            return False
        if kind == "l":
            return True
    return False


def _without_blank_lines(text: str) -> str:
    lines = text.split("\n")
    while lines and not lines[0].strip():
        lines = lines[1:]
    while lines and not lines[-1].strip():
        lines.pop()
    return "\n".join(lines)
