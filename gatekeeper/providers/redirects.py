"""A redirect is a failure: whoever follows it takes the key along, and believes whoever answers."""

from __future__ import annotations

import contextlib
from urllib.parse import urlsplit


def is_redirect(status: int) -> bool:
    """Return whether the status is a redirect, which is not followed."""
    return 300 <= status < 400


def redirect_refused(location: str) -> str:
    """Say that a redirect is not followed. `location` is the header of that name."""
    host = None
    with contextlib.suppress(ValueError):
        host = urlsplit(location).hostname
    host = host if host and host.isprintable() else None
    return (
        f"a redirect to {host[:100] if host else 'elsewhere'}, which is not followed, because the "
        "key would go along; set the address in the environment to where the server really is"
    )
