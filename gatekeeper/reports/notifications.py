"""Sends messages to Slack, Teams, e-mail or a webhook, by apprise's addresses.

https://github.com/caronc/apprise lists them all. An address holds a secret, so messages about
errors name the service and not the address. Nothing here raises: if a message cannot be sent, the
verdict stays the same. apprise waits four seconds for each byte of a reply and reads a reply whole,
so a child process with a limit of time and memory asks it.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from logging.handlers import BufferingHandler
from typing import Any
from urllib.parse import unquote

from gatekeeper.reports.escape import clip
from gatekeeper.sandbox.process import Answers, LimitedProcess, Limits

SERVICE = "gatekeeper.reports.notifications:answer", ("apprise",)
LIMITS = Limits(cpu=20, wall=30, processes=True)
"""What one message may take. Some plug-ins start threads."""
_CHILD = LimitedProcess(*SERVICE, LIMITS)
_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")
_CERTIFICATES = ("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")
_PASSED_ON = (*_PROXIES, *map(str.lower, _PROXIES), *_CERTIFICATES)


def send(
    addresses: Sequence[str], title: str, body: str, *, explain: bool = False
) -> tuple[str, ...]:
    """Send the message to every address; return one sentence for each that failed.

    Args:
        addresses: Addresses of apprise, such as `slack://TokenA/TokenB/TokenC`,
            `mailto://user:password@host`, `jsons://host/path`.
        title: The title, as plain text.
        body: The message, as plain text.
        explain: Whether to say why, in the words of apprise without the parts of the address.
    """
    if find_spec("apprise") is None:
        return ("notifications need the package apprise; run: pip install 'gatekeeper[notify]'",)
    environment = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    message = {"title": title, "body": body, "environment": environment}
    unsent = []
    for number, address in enumerate(addresses, start=1):
        said, told = _unsent(number, _CHILD.ask({"address": address, **message}))
        why = _without_parts(address, told) if explain else ""
        if said:
            unsent.append(f"{said}: {why}" if why else said)
    return tuple(unsent)


def _unsent(number: int, found: Answers) -> tuple[str, str]:
    """Return what to say of a message that was not sent, and why; empty if it was sent."""
    said = {key: value for response in found.responses for key, value in response.items()}
    why = said.get("why", "")
    if "sent" in said:
        return "", ""
    if found.overrun is None and not said.keys() & {"service", "fault"}:
        return (
            f"notification address {number} is not valid; "
            "https://github.com/caronc/apprise describes the form of an address"
        ), why
    name = said.get("fault") or said.get("service")
    notification = f"the notification to address {number}{f' ({name})' if name else ''}"
    if found.overrun:
        return f"{notification} may not have arrived: {found.overrun}", ""
    return f"{notification} could not be sent", why


def _without_parts(address: str, text: str) -> str:
    """Remove from the text whatever stands in the address but its scheme."""
    rest = address.partition("://")[2] or address
    parts = {part for form in (rest, unquote(rest)) for part in re.split(r"[/:@?&=#,]+", form)}
    for part in sorted(filter(None, parts), key=len, reverse=True):
        text = re.sub(rf"(?<!\w){re.escape(part)}(?!\w)", "…", text)
    return clip(text, 300)


def answer(request: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    """Send one message, in the child: yield the name of the `service`, and then whether the message
    was `sent`, `why` it was not, or the `fault` that ended it."""
    for name in _PASSED_ON:
        os.environ.pop(name, None)
    os.environ.update(request["environment"])
    logger, kept = logging.getLogger("apprise"), BufferingHandler(1_000)
    kept.setLevel(logging.WARNING)
    logger.handlers, logger.propagate = [kept], False
    try:
        import apprise

        asset = apprise.AppriseAsset()
        asset.http_redirects = False  # the other host would get the message, and headers with keys
        service = apprise.Apprise.instantiate(request["address"], asset=asset)
        sent = False
        if service is not None:
            yield {"service": str(service.service_name)}
            text = apprise.NotifyFormat.TEXT
            sent = service.notify(request["body"], request["title"], body_format=text)
    except Exception as error:  # a plug-in's message may quote the address: give its type only
        yield {"fault": type(error).__name__}
    else:
        told = " ".join(record.getMessage() for record in kept.buffer)
        yield {"sent": "yes"} if sent else {"why": told}
