"""Refuses redirects: a client that follows one sends the key along, and trusts the server that
answers."""

from __future__ import annotations

import contextlib
from urllib.parse import urlsplit


def is_redirect(status: int) -> bool:
    """Return whether the status is a redirect, which is not followed."""
    return 300 <= status < 400


def redirect_refused(location: str) -> str:
    """Say that a redirect is not followed. `location` is the header of that name."""
    host = ""
    with contextlib.suppress(ValueError):
        # As it was sent: in lower case, a key that the server repeats would not be recognised.
        host = urlsplit(location).netloc.rpartition("@")[2].partition(":")[0]
    host = host if host.isprintable() else ""
    return (
        f"a redirect to {host[:100] or 'elsewhere'}, which gatekeeper does not "
        "follow, because the other server would get the key; set the address in the "
        "environment to the server's real address"
    )
