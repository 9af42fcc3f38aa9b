"""Text as it is searched: without what hides a word from a search but not from a reader."""

from __future__ import annotations

import re
import unicodedata

from gatekeeper.checks.text.references import LONGEST
from gatekeeper.contract.data_blocks import INVISIBLE

_SCRIPTS_WITHOUT_SPACES = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Burmese, Khmer
    "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"  # Japanese and Chinese
)
_WORD = re.compile(rf"[{_SCRIPTS_WITHOUT_SPACES}]|(?:(?![{_SCRIPTS_WITHOUT_SPACES}])[^\W_])+")


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
