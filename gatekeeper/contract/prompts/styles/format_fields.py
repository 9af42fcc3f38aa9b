"""Translates Python's format strings, `{article}`, as `str.format` and LangChain fill them in."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from gatekeeper.contract.prompts.styles.literal import (
    StyleFault,
    literal,
    variable,
    with_line_end,
)

_PART = re.compile(r"\{\{|\}\}|\{(?P<field>[^{}]*)\}|[{}]")
_FIELD = re.compile(
    r"(?P<name>[^\W\d]\w*)(?P<steps>(?:\.[^\W\d]\w*|\[[^\[\]{}]+\])*)(?:!s)?:?", re.ASCII
)
_STEP = re.compile(r"\.(?P<name>\w+)|\[(?P<item>[^\]]+)\]")


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a format string, or text between fields (`expression` is None). `line` counts
    from 1 in the text."""

    text: str
    expression: str | None
    line: int

    @property
    def template(self) -> str:
        """Return the field, or the text, in Jinja."""
        return literal(self.text) if self.expression is None else f"{{{{ {self.expression} }}}}"


def translate(text: str) -> str:
    """Return the Jinja template of a format string. Raises StyleFault."""
    return with_line_end("".join(part.template for part in split_fields(text)))


def count_fields(text: str) -> int | None:
    """Return how many names `str.format` would fill in; None if it would refuse the text."""
    try:
        return sum(part.expression is not None for part in split_fields(text))
    except StyleFault:
        return None


def split_fields(text: str) -> Iterator[Field]:
    """Yield the texts and fields of a format string, in order. Raises StyleFault."""
    end, line = 0, 1
    for match in _PART.finditer(text):
        before = text[end : match.start()]
        if before:
            yield Field(before, None, line)
        line += before.count("\n")
        end = match.end()
        if match["field"] is not None:
            yield Field(match.group(), _expression(match["field"], line), line)
            line += match.group().count("\n")
        elif match.group() in ("{{", "}}"):
            yield Field(match.group()[0], None, line)
        else:
            fix = f"write `{match.group() * 2}` for a brace that belongs to the text"
            raise StyleFault(f"the text contains a single `{match.group()}`", fix, line)
    if text[end:]:
        yield Field(text[end:], None, line)


def _expression(field: str, line: int) -> str:
    match = _FIELD.fullmatch(field)
    if match is None:
        raise StyleFault(f"gatekeeper cannot fill in `{{{field[:100]}}}`", _remedy(field), line)
    steps = tuple(
        step["name"] or (int(step["item"]) if step["item"].isdecimal() else step["item"])
        for step in _STEP.finditer(match["steps"])
    )
    return variable(match["name"], steps, line)


def _remedy(field: str) -> str:
    if not field.strip() or field.strip()[0].isdecimal():
        return "give the field a name, such as `{text}`, because fixtures set variables by name"
    if re.fullmatch(r"[\w.\[\]]+[!:].*", field):
        return "write only the name in the braces, and put the formatted text into the fixture"
    return "write `{name}` for a variable, and write each other brace twice, as `{{` or `}}`"
