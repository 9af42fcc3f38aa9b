"""The parent's side: starts the child, asks it, and ends it if it overruns."""

from __future__ import annotations

import atexit
import json
import os
import select
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from gatekeeper.sandbox.frames import FrameError, encode_frame, read_frame

# The loader of an interpreter that is not in the system's own folders needs these; none is secret.
_INHERITED = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT")
_START = (
    "import sys; sys.path += sys.argv[3:]; "
    "from gatekeeper.sandbox.child import main; main(*sys.argv[1:3])"
)
_READ_BYTES = 1 << 20
_START_SECONDS = 20
"""Of elapsed time, on a machine that is very busy."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of one response of the child.

    `memory` is in bytes, for the whole process; `cpu` in seconds of processor time; `wall` in
    seconds of elapsed time, because on a busy machine more time passes than the processor time.
    `processes` says that the child may start processes.
    """

    memory: int = 512_000_000
    cpu: float = 4
    wall: float = 40
    processes: bool = False


@dataclass(frozen=True, slots=True)
class Answers:
    """The responses to a request. `overrun` says why responses are missing: the child exceeded a
    limit and was ended. None if they are complete."""

    responses: Sequence[Any]
    overrun: str | None = None


class LimitedProcess:
    """A child that runs one service, started at the first request and again after an overrun."""

    def __init__(
        self,
        service: str,
        packages: Sequence[str] = (),
        limits: Limits | None = None,
        folders: Sequence[str] = (),
    ):
        """Prepare a child.

        Args:
            service: What answers, as `module:function`. See `child.Service`.
            packages: The packages that it imports beside the standard library and gatekeeper.
            limits: What one response may take.
            folders: Further folders that it imports from.
        """
        self._service = service
        self._packages = ("gatekeeper", *packages)
        self._limits = limits or Limits()
        self._folders = tuple(folders)
        self._process: subprocess.Popen[bytes] | None = None
        self._buffer = bytearray()
        self._lock = threading.Lock()
        self.starts = 0
        """How many children were started so far."""

    def ask(self, request: Any, wall: float | None = None) -> Answers:
        """Return what the child answers.

        Args:
            request: A value of JSON.
            wall: Seconds that a response may take; those of the limits if not given.

        Raises:
            FrameError: The request is no JSON, or too large to be sent.
        """
        frame = encode_frame(request)
        with self._lock:
            responses: list[Any] = []
            starts = self.starts
            try:
                self._send(frame)
                seconds = wall or self._limits.wall
                if self.starts > starts:
                    seconds += _START_SECONDS
                while response := self._receive(seconds):
                    responses.append(response[0])
                if response is None:  # it has used much memory, and has ended
                    self.close()
            except TimeoutError:
                self.close()
                return Answers(responses, "it takes too much time")
            except (OSError, EOFError, FrameError):
                self.close()
                return Answers(responses, "it takes too much time or memory")
            except BaseException:
                self.close()  # whoever was interrupted leaves half an answer in the pipe
                raise
            return Answers(responses)

    def close(self) -> None:
        """End the child, if there is one."""
        process, self._process = self._process, None
        self._buffer.clear()
        if process is None:
            return
        process.kill()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()
        process.wait()

    def _start(self) -> subprocess.Popen[bytes]:
        given = self._limits
        limits = json.dumps(
            {"memory": given.memory, "cpu": given.cpu, "processes": given.processes}
        )
        environment = {name: os.environ[name] for name in _INHERITED if name in os.environ}
        # -I: no variable, no folder of the user's, and not the current folder's modules.
        command = [sys.executable, "-I", "-c", _START, self._service, limits]
        process = subprocess.Popen(  # noqa: S603
            [*command, *_homes(self._packages), *self._folders],
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd="/",
            env=environment,
            start_new_session=True,
        )
        self.starts += 1
        if self.starts == 1:
            atexit.register(self.close)
        return process

    def _send(self, frame: bytes) -> None:
        if self._process is not None and self._process.poll() is not None:
            self.close()
        if self._process is None:
            self._process = self._start()
        pipe = self._process.stdin
        if pipe is None:
            raise EOFError
        # The child reads a request whole before it works on it.
        rest = memoryview(frame)
        while rest:
            rest = rest[os.write(pipe.fileno(), rest) :]

    def _receive(self, seconds: float) -> Any:
        if self._process is None or self._process.stdout is None:
            raise EOFError
        pipe = self._process.stdout.fileno()
        deadline = time.monotonic() + seconds
        ready = select.poll()
        ready.register(pipe, select.POLLIN)

        def read(size: int) -> bytes:
            while len(self._buffer) < size:
                left = deadline - time.monotonic()
                if left <= 0 or not ready.poll(left * 1000):
                    raise TimeoutError
                data = os.read(pipe, _READ_BYTES)
                if not data:
                    raise EOFError
                self._buffer.extend(data)
            taken = bytes(self._buffer[:size])
            del self._buffer[:size]
            return taken

        return read_frame(read)


def _homes(packages: Sequence[str]) -> list[str]:
    """Return the folders that the packages are imported from."""
    found: list[str] = []
    for package in packages:
        spec = find_spec(package)
        for folder in (spec.submodule_search_locations or ()) if spec else ():
            home = str(Path(folder).parent)
            if home not in found:
                found.append(home)
    return found
