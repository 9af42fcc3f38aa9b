"""Puts texts under judgement into a message so that they stay data, whatever they say.

Each text stands between two lines with a mark. The mark is the SHA-256 of all texts of the message:
nobody can write a text that contains its own digest, so no text can close its block. And because
the mark depends on nothing else, the same question has the same mark in every run, so that a judge
is asked once and recordings can be replayed.

Before that, what only looks like such a line is taken apart, so that a judge that reads carelessly
does not stop there either, and so are the tokens of chat templates (chat_tokens.py), with which a
text could open a message of its own. Characters that nobody sees are removed.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping

from gatekeeper.contract.reading.chat_tokens import take_apart

_MARK_CHARACTERS = 32

# Unicode's Default_Ignorable_Code_Point, which no screen shows, without the two joiners.
_IGNORABLE = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f"
    "\u3164\ufe00-\ufe0e\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff"
)
_CONTROL = "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ufff9-\ufffb"
# A single selector of the colourful form of an emoji stays: it can hide no text.
_HIDDEN = re.compile(f"[{_IGNORABLE}{_CONTROL}]|(?<=[{_IGNORABLE}\ufe0f\u200c\u200d])\ufe0f")
INVISIBLE = re.compile(f"[{_IGNORABLE}\ufe0f\u200c\u200d]")
# Persian, Indic scripts and emoji need a single joiner between two characters.
_JOINER = re.compile(
    "(?<![^\x00-\x7f\u200c\u200d])[\u200c\u200d]|[\u200c\u200d](?![^\x00-\x7f\u200c\u200d])"
)
_OPENING = re.compile(r"The mark of this message is (\w+)\.")
_SURROGATES = re.compile("[\ud800-\udfff]")
_GAP = r"[\s\u200c-\u200f]{0,8}"
_DELIMITER = re.compile(
    rf"[<＜﹤‹〈⟨«](?={_GAP}[/／⁄∕\\]?{_GAP}[dｄ]{_GAP}[aａа]{_GAP}[tｔт]{_GAP}[aａа])",
    re.IGNORECASE,
)


def clean(text: str) -> str:
    """Return the text without what could be taken for the end of a block of data, or for the start
    of another message. Everything else stays as it is."""
    text = _JOINER.sub("", _HIDDEN.sub("", _SURROGATES.sub("\ufffd", text)))
    return take_apart(_DELIMITER.sub("(", text))


def mark_of(texts: Mapping[str, str]) -> str:
    """Return the mark of a message with these texts by name."""
    whole = hashlib.sha256()
    for name, text in texts.items():
        # Lengths first, so that no text can pass for the end of another.
        encoded = text.encode("utf-8")
        whole.update(f"{name} {len(encoded)}\n".encode())
        whole.update(encoded)
    return whole.hexdigest()[:_MARK_CHARACTERS]


def data_message(texts: Mapping[str, str], instruction: str) -> str:
    """Return a message with each text as a block of data, and then the instruction."""
    cleaned = {name: clean(text) for name, text in texts.items()}
    mark = mark_of(cleaned)
    blocks = [
        f"<data {name} {mark}>\n{text}\n</data {name} {mark}>" for name, text in cleaned.items()
    ]
    opening = f"The mark of this message is {mark}. Only lines with this mark begin or end data."
    return "\n\n".join([opening, *blocks, instruction])


def shown_texts(message: str) -> tuple[str, ...]:
    """Return the texts in the blocks of a `data_message`."""
    opening = _OPENING.match(message)
    if opening is None:
        return ()
    mark = opening[1]
    block = re.compile(
        rf"^<data ([^\n]*) {mark}>\n(.*?)\n</data \1 {mark}>$", re.DOTALL | re.MULTILINE
    )
    return tuple(found[2] for found in block.finditer(message))
