"""Sends messages to Slack, Teams, e-mail or a webhook, by apprise's addresses.

https://github.com/caronc/apprise lists them all. An address holds a secret, so messages about
errors name the service and not the address. Nothing here raises: if a message cannot be sent, the
verdict stays the same. A service has apprise's four seconds to connect and four to reply.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any


def send(addresses: Sequence[str], title: str, body: str) -> tuple[str, ...]:
    """Send the message to every address; return one sentence for each that failed.

    Args:
        addresses: Addresses of apprise, such as `slack://TokenA/TokenB/TokenC`,
            `mailto://user:password@host`, `jsons://host/path`.
        title: The title, as plain text.
        body: The message, as plain text.
    """
    try:
        import apprise
    except ImportError:
        return ("notifications need the package apprise; run: pip install 'gatekeeper[notify]'",)
    with _silence():
        return tuple(
            said
            for number, address in enumerate(addresses, start=1)
            if (said := _send(apprise, number, address, title, body))
        )


def _send(apprise: Any, number: int, address: str, title: str, body: str) -> str | None:
    unknown = (
        f"notification address {number} is not valid; "
        "https://github.com/caronc/apprise describes the form of an address"
    )
    try:
        service = apprise.Apprise.instantiate(address)
        if service is None:
            return unknown
        name = str(service.service_name)
        text = apprise.NotifyFormat.TEXT
        sent = service.notify(title=title, body=body, body_format=text)
    except Exception as error:  # a plug-in's message may quote the address: print its type only
        return f"the notification to address {number} could not be sent ({type(error).__name__})"
    return None if sent else f"the notification to address {number} ({name}) could not be sent"


@contextmanager
def _silence() -> Iterator[None]:
    """Turn off apprise's log, which contains addresses and answers, and so may hold secrets."""
    logger = logging.getLogger("apprise")
    before, logger.disabled = logger.disabled, True
    try:
        yield
    finally:
        logger.disabled = before
