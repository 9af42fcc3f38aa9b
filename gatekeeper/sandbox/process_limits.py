"""Limits the memory, the processor time, the files and the processes of a child process."""

from __future__ import annotations

import math
import resource
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# After an exception announced a time limit, it is raised again, in case it was lost in a `del`.
_AGAIN_SECONDS = 0.5


class TimeUpError(TimeoutError):
    """The work takes more processor time than it may."""


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


def memory_in_use() -> int:
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
