"""The child's side: answers requests from standard input, one by one, within limits.

It is started by `process.py` and by nothing else.
"""

from __future__ import annotations

import importlib
import json
import math
import os
import resource
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from gatekeeper.sandbox.frames import encode_frame, read_frame

Service = Callable[[Any], Iterator[Any]]
"""Takes a request, and yields its responses."""

# After an exception announced a time limit, it is raised again, in case it was lost in a `del`.
_AGAIN_SECONDS = 0.5


class TimeUpError(TimeoutError):
    """The work takes more processor time than it may."""


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
        is_last = _memory_in_use() > memory
        sink.write(encode_frame(None if is_last else []))
        sink.flush()
        if is_last:
            return


def limit_resources(memory: int, *, processes: bool = False) -> None:
    """Limit this process's memory to the given number of bytes, and forbid it to write files and,
    without `processes`, to start processes. Python's own modules it may still read: some are
    imported only when they are needed."""
    limits = {
        "RLIMIT_AS": memory,
        "RLIMIT_DATA": memory,
        "RLIMIT_CORE": 0,
        "RLIMIT_FSIZE": 0,
    }
    for name, value in (limits if processes else limits | {"RLIMIT_NPROC": 0}).items():
        limit(name, value)


def limit(name: str, value: int) -> None:
    """Lower one limit of this process. Does nothing if the system does not have it: macOS knows
    some of them by name only."""
    kind = getattr(resource, name, None)
    if kind is None:
        return
    _, hard = resource.getrlimit(kind)
    lowest = value if hard == resource.RLIM_INFINITY else min(value, hard)
    try:
        resource.setrlimit(kind, (lowest, lowest))
    except (OSError, ValueError):
        return


def _memory_in_use() -> int:
    """Return the memory in use in bytes; the highest value so far if the system does not report the
    present one."""
    try:
        pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
        return pages * resource.getpagesize()
    except OSError:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024


def allow_cpu(seconds: float) -> None:
    """End this process after this much more processor time, for code that no exception can end
    because it never returns to Python."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    soft = math.ceil(used.ru_utime + used.ru_stime + seconds)
    if hard == resource.RLIM_INFINITY or soft < hard:
        resource.setrlimit(resource.RLIMIT_CPU, (soft, hard))


@contextmanager
def cpu_limit(seconds: float) -> Iterator[None]:
    """Raise TimeUpError inside the block after the given amount of processor time."""

    def give_up(*_: object) -> None:
        raise TimeUpError("it takes too much time")

    before = signal.signal(signal.SIGVTALRM, give_up)
    signal.setitimer(signal.ITIMER_VIRTUAL, max(seconds, 0.001), _AGAIN_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
