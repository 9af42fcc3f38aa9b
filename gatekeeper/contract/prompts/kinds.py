"""Decides by its path how a prompt file is read, and whether its text may include other files.

The parser of prompt files and the search for included files both use this module. If they
disagreed, the parser could include a file that the search does not find.
"""

from __future__ import annotations

import re
from typing import Literal

TEMPLATE_SUFFIXES = (".jinja2", ".jinja", ".j2")
GITHUB_PROMPT = (".prompt.yml", ".prompt.yaml")
_STRUCTURED = (".yaml", ".yml", ".json")
_SECTIONED = (".prompty", ".md", ".markdown", ".prompt")

PromptKind = Literal["structured", "sectioned", "text"]
"""`structured`: data that holds messages. `sectioned`: front matter and role lines, if any.
`text`: one user message."""

# JSON and YAML can write any character in other words, and YAML can break a line inside a word.
# These escapes alone are known to hide nothing.
_HIDING_ESCAPE = re.compile(r'\\(?!["\\/abfnrtv0])')
# Each statement of Jinja that takes another file has one of these words in it.
_TAKES_FILES = re.compile(r"include|import|extends")


def without_template_suffix(path: str) -> str:
    """Return the path in lower case without `.j2`, `.jinja` and `.jinja2` at its end."""
    name = path.lower()
    while name.endswith(TEMPLATE_SUFFIXES):
        name = name[: name.rindex(".")]
    return name


def prompt_kind(path: str) -> PromptKind:
    """Return how the prompt file at the path is read."""
    name = without_template_suffix(path)
    if name.endswith(_STRUCTURED):
        return "structured"
    return "sectioned" if name.endswith(_SECTIONED) else "text"


def may_hide_words(text: str) -> bool:
    """Return whether the text can have escapes or aliases, so that it contains a word, read as JSON
    or YAML, that the file itself does not contain."""
    return _HIDING_ESCAPE.search(text) is not None


def may_include(text: str, kind: PromptKind) -> bool:
    """Return False only if no template in the text can include another file. Cheap: most files
    are answered without Jinja2."""
    if kind == "structured" and may_hide_words(text):
        return True
    return "{%" in text and _TAKES_FILES.search(text) is not None
