"""Decides in which style a prompt is written if its contract does not say so.

Text is the style of a prompt that shows no template engine: it hides nothing. A comment of Jinja
alone shows none, because a program that sends the text as it is would send it too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, get_args

from gatekeeper.contract.prompts.kinds import GITHUB_PROMPT, TEMPLATE_SUFFIXES
from gatekeeper.contract.prompts.styles.format_fields import count_fields
from gatekeeper.contract.prompts.styles.literal import PATH, StyleFault
from gatekeeper.contract.values.definition import ShownBy, TemplateStyle

_BY_SUFFIX: dict[TemplateStyle, tuple[str, ...]] = {
    "mustache": (".mustache", ".hbs", ".handlebars"),
    "nunjucks": (".njk", ".nunjucks"),
    "jinja": (*TEMPLATE_SUFFIXES, ".prompty"),
    # `gh models` and the action ai-inference replace `{{name}}`, and nothing else.
    "text": GITHUB_PROMPT,
}
# None of these is a tag of Jinja.
_MUSTACHE = re.compile(
    r"""(?<!['"{])\{\{(?:\{\s*[\w.-]+\s*\}\}\}(?!\})|[&#^/]\s*[\w.-]+\s*\}\}(?!\}))"""
)
_STATEMENT = re.compile(
    r"\{%[-+]?\s*+(?:autoescape|block|call|extends|filter|for|from|if|import|include|macro|print"
    r"|raw|set|with)\b"
)
# More than a name: control of white space, an operator, a filter, a call, or a text in quotes.
_TEXT = r"""(?:"[^"\n]*+"|'[^'\n]*+')"""
_EXPRESSION = re.compile(
    rf"""\{{\{{ (?:
      [-+]\s*+{PATH}\s*+[-+]?\}}\}}
    | \s*+{PATH}\s*+[-+]\}}\}}
    | [-+]?\s*+{_TEXT}\s*+[-+]?\}}\}}
    | [-+]?\s*+(?:{PATH}|{_TEXT})\s*+
      (?: [|~(\[] | (?<=["'])\. | (?<=\s)[-+*/%]\s | [=!]= | [<>] | (?:and|if|in|is|not|or)\b )
    | [-+]?\s*+(?: [(\[\d] | not\b )
    )""",
    re.VERBOSE,
)
_COMMENT = re.compile(r"(?<!\{)\{#")
_JINJA_NAME = re.compile(r"(?<!\{)\{\{[-+]?\s*[^\W\d][\w.]*\s*(?:\|[^{}]*)?[-+]?\}\}(?!\})")


class Evidence(NamedTuple):
    """The style of a prompt, and what shows it. `sign` names that for a person."""

    style: TemplateStyle
    shown_by: ShownBy
    sign: str = ""


def declared_style(data: Mapping[str, Any]) -> TemplateStyle | None:
    """Return the style that a contract's data declares; None without one that is known."""
    written = "instructions" if "instructions" in data else data.get("template")
    return next((style for style in get_args(TemplateStyle) if style == written), None)


def recognise_style(path: str, part: str, texts: Sequence[str]) -> Evidence:
    """Return the style of a prompt's texts.

    The suffix of the file decides if it belongs to one style, then statements of Jinja. A constant
    or the value of a key is a format string if `str.format` would fill in a name of it. Then tags
    that only Mustache has decide, and expressions of Jinja that are more than a name.
    """
    for style, suffixes in _BY_SUFFIX.items():
        suffix = next((s for s in suffixes if path.lower().endswith(s)), None)
        if suffix:
            return Evidence(style, "file", f"the suffix `{suffix}`")
    if any(map(_STATEMENT.search, texts)):
        return Evidence("jinja", "text", "`{% … %}`")
    fields = [count_fields(text) for text in texts] if part else []
    is_format = any(fields) and None not in fields
    as_format = Evidence("fstring", "text", "names in single braces")
    # In Python's format strings, `{{{x}}}` is a value in braces.
    if is_format and path.lower().endswith(".py"):
        return as_format
    if any(map(_MUSTACHE.search, texts)):
        return Evidence("mustache", "text", "tags of Mustache")
    if is_format:
        return as_format
    if any(map(_EXPRESSION.search, texts)):
        return Evidence("jinja", "text", "more than a name in `{{ … }}`")
    if any(map(_has_comment, texts)):
        return Evidence("text", "comment", "`{# … #}`")
    return Evidence("text", "nothing")


def _has_comment(text: str) -> bool:
    opening = _COMMENT.search(text)
    return opening is not None and "#}" in text[opening.end() :]


def refuse_both(text: str) -> None:
    """Raise StyleFault if a format string also has what looks like a variable of Jinja."""
    both = _JINJA_NAME.search(text)
    if both:
        what = f"the text contains both `{both.group()[:100]}` and names in single braces"
        fix = (
            "in a contract for this prompt, write `template: fstring` if `str.format` fills in the "
            "names, or `template: jinja`"
        )
        raise StyleFault(what, fix, text.count("\n", 0, both.start()) + 1)
