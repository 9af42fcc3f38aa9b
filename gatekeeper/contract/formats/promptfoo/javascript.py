"""Reads the JavaScript of promptfoo's files: patterns, which match the same texts here, and the few
plain expressions of a `transform` that are understood."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import takewhile

_SPACE = r"\t\n\v\f\r \xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
_LINE_ENDS = r"\n\r\u2028\u2029"
_CLASSES = {"d": "0-9", "w": "A-Za-z0-9_", "s": _SPACE}
_IN_A_CLASS = {
    **_CLASSES,
    "b": r"\x08",
    "D": r"\x00-/:-\U0010ffff",
    "W": r"\x00-/:-@\[-\^`\{-\U0010ffff",
    "S": r"\x00-\x08\x0e-\x1f!-\x9f\xa1-\u167f\u1681-\u1fff\u200b-\u2027\u202a-\u202e\u2030-\u205e"
    r"\u2060-\u2fff\u3001-\ufefe\uff00-\U0010ffff",
}
_BOUNDARY = "(?:(?<![A-Za-z0-9_])(?=[A-Za-z0-9_])|(?<=[A-Za-z0-9_])(?![A-Za-z0-9_]))"
_NO_BOUNDARY = "(?:(?<![A-Za-z0-9_])(?![A-Za-z0-9_])|(?<=[A-Za-z0-9_])(?=[A-Za-z0-9_]))"
_HEX = re.compile(r"x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})")
_NAMED = re.compile(r"k<([A-Za-z_$][\w$]*)>")
_GROUP = re.compile(r"\?(?::|=|!|<=|<!|<[A-Za-z_$][\w$]*>)")
_QUANTIFIER = re.compile(r"\{\d+(?:,\d*)?\}")

_STEP = r"""(?:\??\.[A-Za-z_$][\w$]*|\[\d{1,6}\]|\[(?:"[^"\\\]]*"|'[^'\\\]]*')\])"""
_PARSED = re.compile(rf"JSON\.parse\(\s*output\s*\)(?P<path>{_STEP}+)")
_PART = re.compile(rf"output(?P<path>{_STEP}+)")
_CALLS = re.compile(r"output(?P<calls>(?:\.(?:trim|toLowerCase|toString)\(\))+)")
_STEPS = re.compile(
    r"""\??\.(?P<name>[A-Za-z_$][\w$]*)|\[(?P<index>\d+)\]|\[["'](?P<key>[^"']*)["']\]"""
)
_OF_TEXT = frozenset({"length", "constructor", "prototype", "__proto__"})


class NotJavaScriptError(ValueError):
    """Why a text is no pattern of JavaScript."""


def translate_pattern(pattern: str) -> str:
    """Return a pattern for `regex` that matches what JavaScript's `new RegExp(pattern)` matches.

    Raises NotJavaScriptError for what JavaScript refuses: `(?i)`, and possessive quantifiers.
    """
    made: list[str] = []
    at = 0
    while at < len(pattern):
        part, at = _part(pattern, at)
        made.append(part)
    return "".join(made)


def _part(pattern: str, at: int) -> tuple[str, int]:
    character = pattern[at]
    if character == "\\":
        return _escape(pattern, at + 1)
    if character == "[":
        return _class(pattern, at + 1)
    if character == "(":
        return _open(pattern, at + 1)
    if character == ".":
        return f"[^{_LINE_ENDS}]", at + 1
    if character == "$":
        return r"\Z", at + 1
    if character == "{":
        match = _QUANTIFIER.match(pattern, at)
        return _quantified(pattern, match[0], match.end()) if match else (r"\{", at + 1)
    if character in "*+?":
        return _quantified(pattern, character, at + 1)
    return (r"\}" if character == "}" else character), at + 1


def _quantified(pattern: str, quantifier: str, at: int) -> tuple[str, int]:
    """Return a quantifier with a `?` after it, if there is one."""
    if pattern[at : at + 1] == "?":
        quantifier, at = quantifier + "?", at + 1
    if pattern[at : at + 1] in ("*", "+", "?") or _QUANTIFIER.match(pattern, at):
        raise NotJavaScriptError(f"`{quantifier}{pattern[at]}` repeats nothing")
    return quantifier, at


def _open(pattern: str, at: int) -> tuple[str, int]:
    if pattern[at : at + 1] != "?":
        return "(", at
    match = _GROUP.match(pattern, at)
    if match is None:
        shown = pattern[at - 1 : at + 4]
        raise NotJavaScriptError(f"a JavaScript regular expression cannot have the group `{shown}`")
    return "(" + match[0], match.end()


def _escape(pattern: str, at: int) -> tuple[str, int]:
    if at >= len(pattern):
        raise NotJavaScriptError("it ends with a backslash")
    character = pattern[at]
    if character in _CLASSES:
        return f"[{_CLASSES[character]}]", at + 1
    if character in "DWS":
        return f"[^{_CLASSES[character.lower()]}]", at + 1
    if character in "bB":
        return (_BOUNDARY if character == "b" else _NO_BOUNDARY), at + 1
    if character.isdigit() and character != "0":
        digits = "".join(takewhile(str.isdigit, pattern[at:]))
        # A group that has not matched anything is empty in JavaScript.
        return f"(?({digits})\\{digits}|)", at + len(digits)
    named = _NAMED.match(pattern, at)
    if named:
        return f"(?({named[1]})(?P={named[1]})|)", named.end()
    return _literal(pattern, at)


def _literal(pattern: str, at: int) -> tuple[str, int]:
    """Return the character that an escape stands for."""
    character = pattern[at]
    match = _HEX.match(pattern, at)
    if match:
        return re.escape(chr(int(match[1] or match[2], 16))), match.end()
    if character in "nrtvf":
        return f"\\{character}", at + 1
    if character == "0":
        return r"\x00", at + 1
    if character == "c" and re.match(r"[A-Za-z]", pattern[at + 1 : at + 2]):
        return f"\\x{ord(pattern[at + 1]) % 32:02x}", at + 2
    return re.escape(character), at + 1


def _class(pattern: str, at: int) -> tuple[str, int]:
    """Return a set of characters. In JavaScript `[]` matches nothing and `[^]` anything."""
    negated = pattern[at : at + 1] == "^"
    at += negated
    made: list[str] = []
    while pattern[at : at + 1] != "]":
        if at >= len(pattern):
            raise NotJavaScriptError("a `[` has no `]`")
        part, after = pattern[at], pattern[at + 1 : at + 2]
        if part == "\\" and after:
            known = _IN_A_CLASS.get(after)
            part, at = (known, at + 2) if known else _literal(pattern, at + 1)
        else:
            part, at = (part if part.isalnum() or part == "-" else re.escape(part)), at + 1
        made.append(part)
    if not made:
        return (r"[\s\S]" if negated else r"(?!)"), at + 1
    return f"[{'^' if negated else ''}{''.join(made)}]", at + 1


@dataclass(frozen=True, slots=True)
class Transform:
    """What an expression does to an output: it takes the part at `field` of its JSON, or applies
    `repairs`, which are steps of a contract's `repair`."""

    field: str | None = None
    repairs: tuple[str, ...] = ()


def read_transform(written: object) -> Transform | None:
    """Return what the expression does; None if gatekeeper cannot do it."""
    if not isinstance(written, str):
        return None
    text = written.strip().removesuffix(";").removeprefix("return ").strip()
    if text == "output" or re.fullmatch(r"JSON\.parse\(\s*output\s*\)", text):
        return Transform()  # checks read JSON themselves
    calls = _CALLS.fullmatch(text)
    if calls:
        names = re.findall(r"\.(\w+)", calls["calls"])
        known = {"trim": "strip_whitespace", "toLowerCase": "lowercase"}
        steps = [known[name] for name in names if name in known]
        return Transform(repairs=tuple(dict.fromkeys(steps)))
    parsed = _PARSED.fullmatch(text) or _PART.fullmatch(text)
    if parsed is None:
        return None
    path = ""
    for step in _STEPS.finditer(parsed["path"]):
        if step["index"] is not None:
            path += f"[{step['index']}]"
            continue
        name = step["name"] if step["name"] is not None else step["key"]
        if name in _OF_TEXT or not name:
            return None
        plain = re.fullmatch(r"[\w$-]+", name)
        path += (f".{name}" if path else name) if plain else f'["{name}"]'
    return Transform(field=path)
