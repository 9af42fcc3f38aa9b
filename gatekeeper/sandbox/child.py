"""The child's side: answers requests from standard input, one by one, within limits.

It is started by `process.py` and by nothing else.
"""

from __future__ import annotations

import importlib
import json
import os
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO

from gatekeeper.sandbox.frames import encode_frame, read_frame
from gatekeeper.sandbox.process_limits import allow_cpu, limit_resources, memory_in_use

Service = Callable[[Any], Iterator[Any]]
"""Takes a request, and yields its responses."""


def main(service: str, limits: str) -> None:
    """Answer requests until standard input ends.

    Args:
        service: The service as `module:function`.
        limits: JSON of `memory` in bytes, `cpu` in seconds of processor time a response, and
            `processes`, whether it may start processes.
    """
    module, name = service.split(":")
    answer: Service = getattr(importlib.import_module(module), name)
    given = json.loads(limits)
    limit_resources(given["memory"], processes=given.get("processes", False))
    source, sink = _take_pipes()
    # Half of what it may take is left for each request, whatever the requests before left behind.
    serve(answer, source, sink, given["cpu"], given["memory"] // 2)


def _take_pipes() -> tuple[BinaryIO, BinaryIO]:
    """Return the pipes to the parent. What a service prints is lost, and does not disturb them."""
    source, sink = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1):
        os.dup2(nothing, stream)
    os.close(nothing)
    return source, sink


def serve(
    answer: Service, source: BinaryIO, sink: BinaryIO, cpu_seconds: float, memory: int
) -> None:
    """Answer each request with a frame `[response]` for each response, and then `[]`; with `null`
    instead of that, and no more, if this process has more bytes of memory in use."""

    def read(size: int) -> bytes:
        data = source.read(size)
        if len(data) < size:
            raise EOFError
        return data

    while True:
        try:
            request = read_frame(read)
        except EOFError:
            return
        allow_cpu(cpu_seconds)
        for response in answer(request):
            sink.write(encode_frame([response]))
            sink.flush()
            allow_cpu(cpu_seconds)
        is_last = memory_in_use() > memory
        sink.write(encode_frame(None if is_last else []))
        sink.flush()
        if is_last:
            return
