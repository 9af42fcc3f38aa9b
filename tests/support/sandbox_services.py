"""Services for the tests of the child: each does what its name says."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from typing import Any

from gatekeeper.sandbox.process_limits import cpu_limit

KEPT: list[bytes] = []


def misbehave(request: Any) -> Iterator[Any]:
    kind = request[0]
    yield ["began", kind]
    if kind == "spin":
        while True:
            pass
    elif kind == "count":  # in one call of C, which no signal handler interrupts
        yield "ab" * (1 << 20) * 8 in "a" * (1 << 26)
        yield sum(range(1 << 62))
    elif kind == "sleep":
        time.sleep(3600)
    elif kind == "grow":
        yield len(bytes(request[1]))
    elif kind == "keep":
        KEPT.append(b"x" * request[1])
    elif kind == "exit":
        os._exit(0)
    elif kind == "noise":
        os.write(1, b"\xff" * 100)
        yield "after it"
    elif kind == "large":
        yield "x" * 70_000_000
    elif kind == "told":
        try:
            with cpu_limit(0.05):
                while True:
                    pass
        except TimeoutError as error:
            yield str(error)
    elif kind == "environment":
        yield dict(os.environ)
    elif kind == "write":
        try:
            with open(request[1], "w") as file:  # noqa: PTH123
                file.write("x")
        except OSError as error:
            yield type(error).__name__
    else:
        yield request
