"""No test asserts how long something takes: a slow or busy machine would fail it.

`make bench` measures times. A test of a hostile input asserts what the limit says, or what comes
out of an input whose careless treatment would not end; pytest ends a test that hangs.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[2]
CLOCK = re.compile(
    r"\b((process_time|thread_time|perf_counter|monotonic)(_ns)?\(|time\.(time|clock)(_ns|_gettime)?\("
    r"|time_ns\(|ru_[us]time|ITIMER_|timeit\.)|^ *from time import .*_(time|counter)",
    re.MULTILINE,
)
# They wait for a program that they started.
WAITING = {"end_to_end/conftest.py"}


def test_no_test_looks_at_a_clock() -> None:
    files = {file.relative_to(TESTS).as_posix(): file for file in TESTS.rglob("*.py")}
    del files[Path(__file__).relative_to(TESTS).as_posix()]
    found = {name for name, file in files.items() if CLOCK.search(file.read_text("utf-8"))}
    assert found == WAITING


@pytest.mark.parametrize(
    "line",
    [
        "start = time.monotonic()",
        "from time import perf_counter as now",
        "t = time.time()",
        "usage(RUSAGE_SELF).ru_utime",
        "thread_time_ns() < 3",
    ],
)
def test_what_looks_at_a_clock(line: str) -> None:
    assert CLOCK.search(line)


@pytest.mark.parametrize(
    "line", ["time.sleep(1)", "from time import sleep", 'setattr(time, "monotonic", clock)']
)
def test_what_does_not(line: str) -> None:
    assert CLOCK.search(line) is None
