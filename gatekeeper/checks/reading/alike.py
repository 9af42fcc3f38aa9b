"""Shows by code points how two texts differ that look the same to a reader."""

from __future__ import annotations

from functools import lru_cache
from unicodedata import normalize

from gatekeeper.contract.reading.data_blocks import INVISIBLE

_LONGEST = 10_000
_SHOWN = 2
# Letters of Cyrillic and Greek, and punctuation, that look like characters of a keyboard.
_LOOKS = str.maketrans(
    "аесорхуіјѕԁһкАВЕЅІЈКМНОРСТХУΑΒΕΖΗΙΚΜΝΟΡΤΥΧονі‐‑‒–−’‘ʼ´`“”„«»ꞌ",
    "aecopxyijsdhkABESIJKMHOPCTXYABEZHIKMNOPTYXovi-----'''''\"\"\"\"\"'",
)


def unseen_difference(wanted: str, found: str) -> str:
    """Return how the place in a text that looks like the wanted text differs from it, as the end of
    a sentence; nothing if no place looks so, or the wanted text stands there."""
    if (wanted + found).isascii() or max(len(wanted), len(found)) > _LONGEST or wanted in found:
        return ""
    if _look(normalize("NFC", wanted)) not in _look_of_output(found):
        return ""
    sought = "".join(look for _, look in _looks(wanted))
    looks = _looks(found)
    start = "".join(look for _, look in looks).find(sought) if sought else -1
    if start < 0:
        return ""
    places = [at for at, look in looks for _ in look]
    end = start + len(sought)
    there = found[places[start] : places[end] if end < len(places) else len(found)]
    pairs = enumerate(zip(wanted, there, strict=False))
    at = next((n for n, (one, other) in pairs if one != other), min(len(wanted), len(there)))
    return f", which looks the same but has {_points(there[at:])} instead of {_points(wanted[at:])}"


def _looks(text: str) -> list[tuple[int, str]]:
    """Return how each character with its marks looks, and its place."""
    found: list[tuple[int, str]] = []
    at = 0
    while at < len(text):
        end = at + 1
        while end < len(text) and not normalize("NFC", text[at : end + 1])[1:]:
            end += 1
        look = _look(text[at:end])
        found.append((at, " " if look.isspace() and look != "\n" else look))
        at = end
    return found


@lru_cache(maxsize=4)  # a check can compare an output with many values
def _look_of_output(text: str) -> str:
    return _look(normalize("NFC", text))


def _look(text: str) -> str:
    return normalize("NFKC", INVISIBLE.sub("", text.translate(_LOOKS)))


def _points(text: str) -> str:
    return " ".join(f"U+{ord(c):04X}" for c in text[:_SHOWN]) or "nothing"
