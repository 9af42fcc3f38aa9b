"""Writes what all translations have in common: literal text, a parameter of a check, and the
value of a variable.

The style `text` needs no more: a program fills in names, `{{ article }}` or `{{ order.id }}`, and
sends comments, statements and all other braces as they are written.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from gatekeeper.contract.templates.plain import is_template

# What begins a tag, a brace at the end that the next tag would join, and what Jinja turns into \n.
_SPECIAL = re.compile(r"\{(?=[{%#]|\Z)|\r")
_NAME = re.compile(r"[^\W\d]\w*")
RESERVED = frozenset(
    {"and", "else", "false", "if", "import", "in", "is", "none", "not", "or", "recursive", "self"}
    | {"true", "False", "None", "True"}
)

PATH = (
    r"[^\W\d]\w*+"
    r"""(?:\.[^\W\d]\w*+|\.\d++|\[\d++\]|\["[^"\\{}%#]*+"\]|\['[^'\\{}%#]*+'\])*+"""
)
"""A variable or a part of one, as Jinja writes it."""
_HOLE = re.compile(rf"\{{\{{\s*+(?P<path>{PATH})\s*+\}}\}}")


class StyleFault(Exception):
    """Text that cannot be translated. `line` counts from 1 in that text."""

    def __init__(self, what: str, fix: str, line: int) -> None:
        super().__init__(what)
        self.what, self.fix, self.line = what, fix, line


def literal(text: str) -> str:
    """Return a template that renders to the text, whatever braces are in it."""
    return _SPECIAL.sub(lambda found: "{{ '{' }}" if found[0] == "{" else "{{ '\\r' }}", text)


def fill_names(text: str) -> str:
    """Return the Jinja template of a text in which a program fills in names and nothing else. A
    name is left as it is: Jinja reads it likewise."""
    made: list[str] = []
    end = 0
    for match in _HOLE.finditer(text):
        first = _NAME.match(match["path"])
        if first and first[0] not in RESERVED:
            made += [literal(text[end : match.start()]), match.group()]
            end = match.end()
    return "".join([*made, literal(text[end:])])


def as_parameter(value: Any) -> Any:
    """Return a value so that the check does not take its texts for templates."""
    if isinstance(value, str) and is_template(value):
        return "{{ " + json.dumps(value, ensure_ascii=False) + " }}"
    if isinstance(value, Mapping):
        return {name: as_parameter(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [as_parameter(item) for item in value]
    return value


def variable(name: str, steps: tuple[str | int, ...], line: int) -> str:
    """Return an expression for a variable, or a part of one. Raises StyleFault for a name that
    means something else in a template."""
    if not _NAME.fullmatch(name) or name in RESERVED:
        fix = "rename the variable, in the prompt and in the fixtures"
        raise StyleFault(f"`{name}` cannot be the name of a variable", fix, line)
    return name + "".join(f"[{json.dumps(step, ensure_ascii=False)}]" for step in steps)


def with_line_end(template: str) -> str:
    """Keep the line end at the end of a text: Jinja drops one, and other styles do not."""
    return f"{template}\n" if template.endswith("\n") else template
