"""Decides which texts are templates, and which of them are plain: text, names, fields of names, and
a few filters whose cost is in proportion to the text. Reads the includes of those that are plain
but for them."""

from __future__ import annotations

import re
from functools import lru_cache

# `{#` is not among them: in a regular expression it is likelier than a template comment.
TEMPLATE_MARKS = ("{{", "{%")
"""Make a parameter of a check a template, which is rendered for each fixture."""
MAX_TAGS = 1_000
MAX_FILTERS = 50

# `{{ order }}`, `{{ order.lines[0].text }}`, `{{ order["the text"] | trim }}`.
_NAME = re.compile(
    r"""\{\{ [-+]? \s*
    (?!(?:self|not)\b) [A-Za-z_][A-Za-z_0-9]{0,99}
    (?: \.[A-Za-z_][A-Za-z_0-9]{0,99} | \.(?:0|[1-9][0-9]{0,8})(?![A-Za-z_0-9])
      | \[(?:0|[1-9][0-9]{0,8})\] | \['[^'\\{}%\#]{0,99}'\] | \["[^"\\{}%\#]{0,99}"\] ){0,9}
    (?: \s* \| \s* (?:capitalize|length|lower|string|tojson|trim|upper) \b ){0,3}
    \s* -? \}\}""",
    re.VERBOSE,
)

# `{% include "tone.md" %}`, on one line.
_INCLUDE = re.compile(
    r"""\{%-? [ \t]* include [ \t]+
    (?: "([^"\\{}%\#\r\n]+)" | '([^'\\{}%\#\r\n]+)' ) [ \t]* -?%\}""",
    re.VERBOSE,
)


def is_template(text: str) -> bool:
    """Return whether a parameter of a check is a template."""
    return any(mark in text for mark in TEMPLATE_MARKS)


@lru_cache(maxsize=2048)
def is_plain(source: str) -> bool:
    """Return whether rendering the template costs no more than its text: it has no statement and
    no comment, and each of its expressions is a name, or a part of one. Its syntax is sound."""
    tags = source.count("{{")
    # The parser reads `{{{` as the begin of a dictionary.
    if tags > MAX_TAGS or any(other in source for other in ("{%", "{#", "{{{")):
        return False
    names = [match.group() for match in _NAME.finditer(source)] if tags else []
    return len(names) == tags and sum(name.count("|") for name in names) <= MAX_FILTERS


def plain_includes(source: str) -> tuple[tuple[str, int], ...] | None:
    """Return every file that the source includes, with its line, if it would be plain without its
    includes; otherwise None. The parser gives the same, and takes a hundred times as long."""
    # `%` stands in no plain expression, so that an include within one is not taken for one.
    if "\r" in source or "{{{" in source or not is_plain(_INCLUDE.sub("%", source)):
        return None
    return tuple(
        (match[1] or match[2], source.count("\n", 0, match.start()) + 1)
        for match in _INCLUDE.finditer(source)
    )
