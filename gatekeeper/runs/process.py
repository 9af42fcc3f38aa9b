"""How a process of Gatekeeper begins and ends: without work that only a long-lived one needs."""

from __future__ import annotations

import atexit
import gc
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NoReturn

COULD_NOT_MEASURE = 3
_USUAL_SWITCH_INTERVAL = 0.005
"""Seconds; Python's own setting."""
_OBJECTS_BETWEEN_COLLECTIONS = 2_000
"""How many objects a run adds before garbage is collected. With Python's own 700, a run of 10,000
calls spends a seventh of its processor time on that; with 10,000, it takes more memory."""


def postpone_garbage_collection() -> None:
    """Turn the collection off until models are called.

    Most runs import modules, answer and end: collecting garbage is a tenth of their time.
    """
    gc.disable()


def start_garbage_collection() -> None:
    """Turn a postponed collection on, for all objects that are made from now on.

    Modules and contracts stay until the end, so looking through them again and again finds nothing.
    """
    if not gc.isenabled():
        gc.freeze()
        gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS)
        gc.enable()


@contextmanager
def yield_often() -> Iterator[None]:
    """Let another thread go on within half a millisecond while this one computes, not within five.

    The thread that makes calls waits for that time whenever an answer comes.
    """
    before = sys.getswitchinterval()
    if before <= _USUAL_SWITCH_INTERVAL:  # a longer one has a reason
        sys.setswitchinterval(before / 10)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def run_process(main: Callable[[], int]) -> NoReturn:
    """Run an entry point, and end this process with its exit code.

    Any other end is exit code 3, which says that nothing was measured: an error that nobody caught,
    a module that cannot be imported, and a library that ends the process itself, as OpenBLAS does
    without memory. Python and C would say 1, which means "do not merge".
    """
    exit_code = COULD_NOT_MEASURE
    try:
        _end_with(COULD_NOT_MEASURE)
        # Before numpy is loaded: it computes little here, and each thread takes memory.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        postpone_garbage_collection()
        exit_code = main()
    except SystemExit as ended:
        exit_code = ended.code if isinstance(ended.code, int) else COULD_NOT_MEASURE
        exit_code = 0 if ended.code is None else exit_code
    except KeyboardInterrupt:
        sys.stderr.write("gatekeeper: interrupted\n")
    except BaseException as error:
        kind = type(error).__name__
        sys.stderr.write(f"gatekeeper: the run ended unexpectedly: {kind}: {error}\n")
    end_process(exit_code)


def _end_with(exit_code: int) -> None:
    """Let this process end with the exit code wherever it ends, also in C; the latest call counts.
    Does nothing without the C library's functions."""
    try:
        import ctypes

        library = ctypes.CDLL(None)
        library.__cxa_atexit(library._exit, ctypes.c_void_p(exit_code), None)
    except (ImportError, OSError, AttributeError):
        return


def end_process(exit_code: int) -> NoReturn:
    """End this process with the exit code.

    Whatever was registered with `atexit` is called. But Python would also take every object apart,
    and the operating system frees the memory faster.
    """
    if exit_code:
        _end_with(exit_code)
    others = [thread for thread in threading.enumerate() if thread is not threading.main_thread()]
    if any(not thread.daemon for thread in others):
        sys.exit(exit_code)  # waits for them
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (AttributeError, OSError, ValueError):
        sys.exit(exit_code)  # tells what is wrong with the streams
    os._exit(exit_code)
