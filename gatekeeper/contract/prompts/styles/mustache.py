"""Translates Mustache without logic: `{{x}}` is escaped for HTML, `{{{x}}}` and `{{&x}}` are not.

Source: the Mustache specification, interpolation and comments. Unlike there, a variable that a
fixture does not have is an error.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gatekeeper.contract.prompts.styles.literal import (
    StyleFault,
    literal,
    variable,
    with_line_end,
)

_TAG = re.compile(
    r"(?P<alone>(?:^|(?<=\n))[ \t]*)?"
    r"(?P<tag>\{\{(?:!(?P<comment>[\s\S]*?)\}\}|\{(?P<raw>[^{}]*)\}\}\}|(?P<sign>[#^/>=&$<]?)(?P<name>[^{}]*?)\}\}))"
    r"(?P<rest>[ \t]*(?:\n|\Z))?"
)
_PATH = re.compile(r"[^\W\d][\w-]*(?:\.[\w-]+)*")
_LOGIC = {
    "#": "a section",
    "^": "an inverted section",
    "/": "the end of a section",
    ">": "a partial",
    "<": "a parent",
    "$": "a block",
    "=": "a change of the delimiters",
}
_OPEN_TAG = ("a tag is not closed", "close the tag with `}}`")
_ESCAPES = (("&", "&amp;"), ('\\"', "&quot;"), ("<", "&lt;"), (">", "&gt;"))
_ESCAPED = "".join(f' | replace("{old}", "{new}")' for old, new in _ESCAPES)


def translate(text: str) -> str:
    """Return the Jinja template of a Mustache template. Raises StyleFault."""
    return with_line_end("".join(_parts(text)))


def _parts(text: str) -> Iterator[str]:
    end, line = 0, 1
    last_comment = text.rfind("{{!")
    if last_comment > text.rfind("}}"):  # the search for its end would go on for each comment
        raise StyleFault(*_OPEN_TAG, text.count("\n", 0, last_comment) + 1)
    for match in _TAG.finditer(text):
        before = text[end : match.start()]
        _refuse_open_tag(before, line)
        yield literal(before + ("" if match["comment"] is not None else match["alone"] or ""))
        line += before.count("\n")
        if match["comment"] is not None:
            yield _comment(match)
            end = match.end() if _is_alone(match) else match.end("tag")
        else:
            yield f"{{{{ {_value(match, line)} }}}}"
            end = match.end("tag")
        line += text[match.start() : end].count("\n")
    _refuse_open_tag(text[end:], line)
    yield literal(text[end:])


def _is_alone(match: re.Match[str]) -> bool:
    return match["alone"] is not None and match["rest"] is not None


def _comment(match: re.Match[str]) -> str:
    """Return a comment of as many lines. One alone on its lines takes their ends with it."""
    inside = "\n" * match["comment"].count("\n")
    if _is_alone(match):
        line_end = match["rest"].strip(" \t")
        return f"{{#{inside}{line_end}#}}"
    return literal(match["alone"] or "") + f"{{#{inside}#}}"


def _value(match: re.Match[str], line: int) -> str:
    sign = match["sign"] or ""
    if sign in _LOGIC:
        what = f"`{match['tag'][:100]}` is {_LOGIC[sign]}"
        fix = "remove this tag, or write the prompt in Jinja with `template: jinja`"
        raise StyleFault(what, fix, line)
    written = (match["raw"] if match["raw"] is not None else match["name"]).strip()
    if not _PATH.fullmatch(written):
        what = f"`{match['tag'][:100]}` names no variable"
        raise StyleFault(what, "write a name, such as `{{text}}` or `{{order.text}}`", line)
    name, *steps = written.split(".")
    found = variable(name, tuple(int(s) if s.isdecimal() else s for s in steps), line)
    return found if sign == "&" or match["raw"] is not None else found + _ESCAPED


def _refuse_open_tag(text: str, line: int) -> None:
    place = text.find("{{")
    if place >= 0:
        line += text.count("\n", 0, place)
        raise StyleFault(*_OPEN_TAG, line)
