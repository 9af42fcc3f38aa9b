"""Messages over a pipe: four bytes of length, then JSON in UTF-8."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from typing import Any

HEADER = struct.Struct(">I")
MAX_FRAME = 64_000_000
"""Bytes of one message."""
_TOO_LARGE = f"the data to evaluate, or the result, is larger than {MAX_FRAME // 1_000_000} MB"


class FrameError(Exception):
    """The input is not a message, or is larger than the limit."""


def encode_frame(value: Any) -> bytes:
    """Return the message of a value.

    Raises:
        FrameError: It is no JSON, or larger than the limit.
    """
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as error:
        raise FrameError(f"not JSON: {error}") from None
    # Half a surrogate pair, which JSON escapes can name, is no UTF-8.
    body = text.encode("utf-8", "surrogatepass")
    if len(body) > MAX_FRAME:
        raise FrameError(_TOO_LARGE)
    return HEADER.pack(len(body)) + body


def read_frame(read: Callable[[int], bytes]) -> Any:
    """Return the next value; `read(n)` returns just n bytes.

    Raises:
        FrameError: The message is not JSON, or larger than the limit.
    """
    (length,) = HEADER.unpack(read(HEADER.size))
    if length > MAX_FRAME:
        raise FrameError(_TOO_LARGE)
    try:
        return json.loads(read(length).decode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError) as error:
        raise FrameError(f"not JSON: {error}") from None
