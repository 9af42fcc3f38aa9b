"""The words of a text, also in scripts that write no spaces between words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from unicodedata import normalize

from gatekeeper.checks.check import ParameterError
from gatekeeper.checks.extras import import_extra

UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\uaa60-\uaa7f\u1780-\u17ff"  # Thai, Lao, Burmese, Khmer
    "\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\uff66-\uff9f"  # Japanese
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Chinese and Japanese
)
_LONGEST = 100_000
_UNSPACED = re.compile(f"[{UNSPACED}]")


def spaced_words(text: str, check: str) -> list[str]:
    """Return what stands between white space; of text without spaces, its words.

    Raises ParameterError if text without spaces cannot be divided.
    """
    return [word for part in text.split() for word in _words(part, check)]


def lettered_words(text: str, check: str) -> list[str]:
    """Return each sequence of letters, marks and digits, in lower case; of text without spaces, its
    words. Raises as `spaced_words` does."""
    import regex

    found = regex.findall(r"[\p{L}\p{M}\p{N}]+", normalize("NFC", text.lower()))
    return [word for part in found for word in _words(part, check)]


def _words(part: str, check: str) -> Iterator[str]:
    """Yield the words of a text without white space, by ICU's dictionaries if it needs them."""
    if not _UNSPACED.search(part):
        yield part
        return
    if len(part) > _LONGEST:
        what = f"a text of {len(part):,} characters without spaces is too long to find its words"
        raise ParameterError(what, "use `unit: characters`")
    breakers = import_extra("icu4py.breakers", check)
    for word in breakers.WordBreaker(part, "und"):
        if any(map(str.isalnum, word)):
            yield word
