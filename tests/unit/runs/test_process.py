"""How a process of Gatekeeper ends."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.machine_needs import LINUX

from gatekeeper.runs.process import yield_often

END = "from gatekeeper.runs.process import end_process\n"


def run(script: str, stdout: int = subprocess.PIPE) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", END + script],
        stdout=stdout,
        stderr=subprocess.PIPE,
        env={name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"},
        text=True,
        check=False,
    )


def test_garbage_is_collected_rarely_once_models_are_called() -> None:
    script = """
import gc
from gatekeeper.runs.process import postpone_garbage_collection, start_garbage_collection
usual = gc.get_threshold()
assert usual[0] <= 2_000  # newer versions of Python collect as rarely by themselves
postpone_garbage_collection()
assert not gc.isenabled()
start_garbage_collection()
assert gc.isenabled()
assert gc.get_threshold()[0] == 2_000
assert gc.get_threshold()[1:] == usual[1:]
end_process(0)
"""
    assert run(script).returncode == 0


@pytest.mark.parametrize("exit_code", [0, 1, 3])
def test_exit_code_and_everything_that_was_printed(exit_code: int) -> None:
    done = run(f"print('x' * 100_000, end='')\nend_process({exit_code})")
    assert (done.returncode, len(done.stdout), done.stderr) == (exit_code, 100_000, "")


def test_functions_of_atexit_are_called_and_may_print() -> None:
    done = run("import atexit\natexit.register(print, 'closed')\nend_process(1)")
    assert (done.returncode, done.stdout) == (1, "closed\n")


def test_objects_are_not_taken_apart() -> None:
    script = """
class Large:
    def __del__(self):
        print("taken apart")
kept = Large()
end_process(0)
"""
    assert run(script).stdout == ""


def test_another_thread_is_waited_for() -> None:
    script = """
import threading
ready = threading.Event()
def work():
    ready.wait()
    print("worked")
threading.Thread(target=work).start()
import atexit
threading._register_atexit(ready.set)
end_process(1)
"""
    done = run(script)
    assert (done.returncode, done.stdout) == (1, "worked\n")


def test_full_disk_is_not_a_success() -> None:
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        done = run("print('lost')\nend_process(0)", full.fileno())
    assert done.returncode == 120
    assert "No space left" in done.stderr


def test_closed_standard_output() -> None:
    assert run("import sys\nsys.stdout = None\nend_process(2)").returncode == 2


UNEXPECTED = {
    "an exception": "raise ValueError('odd')",
    "no memory": "raise MemoryError",
    "a module that is missing": "import no_such_module",
    "an interruption": "raise KeyboardInterrupt",
    "a text instead of a code": "sys.exit('a text')",
    "the end by C": "ctypes.CDLL(None).exit(1)",
    "the end by C with 0": "ctypes.CDLL(None).exit(0)",
    "the end by C in a thread": (
        "t = threading.Thread(target=ctypes.CDLL(None).exit, args=(1,)); t.start(); t.join()"
    ),
    "an error that cannot be shown": "sys.stderr = None; raise ValueError",
}


@pytest.mark.parametrize("how", UNEXPECTED)
def test_an_unexpected_end_says_that_nothing_was_measured(how: str) -> None:
    main = f"import ctypes, sys, threading\ndef main():\n    {UNEXPECTED[how]}\n"
    done = run(f"{main}from gatekeeper.runs.process import run_process\nrun_process(main)")
    assert done.returncode == 3, done.stderr


@pytest.mark.parametrize("exit_code", [0, 1, 2, 3])
def test_an_orderly_end_has_its_exit_code(exit_code: int) -> None:
    start = "import sys\nfrom gatekeeper.runs.process import run_process\n"
    assert run(f"{start}run_process(lambda: {exit_code})").returncode == exit_code
    assert run(f"{start}run_process(lambda: sys.exit({exit_code}))").returncode == exit_code


@pytest.mark.parametrize("start", ["gatekeeper.__main__", "gatekeeper.action.__main__"])
@pytest.mark.parametrize("module", ["yaml", "gatekeeper.errors", "json"])
def test_a_module_that_cannot_be_imported(start: str, module: str) -> None:
    """An installation can be broken, or memory can end just then."""
    script = (
        f"import runpy, sys\nsys.modules[{module!r}] = None\n"
        "sys.argv = ['gatekeeper', 'validate']\n"
        f"runpy.run_module({start!r}, run_name='__main__')"
    )
    assert run(script).returncode == 3


@LINUX.mark
def test_openblas_without_memory() -> None:
    """Without memory for its threads it ends the process itself, with exit code 1."""
    script = (
        "import os, resource\nfrom gatekeeper.runs.process import run_process\n"
        "def main():\n"
        "    os.environ['OPENBLAS_NUM_THREADS'] = '8'\n"
        "    resource.setrlimit(resource.RLIMIT_AS, (100_000_000,) * 2)\n"
        "    import numpy\n"
        "    return 1\n"
        "run_process(main)"
    )
    assert run(script).returncode == 3


def test_other_threads_go_on_sooner_for_a_time() -> None:
    before = sys.getswitchinterval()
    try:
        sys.setswitchinterval(0.005)
        with yield_often():
            assert sys.getswitchinterval() == pytest.approx(0.0005)
        assert sys.getswitchinterval() == pytest.approx(0.005)
        sys.setswitchinterval(0.5)
        with yield_often():
            assert sys.getswitchinterval() == pytest.approx(0.5)
    finally:
        sys.setswitchinterval(before)
