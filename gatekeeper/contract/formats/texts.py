"""Writes texts of other tools as Jinja templates, for prompts and parameters of checks."""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Collection

from gatekeeper.contract.formats.reader import Node
from gatekeeper.contract.prompts.styles.literal import literal

_HOLE = re.compile(r"\{\{-?\s*([A-Za-z_][A-Za-z0-9_.]*)\s*-?\}\}")
_SPECIAL = re.compile(r"\{[{%#]|\r")


def fill(text: str, name: Callable[[str], str | None]) -> str:
    """Return a template with each `{{ variable }}` replaced by what `name` makes of it, and all
    other text as it is. If it makes nothing of it, the braces stay text."""
    if not _SPECIAL.search(text):
        return text
    parts: list[str] = []
    start = 0
    for match in _HOLE.finditer(text):
        found = name(match[1])
        if found is not None:
            parts += [literal(text[start : match.start()]), found]
            start = match.end()
    return "".join([*parts, literal(text[start:])])


def with_variables(text: str, known: Collection[str]) -> str:
    """Return a template in which only the known variables are filled in."""
    return fill(text, lambda name: f"{{{{ {name} }}}}" if name in known else None)


def format_fields(text: object) -> frozenset[str]:
    """Return the names of the fields of a text for Python's `str.format`."""
    try:
        parts = list(string.Formatter().parse(text)) if isinstance(text, str) else []
    except ValueError:
        return frozenset()  # translating the text says so
    return frozenset(name for _, name, _, _ in parts if name)


def from_format_fields(node: Node) -> str:
    """Return a template for a text with the fields of Python's `str.format`, such as `{article}`.

    Raises ContractError for fields that are more than a name, which `str.format` looks up in the
    value, and for conversions.
    """
    try:
        parts = list(string.Formatter().parse(node.text()))
    except ValueError as error:
        fix = "if a brace is part of the text, write the brace twice: `{{` or `}}`"
        raise node.problem(f"the text is not a valid format string: {error}", fix) from None
    template = ""
    for plain, name, spec, conversion in parts:
        template += literal(plain)
        if name is None:
            continue
        if not name.isidentifier() or spec or conversion:
            written = name + (f"!{conversion}" if conversion else "") + (f":{spec}" if spec else "")
            what = f"the field `{{{written}}}` must contain only the name of a variable"
            fix = "write `{name}`; if a brace is part of the text, write the brace twice"
            raise node.problem(what, fix)
        template += f"{{{{ {name} }}}}"
    return template
