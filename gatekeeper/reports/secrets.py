"""Find the secrets of this process's environment, which must not appear in anything written."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import unquote

_SECRET_NAME = re.compile(r"(?:^|_)(?:KEY|TOKEN|SECRET|PASSWORD|CREDENTIALS)(?:_|$)", re.IGNORECASE)
_LONG_PART = re.compile(r"[^/:@?&=\s]{16,}")
"""The shortest part of a notification address that counts as a token. Other words in an
address are shorter."""
_PASSWORD = re.compile(r"://[^/@:]*:(.+)@")
_ADDRESS_NAME = re.compile(r"(?:_PROXY|_BASE|_URL)$", re.IGNORECASE)
_SHORTEST_SECRET = 8
"""Shorter values occur in ordinary text, and replacing them would garble a report."""


def secrets_in(environ: Mapping[str, str], token: str = "") -> tuple[str, ...]:
    """Return the values that must not appear in anything written, the longest first.

    A variable holds a secret if its name says so (`…_KEY`, `…_TOKEN`). The action's inputs
    `history` and `notify` may hold one inside an address, and so may the address of a proxy or a
    model's server.
    """
    values = {value for name, value in environ.items() if _SECRET_NAME.search(name)} | {token}
    for name, value in environ.items():
        if name == "INPUT_HISTORY" or _ADDRESS_NAME.search(name):
            for password in _PASSWORD.findall(value):
                values |= {password, unquote(password)}
    for address in environ.get("INPUT_NOTIFY", "").split():
        values |= {address, *_LONG_PART.findall(address)}
    # The longest first, so that a secret which contains another is replaced as a whole.
    return tuple(
        sorted((v for v in values if len(v) >= _SHORTEST_SECRET), key=lambda v: (-len(v), v))
    )
