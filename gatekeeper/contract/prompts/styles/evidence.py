"""Decides in which style a prompt is written if its contract does not say so."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, get_args

from gatekeeper.contract.definition import TemplateStyle
from gatekeeper.contract.prompts.kinds import TEMPLATE_SUFFIXES
from gatekeeper.contract.prompts.styles.format_fields import count_fields
from gatekeeper.contract.prompts.styles.literal import StyleFault

_BY_SUFFIX: dict[TemplateStyle, tuple[str, ...]] = {
    "mustache": (".mustache", ".hbs", ".handlebars"),
    "nunjucks": (".njk", ".nunjucks"),
    "jinja": (*TEMPLATE_SUFFIXES, ".prompty"),
}
# None of these is a tag of Jinja.
_MUSTACHE = re.compile(
    r"""(?<!['"{])\{\{(?:\{\s*[\w.-]+\s*\}\}\}(?!\})|[&#^/]\s*[\w.-]+\s*\}\}(?!\}))"""
)
_JINJA = re.compile(r"\{%|(?<!\{)\{#")
_JINJA_NAME = re.compile(r"(?<!\{)\{\{[-+]?\s*[^\W\d][\w.]*\s*(?:\|[^{}]*)?[-+]?\}\}(?!\})")


def declared_style(data: Mapping[str, Any]) -> TemplateStyle | None:
    """Return the style that a contract's data declares; None without one that is known."""
    written = data.get("template")
    return next((style for style in get_args(TemplateStyle) if style == written), None)


def likely_style(path: str, part: str, texts: Sequence[str]) -> TemplateStyle:
    """Return the style of a prompt's texts.

    The suffix of the file decides if it belongs to one style, and tags that only Mustache has. A
    constant or the value of a key is a format string if `str.format` would fill in a name of it and
    nothing in it looks like a statement of Jinja. Everything else is Jinja.
    """
    for style, suffixes in _BY_SUFFIX.items():
        if path.lower().endswith(suffixes):
            return style
    if any(map(_JINJA.search, texts)):
        return "jinja"
    fields = [count_fields(text) for text in texts] if part else []
    is_format = any(fields) and None not in fields
    # In Python's format strings, `{{{x}}}` is a value in braces.
    if is_format and path.lower().endswith(".py"):
        return "fstring"
    if any(map(_MUSTACHE.search, texts)):
        return "mustache"
    return "fstring" if is_format else "jinja"


def refuse_both(text: str) -> None:
    """Raise StyleFault if a format string also has what looks like a variable of Jinja."""
    both = _JINJA_NAME.search(text)
    if both:
        what = f"the text contains both `{both.group()[:100]}` and names in single braces"
        fix = "write `template: fstring` or `template: jinja` in the contract"
        raise StyleFault(what, fix, text.count("\n", 0, both.start()) + 1)
