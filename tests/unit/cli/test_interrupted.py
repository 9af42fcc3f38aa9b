"""Ctrl-C ends in one line and exit code 3, whenever it comes."""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
from typing import Any

import pytest

from gatekeeper.providers.http.http_client import Exchange
from gatekeeper.providers.litellm import _answer


def test_outside_of_any_command_it_is_no_traceback() -> None:
    script = (
        "import gatekeeper.cli.main as cli\n"
        "def interrupted(): raise KeyboardInterrupt\n"
        "cli.main = interrupted\n"
        "from gatekeeper.__main__ import run\n"
        "run()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (3, "gatekeeper: interrupted\n")


def test_a_call_that_is_cancelled_twice_leaves_no_error_that_nobody_saw() -> None:
    """The second comes when the event loop ends, before the provider's library heeded the first."""
    told: list[dict[str, Any]] = []

    async def run() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: told.append(context))
        heeded = asyncio.Event()

        async def call() -> None:
            await heeded.wait()
            raise ConnectionError

        asked = asyncio.create_task(_answer(asyncio.ensure_future(call()), Exchange()))
        for _ in range(2):
            await asyncio.sleep(0)
            asked.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asked
        heeded.set()
        for _ in range(3):
            await asyncio.sleep(0)
        del asked
        gc.collect()

    asyncio.run(run())
    assert told == []
