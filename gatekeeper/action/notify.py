"""Carries a message to where people are: Slack, Teams, e-mail, a webhook, by apprise's addresses.

https://github.com/caronc/apprise lists them all. An address holds a secret, so that nothing
here repeats one: what went wrong is told by the name of the service. Nothing here raises: a
message that could not be sent changes no verdict. A service that does not answer is given
apprise's four seconds to connect and four to reply.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any


def send(addresses: Sequence[str], title: str, body: str) -> tuple[str, ...]:
    """Send the message to every address; returns what could not be sent, in words.

    Both are plain text. Addresses are apprise's, such as `slack://TokenA/TokenB/TokenC`,
    `mailto://user:password@host`, `jsons://host/path`.
    """
    try:
        import apprise
    except ImportError:
        return ("notifications need the package apprise: pip install 'gatekeeper[notify]'",)
    with _silence():
        return tuple(
            said
            for number, address in enumerate(addresses, start=1)
            if (said := _send(apprise, number, address, title, body))
        )


def _send(apprise: Any, number: int, address: str, title: str, body: str) -> str | None:
    unknown = (
        f"notification address {number} of those given is not one that apprise knows; "
        "see https://github.com/caronc/apprise for how they are written"
    )
    try:
        service = apprise.Apprise.instantiate(address)
        if service is None:
            return unknown
        name = str(service.service_name)
        text = apprise.NotifyFormat.TEXT
        sent = service.notify(title=title, body=body, body_format=text)
    except Exception as error:  # a plug-in's fault may quote the address: its type is enough
        return f"notification {number} could not be sent ({type(error).__name__})"
    return None if sent else f"notification {number} could not be sent to {name}"


@contextmanager
def _silence() -> Iterator[None]:
    """apprise logs addresses and answers, which may hold secrets."""
    logger = logging.getLogger("apprise")
    before, logger.disabled = logger.disabled, True
    try:
        yield
    finally:
        logger.disabled = before
