"""Lets threads begin one by one while coverage is measured.

CPython 3.11 refuses to install a trace function while another thread is installing one
(`reentrant` in `_PyEval_SetTrace`), and the thread that is refused dies before it runs. A thread
can be interrupted while it installs one, in the audit hooks of network_guard.py and of
filelock. A lock is held meanwhile. A thread that is refused nevertheless tries again: if it died,
the thread that started it would wait for ever.
"""

from __future__ import annotations

import contextlib
import sys
import threading

_ATTEMPTS = 100
"""After these, a thread runs without being measured."""


def begin_traced_threads_one_by_one() -> None:
    """Install coverage's trace function in each new thread under a lock, before the thread runs."""
    trace, bootstrap, installing = (
        threading.gettrace(),
        threading.Thread._bootstrap_inner,  # type: ignore[attr-defined]
        threading.Lock(),
    )
    threading.settrace(None)  # type: ignore[arg-type]

    def traced_bootstrap(thread: threading.Thread) -> None:
        with installing:
            for _ in range(_ATTEMPTS):
                with contextlib.suppress(RuntimeError):
                    sys.settrace(trace)
                    _first_call()
                    break
        bootstrap(thread)

    threading.Thread._bootstrap_inner = traced_bootstrap  # type: ignore[attr-defined]


def _first_call() -> None:
    """Be called: coverage replaces its first trace function by a faster one at the first call."""
