"""Translates Nunjucks, the template language of promptfoo, to Jinja.

Most of it is the same. Other spellings are translated; tags, filters and calls that Jinja does not
have, or that do something else there, are refused with their line. Source: Nunjucks 3.2,
"Templating". Values are never escaped for HTML, as promptfoo sets it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gatekeeper.contract.prompts.styles.literal import StyleFault, with_line_end

_START = re.compile(r"\{([{%#])")
_RAW = re.compile(r"[-]?\s*(raw|verbatim)\s*[-]?%\}")
_TOKEN = re.compile(
    r"(?P<space>\s+)"
    r"|(?P<text>\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*')"
    r"|(?P<regex>r/(?:[^/\\\n]|\\.)+/[gimy]*)"
    r"|(?P<number>\d+(?:\.\d+)?)"
    r"|(?P<name>[A-Za-z_$][\w$]*)"
    r"|(?P<end>[-+]?(?:\}\}|%\}))"
    r"|(?P<sign>===|!==|==|!=|<=|>=|\*\*|//|&&|\|\||[-+*/%~<>=|.,:()\[\]{}!?])",
    re.S,
)
_SIGNS = {"===": "==", "!==": "!="}
_REFUSED_SIGNS = {"&&": "and", "||": "or", "!": "not", "?": "… if … else …"}
_WORDS = {"null": "none", "elseif": "elif"}
_TAGS = frozenset(
    {"if", "elif", "elseif", "else", "endif", "for", "endfor", "set", "endset"}
    | {"macro", "endmacro", "call", "endcall", "filter", "endfilter"}
)
_SAME_FILTERS = frozenset(
    {"abs", "capitalize", "center", "d", "default", "first", "float", "indent", "int", "join"}
    | {"last", "length", "list", "lower", "replace", "reverse", "round", "string", "sum", "title"}
    | {"trim", "upper", "urlencode", "wordcount"}
)
_FILTERS = {"dump": "tojson"} | {name: name for name in _SAME_FILTERS}
_CALLS = frozenset({"range", "caller"})
_OPERATORS = frozenset({"and", "or", "not"})
_CONSTANTS = frozenset({"true", "false", "none", "null", "True", "False", "None"})


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str


def translate(text: str) -> str:
    """Return the Jinja template of a Nunjucks template. Raises StyleFault."""
    macros = frozenset(re.findall(r"\{%-?\s*macro\s+([A-Za-z_]\w*)", text))
    parts: list[str] = []
    place, line, counted = 0, 1, 0
    while match := _START.search(text, place):
        parts.append(text[place : match.start()])
        line += text.count("\n", counted, match.start())
        counted = match.start()
        made, place = _tag(text, match, macros, line)
        parts.append(made)
    return with_line_end("".join(parts) + text[place:])


def _tag(text: str, start: re.Match[str], macros: frozenset[str], line: int) -> tuple[str, int]:
    """Return the translated tag, and where the text goes on."""
    if start[1] == "#":
        end = text.find("#}", start.end())
        if end < 0:
            raise StyleFault("a comment that does not end", "close it with `#}`", line)
        return text[start.start() : end + 2], end + 2
    raw = _RAW.match(text, start.end()) if start[1] == "%" else None
    if raw:
        return _raw(text, raw, line)
    tokens, place = _tokens(text, start.end(), line)
    if start[1] == "{":
        return "{{" + _output(tokens, macros, line), place
    return "{%" + _statement(tokens, macros, line), place


def _raw(text: str, start: re.Match[str], line: int) -> tuple[str, int]:
    closing = re.compile(r"\{%(-?)\s*end" + start[1] + r"\s*(-?)%\}")
    end = closing.search(text, start.end())
    if end is None:
        raise StyleFault(f"`{start[1]}` without its end", f"write `{{% end{start[1]} %}}`", line)
    opening = "{%" + start.group().replace(start[1], "raw", 1)
    return f"{opening}{text[start.end() : end.start()]}{{%{end[1]} endraw {end[2]}%}}", end.end()


def _tokens(text: str, place: int, line: int) -> tuple[list[_Token], int]:
    found: list[_Token] = []
    depth = 0
    if text[place : place + 1] in ("-", "+"):
        found.append(_Token("sign", text[place]))
        place += 1
    while match := _TOKEN.match(text, place):
        kind, written = match.lastgroup or "", match.group()
        # The braces of an object may stand before those of the tag.
        if kind == "end" and depth and written == "}}":
            kind, written = "sign", "}"
        depth += (written == "{") - (written == "}") if kind == "sign" else 0
        found.append(_Token(kind, written))
        place += len(written)
        if kind == "end":
            return found, place
    what = "a tag that does not end, or has a sign that templates do not know"
    raise StyleFault(what, "correct the tag", line)


def _output(tokens: Sequence[_Token], macros: frozenset[str], line: int) -> str:
    inner = [token for token in tokens if token.kind not in ("space", "end")]
    dashes = "-" if inner and inner[0] == _Token("sign", "-") else ""
    made = "".join(_translated(tokens, macros, line))
    path = inner[1:] if dashes else inner
    if not _is_path(path):
        return made
    name = "".join(_translated(path, macros, line))
    end = tokens[-1].text
    lines = "\n" * made.count("\n")
    # JavaScript writes `true`, and nothing for a value that is not there.
    shown = f"('true' if {name} else 'false') if {name} is boolean else '' if {name} is none"
    return f"{dashes} {shown} else {name}{lines} {end}"


def _statement(tokens: Sequence[_Token], macros: frozenset[str], line: int) -> str:
    words = [token for token in tokens if token.kind not in ("space", "end")]
    words = words[1:] if words and words[0].text in ("-", "+") else words
    name = words[0].text if words else ""
    if name not in _TAGS:
        what = f"the tag `{name[:50]}` of Nunjucks has no counterpart here"
        raise StyleFault(what, "write the prompt with `if`, `for` and `set`", line)
    if name == "for":
        _require_one_name(words, line)
    if name in ("if", "elif", "elseif") and _is_condition(words[1:]):
        return "".join(_condition(tokens, macros, line))
    return "".join(_translated(tokens, macros, line))


def _require_one_name(words: Sequence[_Token], line: int) -> None:
    if len(words) > 2 and words[2].text == ",":
        what = "a loop over pairs, which in Nunjucks means the keys of an object as well"
        raise StyleFault(what, "loop over a list: `{% for item in items %}`", line)


def _is_path(tokens: Sequence[_Token]) -> bool:
    """Return whether the tokens are a variable, or a field of one."""
    kinds = [token.kind for token in tokens]
    if not tokens or kinds[0] != "name" or tokens[0].text in _CONSTANTS:
        return False
    pairs = list(zip(tokens[1::2], tokens[2::2], strict=False))
    dotted = all(dot.text == "." and name.kind == "name" for dot, name in pairs)
    return len(tokens) % 2 == 1 and dotted and tokens[-1].text != "length"


def _is_condition(words: Sequence[_Token]) -> bool:
    """Return whether a condition is made of variables and and, or, not alone."""
    signs = {token.text for token in words if token.kind == "sign"} <= {".", "(", ")"}
    return (
        signs
        and all(token.kind in ("name", "sign") for token in words)
        and not any(token.text in ("is", "in", "if", "else", "length") for token in words)
    )


def _condition(tokens: Sequence[_Token], macros: frozenset[str], line: int) -> Iterator[str]:
    """Yield a condition in which each variable counts as it does in JavaScript: one that is not
    there is false, and an empty list is true."""
    index, seen_tag = 0, False
    while index < len(tokens):
        token = tokens[index]
        if token.kind != "name" or token.text in _OPERATORS | _CONSTANTS or not seen_tag:
            seen_tag |= token.kind == "name"
            yield from _translated([token], macros, line)
            index += 1
            continue
        end = index + 1
        while end + 1 < len(tokens) and tokens[end].text == "." and tokens[end + 1].kind == "name":
            end += 2
        if end < len(tokens) and tokens[end].text == "(":
            raise _call_fault(token.text, line)
        name = "".join(part.text for part in tokens[index:end])
        empty = f"{name} is mapping or {name} is sequence and {name} is not string"
        yield f"({name} is defined and ({name} or {empty}))"
        index = end


def _translated(tokens: Sequence[_Token], macros: frozenset[str], line: int) -> Iterator[str]:
    seen: list[_Token] = []
    following = [token.text for token in tokens if token.kind != "space"]
    for token in tokens:
        if token.kind == "space":
            yield token.text
            continue
        before = seen[-1].text if seen else ""
        seen.append(token)
        rest = following[len(seen)] if len(seen) < len(following) else ""
        if token.kind == "regex":
            raise StyleFault("a regular expression", "put what it finds into the fixture", line)
        if token.kind == "sign":
            if token.text in _REFUSED_SIGNS:
                what = f"`{token.text}` is no operator of templates"
                raise StyleFault(what, f"write `{_REFUSED_SIGNS[token.text]}`", line)
            is_length = token.text == "." and rest == "length"
            yield "|" if is_length else _SIGNS.get(token.text, token.text)
        elif token.kind == "name":
            yield _name(token.text, before, rest, macros, line)
        else:
            yield token.text


def _name(text: str, before: str, rest: str, macros: frozenset[str], line: int) -> str:
    if before == "|":
        if text not in _FILTERS:
            what = f"the filter `{text}` of Nunjucks has no counterpart here"
            raise StyleFault(what, "put the finished text into the fixture", line)
        return _FILTERS[text]
    if "$" in text:
        raise StyleFault(f"`{text}` cannot be the name of a variable", "rename it", line)
    if rest == ":" and before in ("{", ","):
        raise StyleFault(f"the key `{text}` is not in quotes", f'write `"{text}":`', line)
    if before == ".":
        if rest == "(":
            raise _call_fault(text, line)
        return text
    is_word = text in _OPERATORS or text in ("in", "if", "else", "is", "elif", "elseif")
    is_macro = before == "macro" or text in macros | _CALLS or text == "call"
    if rest == "(" and not is_word and not is_macro and before not in ("is", "not"):
        raise _call_fault(text, line)
    return _WORDS.get(text, text)


def _call_fault(name: str, line: int) -> StyleFault:
    what = f"`{name}(…)` calls a function of JavaScript"
    return StyleFault(what, "put its result into the fixture", line)
