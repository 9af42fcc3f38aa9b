"""Writes texts of foreign files as the parameters of checks, which are Jinja templates here."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection

_HOLE = re.compile(r"\{\{-?\s*([A-Za-z_][A-Za-z0-9_.]*)\s*-?\}\}")
_OPENS = re.compile(r"\{\{|\{%|\{#")


def literal(text: str) -> str:
    """Return a template that renders to the text."""
    if not _OPENS.search(text):
        return text
    # `{% endraw %}` itself would end the raw block.
    return "{{ '" + text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n") + "' }}"


def fill(text: str, name: Callable[[str], str | None]) -> str:
    """Return a template with each `{{ variable }}` replaced by what `name` makes of it, and all
    other text as it is. If it makes nothing of it, the braces stay text."""
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
