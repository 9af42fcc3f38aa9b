"""Translates Nunjucks, the template language of promptfoo, to Jinja.

Only what JavaScript and Python certainly understand alike is translated; everything else is
refused with its line. A prompt could otherwise show the gate one text and the program another.
Source: Nunjucks 3.2, "Templating". Values are never escaped for HTML, as promptfoo sets it.
"""

from __future__ import annotations

import re

from gatekeeper.contract.prompts.styles.literal import StyleFault, literal, with_line_end
from gatekeeper.contract.prompts.styles.nunjucks_tags import Tag, Token

_START = re.compile(r"\{([{%#])")
_RAW = re.compile(r"\s*(raw|verbatim)\s*%\}")
_TOKEN = re.compile(
    r"(?P<space>[ \n\t\r]+)"
    r"|(?P<text>\"[^\"\\\n\r]*\"|'[^'\\\n\r]*')"
    r"|(?P<number>\d+)"
    r"|(?P<name>[A-Za-z_][A-Za-z_0-9]*)"
    r"|(?P<end>-?(?:\}\}|%\}))"
    r"|(?P<sign>===|!==|==|!=|[|=.,()\[\]])"
)


def translate(text: str) -> str:
    """Return the Jinja template of a Nunjucks template. Raises StyleFault."""
    parts: list[str] = []
    place, line, counted = 0, 1, 0
    open_blocks: list[str] = []
    while match := _START.search(text, place):
        parts.append(text[place : match.start()])
        line += text.count("\n", counted, match.start())
        counted = match.start()
        made, place = _tag(text, match, open_blocks, line)
        parts.append(made)
    return with_line_end("".join(parts) + text[place:])


def _tag(text: str, start: re.Match[str], open_blocks: list[str], line: int) -> tuple[str, int]:
    """Return the translated tag, and where the text goes on."""
    if start[1] == "#":
        end = text.find("#}", start.end())
        if end < 0:
            raise StyleFault("a comment is not closed", "close the comment with `#}`", line)
        return text[start.start() : end + 2], end + 2
    raw = _RAW.match(text, start.end()) if start[1] == "%" else None
    if raw:
        return _raw(text, raw, line)
    opening = start.group()
    place = start.end()
    if text[place : place + 1] == "-":
        opening, place = f"{opening}-", place + 1
    tokens, end = _tokens(text, place, line)
    closing = tokens.pop().text
    wanted = {"{": "}}", "%": "%}"}[start[1]]
    if closing[-2:] != wanted:
        what = "this tag is closed with the wrong characters"
        raise StyleFault(what, f"close the tag with `{wanted}`", line)
    tag = Tag(tokens, line, open_blocks)
    made = tag.output() if start[1] == "{" else tag.statement()
    # The lines of the tag stay, so that later errors have theirs.
    lines = "\n" * text.count("\n", start.start(), end)
    return f"{opening} {made}{lines} {closing}", end


def _raw(text: str, start: re.Match[str], line: int) -> tuple[str, int]:
    name = start[1]
    end = re.compile(r"\{%-?\s*(?:end)?(?:raw|verbatim)\b[^}]*\}?").search(text, start.end())
    if end is None or not re.fullmatch(r"\{%\s*end" + name + r"\s*%\}", end.group()):
        fix = f"write `{{% end{name} %}}` before any other raw or verbatim tag"
        raise StyleFault(f"the tag `{name}` has no end tag", fix, line)
    lines = "\n" * (start.group().count("\n") + end.group().count("\n"))
    # An empty tag before the text, so that no brace before it joins the first one.
    return f"{{{{ ''{lines} }}}}" + literal(text[start.end() : end.start()]), end.end()


def _tokens(text: str, place: int, line: int) -> tuple[list[Token], int]:
    """Return the tokens of a tag without spaces, the last of which is its end."""
    found: list[Token] = []
    while match := _TOKEN.match(text, place):
        place = match.end()
        kind = match.lastgroup or ""
        if kind != "space":
            found.append(Token(kind, match.group()))
        if kind == "end":
            return found, place
    what = "this tag is not closed, or has a character that Nunjucks and Jinja may read differently"
    fix = (
        "close the tag, and write in the tag only what Nunjucks and Jinja read in the same way: "
        "a variable, filters, and comparisons with a text in quotes"
    )
    raise StyleFault(what, fix, line)
