"""Ctrl-C ends in one line and exit code 3, whenever it comes."""

from __future__ import annotations

import asyncio
import gc
from typing import Any

import pytest

import gatekeeper.cli.main
from gatekeeper.__main__ import main
from gatekeeper.providers.http_exchange import Exchange
from gatekeeper.providers.litellm import _answer


def test_outside_of_any_command_it_is_no_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted() -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(gatekeeper.cli.main, "main", interrupted)
    assert main() == 3
    assert capsys.readouterr().err == "gatekeeper: interrupted\n"


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
