"""What a team's own check could do to other processes and files, call by call, and what it may do.

Each escape is made by its number, as code that a text has taken over would do it.
"""

from __future__ import annotations

import json
import os
import platform
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.machine_needs import LINUX
from support.quick_and_long import a_few

from gatekeeper.checks.check import Files, Finding
from gatekeeper.checks.own import python
from gatekeeper.contract.values.definition import Fixture
from gatekeeper.contract.values.trial import Sample

HERE, CREATE, PAGE = -100, 0o1000, 4096
# The call's numbers on x86-64 and arm64, and its arguments: PARENT is Gatekeeper, FILE a file of
# the runner, ROOM some memory.
ESCAPES: dict[str, tuple[tuple[int, int], tuple[Any, ...]]] = {
    "the mode of a file": ((268, 53), (HERE, "FILE", 0o777)),
    "the owner of a file": ((260, 54), (HERE, "FILE", 1, 1, 0)),
    "the time of a file": ((280, 88), (HERE, "FILE", 0, 0)),
    "an attribute of a file": ((188, 5), ("FILE", "user.a", "ROOM", 1, 0)),
    "the length of a file": ((76, 45), ("FILE", 0)),
    "removing a file": ((263, 35), (HERE, "FILE", 0)),
    "another name of a file": ((265, 37), (HERE, "FILE", HERE, "FILE2", 0)),
    "a link to a file": ((266, 36), ("FILE", HERE, "FILE2")),
    "a folder": ((258, 34), (HERE, "FILE2", 0o700)),
    "the handle of a file": ((303, 264), (HERE, "FILE", "ROOM", "ROOM", 0)),
    "Gatekeeper's limits": ((302, 261), ("PARENT", 7, "ROOM", 0)),
    "reading Gatekeeper's limits": ((302, 261), ("PARENT", 7, 0, "ROOM")),
    "its own limits": ((302, 261), (0, 7, "ROOM", 0)),
    "Gatekeeper's priority": ((141, 140), (0, "PARENT", 19)),
    "Gatekeeper's priority for files": ((251, 30), (1, "PARENT", 0x6000)),
    "Gatekeeper's processors": ((203, 122), ("PARENT", 8, "ROOM")),
    "Gatekeeper's scheduler": ((144, 119), ("PARENT", 5, "ROOM")),
    "shared memory": ((29, 194), (0x6A7E, PAGE, CREATE | 0o600)),
    "a semaphore": ((64, 190), (0x6A7E, 1, CREATE | 0o600)),
    "a queue": ((68, 186), (0x6A7E, CREATE | 0o600)),
    "a named queue": ((240, 180), ("gatekeeper", 0o101, 0o600, 0)),
    "a key of the kernel": ((248, 217), ("user", "gatekeeper", "ROOM", 8, -3)),
    "asking for a key": ((249, 218), ("user", "gatekeeper", 0, -3)),
    "another key ring": ((250, 219), (0, -3, 0)),
    "Gatekeeper's memory": ((310, 270), ("PARENT", "ROOM", 1, "ROOM", 1, 0)),
    "writing Gatekeeper's memory": ((311, 271), ("PARENT", "ROOM", 1, "ROOM", 1, 0)),
    "comparing with Gatekeeper": ((312, 272), ("PARENT", "PARENT", 0, 0, 0)),
    "following Gatekeeper": ((101, 117), (16, "PARENT", 0, 0)),
    "a handle of Gatekeeper": ((434, 434), ("PARENT", 0)),
    "a file of Gatekeeper's": ((438, 438), (3, 0, 0)),
    "a signal by a handle": ((424, 424), (3, 0, 0, 0)),
    "a signal": ((62, 129), ("PARENT", 0)),
    "a signal to all": ((62, 129), (-1, 0)),
    "a signal to a thread": ((234, 131), ("PARENT", "PARENT", 0)),
    "a signal to a task": ((200, 130), ("PARENT", 0)),
    "a signal with a value": ((129, 138), ("PARENT", 0, "ROOM")),
    "signals of a file": ((72, 25), (3, 8, "PARENT")),
    "typing into a terminal": ((16, 29), (0, 0x5412, "ROOM")),
    "a program": ((59, 221), ("FILE", 0, 0)),
    "a program in memory": ((319, 279), ("gatekeeper", 0)),
    "a program by its handle": ((322, 281), (3, "", 0, 0, 0x1000)),
    "another process": ((56, 220), (17, 0, 0, 0, 0)),
    "a process with another root": ((56, 220), (0x10000011, 0, 0, 0, 0)),
    "a namespace": ((272, 97), (0x10000000,)),
    "another's namespace": ((308, 268), (3, 0)),
    "a file system": ((165, 40), ("none", "FILE", "tmpfs", 0, 0)),
    "a tree of files": ((428, 428), (HERE, "FILE", 0)),
    "a ring of requests": ((425, 425), (8, "ROOM")),
    "a program of the kernel": ((321, 280), (0, "ROOM", 72)),
    "events of the processor": ((298, 241), ("ROOM", "PARENT", -1, -1, 0)),
    "faults of the memory": ((323, 282), (0,)),
    "changes of files": ((294, 26), (0,)),
    "changes of a whole file system": ((300, 262), (0, 0)),
    "the kernel's log": ((103, 116), (3, "ROOM", 8)),
    "another way of running": ((135, 92), (0xFFFFFFFF,)),
    "a connection": ((41, 198), (2, 1, 0)),
    "a message to an address": ((44, 206), (3, "ROOM", 1, 0, "ROOM", 16)),
    "naming its follower": ((157, 167), (0x59616D61, "PARENT", 0, 0, 0)),
    "another filter": ((317, 277), (1, 0, "ROOM")),
    "a call of the future": ((600, 600), ()),
}
CODE = """\
import ctypes, errno, json
from gatekeeper import Fail

def escapes(output):
    number, arguments = json.loads(output)
    room = ctypes.create_string_buffer(4096)
    given = [
        ctypes.c_long(a) if isinstance(a, int) else room if a == "ROOM" else a.encode()
        for a in arguments
    ]
    library = ctypes.CDLL(None, use_errno=True)
    library.syscall.restype = ctypes.c_long
    done = library.syscall(ctypes.c_long(number), *given)
    return Fail("done" if done >= 0 else errno.errorcode[ctypes.get_errno()])

def user(output):
    import os
    return Fail(str(os.getuid()))

def truncates(output):
    open(output, "w")

def computes(output):
    import datetime, decimal, fractions, hashlib, random, re, statistics, time, unicodedata
    time.sleep(0.001)
    assert re.search(r"(a+)b", "aab") and random.random() < 1
    assert statistics.mean([1, 2]) == 1.5 and decimal.Decimal("1.1") + 1
    assert hashlib.sha256(b"a").hexdigest() and unicodedata.normalize("NFC", "a")
    return datetime.datetime.now().year > 2000

def reads_packages(output):
    import email.mime.text, importlib.resources, zoneinfo, os, glob
    assert os.listdir(os.path.dirname(os.__file__)) and open(os.__file__).read()
    assert not open(os.__file__).isatty()
    with open(os.devnull, "w") as nothing:
        print("nobody reads this", file=nothing)
    return zoneinfo.ZoneInfo("UTC") is not None

def uses_numpy(output):
    import numpy
    matrix = numpy.random.default_rng(1).random((60, 60))
    return bool(numpy.allclose(numpy.linalg.inv(matrix) @ matrix, numpy.eye(60)))

def uses_threads(output):
    from concurrent.futures import ThreadPoolExecutor
    with ThreadPoolExecutor(4) as pool:
        return sum(pool.map(len, ["a"] * 50)) == 50

def uses_asyncio(output):
    import asyncio
    async def wait():
        await asyncio.sleep(0.001)
        return await asyncio.to_thread(lambda: True)
    return asyncio.run(wait())

def takes_memory(output):
    return len(bytearray(100_000_000)) > 0 and sum(len(str(i)) for i in range(200_000)) > 0
"""


@pytest.fixture
def call(make_sample: Callable[..., Sample]) -> Callable[..., Finding]:
    def run(name: str, output: str = "text") -> Finding:
        texts = {"contracts/escape.py": CODE}
        files = Files(texts, "contracts/a.yaml", code=texts, fixture=Fixture("f", {}))
        params = {"python": f"contracts/escape.py:{name}", "timeout_ms": 20_000}
        return python.CHECK.prepare(params, files)(make_sample(output))

    return run


def state_of(file: Path) -> tuple[Any, ...]:
    seen = file.stat()
    own = os.getpid()
    return (
        (seen.st_mode, seen.st_mtime_ns, seen.st_uid, seen.st_size, [*file.parent.iterdir()]),
        (resource.getrlimit(resource.RLIMIT_NOFILE), os.getpriority(os.PRIO_PROCESS, own)),
        os.sched_getaffinity(own),
    )


@LINUX.mark
@pytest.mark.parametrize("escape", a_few(ESCAPES, 12))
def test_the_system_refuses_it(call: Callable[..., Finding], tmp_path: Path, escape: str) -> None:
    file = tmp_path / "file"
    file.write_text("text", encoding="utf-8")
    before = state_of(file)
    numbers, arguments = ESCAPES[escape]
    meant = {"PARENT": os.getpid(), "FILE": str(file), "FILE2": str(tmp_path / "other")}
    given = [meant.get(argument, argument) for argument in arguments]
    finding = call("escapes", json.dumps([numbers[platform.machine() == "aarch64"], given]))
    assert finding.message in ("EPERM", "ENOSYS")
    assert state_of(file) == before


@LINUX.mark
def test_it_is_nobody_if_the_system_grants_it(call: Callable[..., Finding]) -> None:
    """Otherwise root would stay root outside of what the list refuses."""
    script = (
        "from gatekeeper.sandbox.restrictions import *; raise SystemExit(not leave_namespaces())"
    )
    granted = not subprocess.run([sys.executable, "-c", script], check=False).returncode
    own = (
        Path("/proc/sys/kernel/overflowuid").read_text("ascii").strip() if granted else os.getuid()
    )
    assert call("user").message == str(own)


@LINUX.mark
def test_a_file_keeps_its_text(call: Callable[..., Finding], tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("text", encoding="utf-8")
    assert "PermissionError" in call("truncates", str(file)).message
    assert file.read_text("utf-8") == "text"


@pytest.mark.parametrize(
    "name",
    ["computes", "reads_packages", "uses_numpy", "uses_threads", "uses_asyncio", "takes_memory"],
)
def test_what_checks_need_works(call: Callable[..., Finding], name: str) -> None:
    finding = call(name)
    assert finding.passed is True, finding.message
