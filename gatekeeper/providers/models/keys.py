"""The environment's variables with keys of models, which only people with access know."""

from __future__ import annotations

import hmac
import re
from collections.abc import Mapping, Sequence

from gatekeeper.contract.meaning.digests import canonical
from gatekeeper.errors import UsageError

WAIVER_KEY = "GATEKEEPER_WAIVER_KEY"

_KEY = re.compile(r"API_KEY$")
_ADDRESS = re.compile(r"(?:API_BASE|BASE_URL)$")
_SALT = b"gatekeeper"
_SHORTEST = 16
"""Shorter values are placeholders for servers that need no key, and can be guessed."""
_OF_ONE_JOB = "ghs_"
"""How the tokens begin that GitHub makes for a job, which someone may pass as a key. The next job
could not verify what such a token signed."""


def model_access(environ: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Return the keys by their names, and the addresses that they are for, because another server
    answers differently. Empty without a key of 16 characters or more that other jobs have too."""
    keys = [
        (name, value)
        for name, value in environ.items()
        if _KEY.search(name) and len(value) >= _SHORTEST and not value.startswith(_OF_ONE_JOB)
    ]
    if not keys:
        return ()
    return (*keys, *((n, v) for n, v in environ.items() if _ADDRESS.search(n)))


def waiver_keys(environ: Mapping[str, str]) -> tuple[bytes, ...]:
    """Return the keys that sign and verify waivers: what the bot's job and the gate's job know,
    and no other workflow.

    The variable GATEKEEPER_WAIVER_KEY if it is set, else one key for each key of a model. The
    two jobs need to share one. Empty if there is no such secret. Raises UsageError if
    GATEKEEPER_WAIVER_KEY is too short.
    """
    given = environ.get(WAIVER_KEY, "").strip()
    if given and len(given) < _SHORTEST:
        raise UsageError(
            f"{WAIVER_KEY} has {len(given)} characters, so it can be guessed; set "
            f"a random value of {_SHORTEST} or more characters"
        )
    models = [value for name, value in model_access(environ) if not _ADDRESS.search(name)]
    secrets = [given] if given else list(dict.fromkeys(models))
    return tuple(signing_key([("waiver", secret)], b"waiver record 1") for secret in secrets)


def signing_key(secrets: Sequence[tuple[str, str]], context: bytes) -> bytes:
    """Return 32 bytes derived from named secrets by HKDF-SHA256 (RFC 5869), which reveal none of
    them. Each `context`, which says what is signed, has its own key."""
    extracted = hmac.digest(_SALT, canonical(sorted(secrets)).encode(), "sha256")
    return hmac.digest(extracted, context + b"\x01", "sha256")
