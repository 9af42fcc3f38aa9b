"""Reads promptfoo's `transform`: JavaScript, of which a few plain expressions are understood."""

from __future__ import annotations

import re
from dataclasses import dataclass

_STEP = r"""(?:\??\.[A-Za-z_$][\w$]*|\[\d{1,6}\]|\[(?:"[^"\\\]]*"|'[^'\\\]]*')\])"""
_PARSED = re.compile(rf"JSON\.parse\(\s*output\s*\)(?P<path>{_STEP}+)")
_PART = re.compile(rf"output(?P<path>{_STEP}+)")
_CALLS = re.compile(r"output(?P<calls>(?:\.(?:trim|toLowerCase|toString)\(\))+)")
_STEPS = re.compile(
    r"""\??\.(?P<name>[A-Za-z_$][\w$]*)|\[(?P<index>\d+)\]|\[["'](?P<key>[^"']*)["']\]"""
)
_OF_TEXT = frozenset({"length", "constructor", "prototype", "__proto__"})


@dataclass(frozen=True, slots=True)
class Transform:
    """What an expression does to an output: it takes the part at `field` of its JSON, or applies
    `repairs`, which are steps of a contract's `repair`."""

    field: str | None = None
    repairs: tuple[str, ...] = ()


def read_transform(written: str) -> Transform | None:
    """Return what the expression does; None if gatekeeper cannot do it."""
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
