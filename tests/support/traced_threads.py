"""Lets threads begin one by one while coverage is measured.

CPython 3.11 refuses to install a trace function while another thread is installing one
(`reentrant` in `_PyEval_SetTrace`), and the thread that is refused dies before it runs. A thread
can be interrupted while it installs one, in the audit hooks of providers/network_guard.py and of
filelock. A lock is held meanwhile.
"""

from __future__ import annotations

import sys
import threading


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
            sys.settrace(trace)
            _first_call()
        bootstrap(thread)

    threading.Thread._bootstrap_inner = traced_bootstrap  # type: ignore[attr-defined]


def _first_call() -> None:
    """Be called: coverage replaces its first trace function by a faster one at the first call."""
