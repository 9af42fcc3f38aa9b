"""Text as it is searched: without what hides a word from a search but not from a reader."""

from __future__ import annotations

import re
import unicodedata

from gatekeeper.checks.text.overlap.references import LONGEST
from gatekeeper.checks.text.words import UNSPACED
from gatekeeper.contract.reading.data_blocks import INVISIBLE

_WORD = re.compile(rf"[{UNSPACED}]|(?:(?![{UNSPACED}])[^\W_])+")


def plain(text: str) -> str:
    """Return the text without invisible characters, with full-width letters and digits, ligatures
    and the like as ordinary ones (Unicode's NFKC)."""
    return unicodedata.normalize("NFKC", INVISIBLE.sub("", text))


def plain_words(text: str) -> list[str]:
    """Return the words of a text, comparable; a character of a script without spaces is a word."""
    return _WORD.findall(plain(text).casefold())


def too_long(text: str) -> str | None:
    """Return why a text cannot be searched; None if it can."""
    if len(text) <= LONGEST:
        return None
    return f"a text of {len(text):,} characters is too long to search"
