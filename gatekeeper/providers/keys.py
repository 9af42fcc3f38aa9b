"""Which variables of the environment open the models: what only those know who may ask them."""

from __future__ import annotations

import re
from collections.abc import Mapping

_KEY = re.compile(r"API_KEY$")
_ADDRESS = re.compile(r"(?:API_BASE|BASE_URL)$")
_SHORTEST = 16
"""Shorter ones stand in for a key where a server asks for none, and can be guessed."""


def model_access(environ: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """The keys by their names, and the addresses they are for: another server answers
    differently. Empty without a key of 16 characters or more."""
    keys = [(n, v) for n, v in environ.items() if _KEY.search(n) and len(v) >= _SHORTEST]
    if not keys:
        return ()
    return (*keys, *((n, v) for n, v in environ.items() if _ADDRESS.search(n)))
