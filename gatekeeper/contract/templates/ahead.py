"""Checks the syntax of templates in the child while this process works on something else."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Mapping
from contextlib import suppress
from itertools import islice
from typing import Any

_AT_ONCE = 128
"""Templates of one request: the child looks at its memory after each."""

Check = Callable[[Mapping[Hashable, Any]], None]


class ChecksAhead:
    """Hands templates to the child in a thread of its own, in the order in which they are added.

    What the child finds is only remembered if it is sound. Whoever needs another template checks
    it again and gets its mistakes, so a fault here costs time and nothing else.
    """

    def __init__(self, check: Check) -> None:
        """Prepare the checks. `check` asks the child about templates by key; it may leave any of
        them out, and fail."""
        self._check = check
        self._waiting: dict[Hashable, Any] = {}
        self._changed = threading.Condition()
        self._is_running = False

    def add(self, key: Hashable, template: Any) -> None:
        """Check the template soon, without waiting for it."""
        with self._changed:
            self._waiting.setdefault(key, template)
            if self._is_running:
                return
            self._is_running = True
        # A daemon: the process ends without waiting for what nobody needs.
        threading.Thread(target=self._work, daemon=True).start()

    def wait_for(self, key: Hashable) -> None:
        """Return once the template is checked; at once if nobody added it."""
        with self._changed:
            self._changed.wait_for(lambda: key not in self._waiting)

    def _work(self) -> None:
        try:
            while True:
                with self._changed:
                    batch = dict(islice(self._waiting.items(), _AT_ONCE))
                    if not batch:
                        return
                # The child may be ended at any time, for example with this process.
                with suppress(Exception):
                    self._check(batch)
                with self._changed:
                    for key in batch:
                        del self._waiting[key]
                    self._changed.notify_all()
        finally:
            with self._changed:
                self._waiting.clear()
                self._is_running = False
                self._changed.notify_all()
