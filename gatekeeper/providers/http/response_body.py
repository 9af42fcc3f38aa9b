"""Reading an answer's body within a limit of size, while it comes in and while it is unpacked.

A server can send without end, and 10 kB of gzip can hold 10 MB of zeros. httpx unpacks each part
that arrives whole, so the unpacking is done here, with a limit on what comes out.
"""

from __future__ import annotations

import asyncio
import json
import zlib
from collections.abc import AsyncIterable, AsyncIterator, Iterator
from typing import Any

MAX_BYTES = 10_000_000
"""The most bytes of one answer, as sent and unpacked: a hundred times the longest answers of
today's models."""

MAX_STREAM_BYTES = 100_000_000
"""The most bytes of one streamed answer, which is not kept as sent: each token comes with 250 other
bytes."""

MAX_RESULTS_BYTES = 2_000_000_000
"""The most bytes of the results of one batch, which are read line by line."""

MAX_CHOICES = 128
"""The most answers to one request. The gate requests one, and litellm builds kilobytes of objects
for each."""

ACCEPTED_ENCODINGS = "gzip"
"""The encodings that requests accept: those that can be unpacked piece by piece."""

MAX_VALUES = 200_000
"""The most objects and lists in one answer: each takes two bytes as text and a hundred times as
much in memory."""

MAX_ERROR_BYTES = 20_000
"""The most bytes of an error. litellm searches its text with patterns whose time grows with the
square of the length. Meanwhile nothing else runs, not even the time limit."""

MAX_NAME = 1_000
"""The most characters of an answer's names. litellm searches a model's name with such patterns
too."""

_NAMES = ("id", "model", "object", "system_fingerprint", "service_tier", "type", "role")
_FEW_BYTES = 100_000
_FEW_OBJECTS = 10_000
_GZIP = zlib.MAX_WBITS | 16
_PIECE = 65_536
"""Bytes that are unpacked at a time: a few of gzip can hold a hundred megabytes."""


class UnreadableAnswer(Exception):
    """An answer without a valid form, or an error that came with status 200."""


class UnreadableBody(Exception):
    """The body cannot be read; the text says why. Another try would give the same."""


class UnknownPacking(UnreadableBody):
    """The body is packed in a way that was not asked for."""


async def read_body(parts: AsyncIterable[bytes], content_encoding: str) -> bytes:
    """Read and unpack a body.

    Args:
        parts: The bytes as they come in.
        content_encoding: The header of that name; empty for none.

    Raises:
        UnreadableBody: More than `MAX_BYTES`, an encoding that was not asked for, broken data,
            more than `MAX_VALUES` objects and lists, more than `MAX_CHOICES` answers, or a name
            of more than `MAX_NAME` characters.
    """
    content = b"".join([part async for part in unpack(parts, content_encoding, MAX_BYTES)])
    require_usual(content)
    return content


async def unpack(
    parts: AsyncIterable[bytes], content_encoding: str, most: int
) -> AsyncIterator[bytes]:
    """Yield a body's parts unpacked, as they come in.

    Raises UnreadableBody for more than `most` bytes, an encoding that was not asked for, and broken
    data.
    """
    inflate = _inflation(content_encoding)
    received = size = 0
    async for part in parts:
        received += len(part)
        for piece in [part] if inflate is None else _unpacked(inflate, part):
            size += len(piece)
            if max(received, size) > most:
                raise UnreadableBody(f"the answer is larger than {most:,} bytes")
            yield piece
            if len(piece) >= _PIECE:
                await asyncio.sleep(0)  # the time limit and other calls go on meanwhile


def _inflation(content_encoding: str) -> Any:
    sent = content_encoding.strip()
    encoding = sent.lower()
    if encoding in ("", "identity"):
        return None
    if encoding not in ("gzip", "x-gzip"):
        # As it was sent: in lower case, a key that the server repeats would not be recognised.
        raise UnknownPacking(
            f"the server compressed the answer as {sent[:40]!r}, which was not requested"
        )
    return zlib.decompressobj(_GZIP)


def _unpacked(inflate: Any, part: bytes) -> Iterator[bytes]:
    """Yield what the part holds in pieces of at most `_PIECE` bytes."""
    try:
        while True:
            piece = bytes(inflate.decompress(part, _PIECE))
            yield piece
            part = inflate.unconsumed_tail
            if not part and len(piece) < _PIECE:
                return
    except zlib.error as error:
        raise UnreadableBody(f"the answer cannot be decompressed: {error}") from None


def require_usual(content: bytes) -> None:
    """Refuse an answer that would take too long to read. Raises UnreadableBody."""
    if len(content) > MAX_BYTES:
        raise UnreadableBody(f"the answer is larger than {MAX_BYTES:,} bytes")
    values = content.count(b"{") + content.count(b"[")
    if values > MAX_VALUES:
        raise UnreadableBody(f"the answer has {values:,} objects and lists, which is too many")
    if values < _FEW_OBJECTS and len(content) < _FEW_BYTES:
        return
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        return  # litellm says what is wrong with it
    if not isinstance(document, dict):
        return
    for name in _NAMES:
        said = document.get(name)
        if isinstance(said, str) and len(said) > MAX_NAME:
            raise UnreadableBody(f"the answer's `{name}` is too long ({len(said):,} characters)")
    choices = document.get("choices")
    if isinstance(choices, list) and len(choices) > MAX_CHOICES:
        raise UnreadableBody(f"the server sent {len(choices):,} answers to one request")
