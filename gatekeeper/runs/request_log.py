"""`--log-requests`: what is sent to models over HTTP and what comes back, a line of JSON each, for
a person who looks for a fault.

No header is written, because the headers hold the key, and every text is redacted. The file is for
its owner alone, and nothing is written through a link.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from gatekeeper.errors import UsageError, WriteError
from gatekeeper.reports.redact import environment_redactor
from gatekeeper.runs.answers.files import write_line

if TYPE_CHECKING:
    from gatekeeper.providers.http.http_client import Exchange, Headers

_MOST = 1_000_000
"""Bytes of a request or an answer; a batch may have a thousand times as many."""
_WITHOUT_KEYS = re.compile(
    r"accept|anthropic-version|connection|content-(type|length)|host|user-agent|x-stainless-.*"
)


@contextmanager
def logged_requests(path: Path | None) -> Iterator[list[str]]:
    """Add every exchange with a model to the file while the context lasts. What is yielded gets a
    notice if a line cannot be written. Raises UsageError if the file cannot be used."""
    notices: list[str] = []
    if path is None:
        yield notices
        return
    from gatekeeper.providers.http.http_client import watched_exchanges

    file = _open(path)

    def write(method: str, url: str, sent: Headers, body: bytes, *said: Any) -> None:
        secrets = [value for header in sent for value in _secrets_of(*header)]
        clean = environment_redactor(*secrets).text
        line = _line(clean, method, url, body, *said)
        try:
            write_line(file, f"{json.dumps(line)}\n".encode())
        except OSError as error:
            notices[:] = [f"--log-requests: some requests are missing. {WriteError(path, error)}"]

    try:
        with watched_exchanges(write):
            yield notices
    finally:
        os.close(file)


def _line(
    clean: Callable[[str], str],
    method: str,
    url: str,
    body: bytes,
    exchange: Exchange,
    error: BaseException | None,
) -> dict[str, Any]:
    address = urlsplit(url)
    why = "" if error is None else exchange.fault or f"{type(error).__name__}: {error}"
    return {
        "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "method": method,
        # A query may hold a key, and so may what stands before the host.
        "url": clean(f"{address.scheme}://{address.netloc.rpartition('@')[2]}{address.path}"),
        "request": _content(body, clean),
        "status": exchange.status,
        "latency_ms": exchange.latency_ms,
        "response": _content(exchange.body, clean),
        "error": clean(why) or None,
    }


def _content(body: bytes, clean: Callable[[str], str]) -> Any:
    """Return JSON as it is, and anything else as text, such as JSON that is nested too deeply to be
    written again."""
    text = clean(body[:_MOST].decode("utf-8", "replace"))
    if len(body) > _MOST:
        return f"{text} [cut: only the first {_MOST:,} bytes are logged]"
    try:
        found = json.loads(text) if text else None
        json.dumps({"response": found})
        return found
    except (ValueError, RecursionError):
        return text


def _secrets_of(name: str, value: str) -> list[str]:
    """Return the key in a header, which may be made for this call and in no variable."""
    return [] if _WITHOUT_KEYS.fullmatch(name.lower()) else value.split()


def _open(path: Path) -> int:
    """Return a file that only its owner can read, at its end. Raises UsageError."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        file = os.open(path, flags, 0o600)
    except OSError as error:
        why = "this is a link" if path.is_symlink() else error.strerror
        raise UsageError(
            f"--log-requests {path}: {why}; name a file in an existing folder"
        ) from None
    found = os.fstat(file)
    if not stat.S_ISREG(found.st_mode) or found.st_nlink != 1 or found.st_uid != os.geteuid():
        os.close(file)
        raise UsageError(
            f"--log-requests {path}: this is not a file of its own; name a new file, without links"
        )
    os.fchmod(file, 0o600)
    return file
