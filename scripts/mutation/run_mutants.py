"""Run a room's unit tests on each mutant, and say which mutants survive.

    python -m pytest tests/unit/stats tests/unit/gate tests/unit/contract -m "not long" \\
        --cov --cov-context=test --junitxml=build/durations.xml
    python scripts/mutation/run_mutants.py build/mutants.json --tree ../copy --results build/results

The first command records which test runs which line (in .coverage) and how long each test takes.
`list_mutants.py` makes the list of mutants. `--tree` is another work tree of this repository, for
example of `git worktree add --detach`: its source files are changed, and restored afterwards.

A mutant runs the tests of its room that run its lines, quick ones first, until one fails. A line
that runs at import counts as run by every test of the room. One forked process at a time runs the
tests, with limits of time and memory. A run that was interrupted continues after its last result.
"no test" means that no unit test of the room runs the line; an integration test may.
"""

from __future__ import annotations

import argparse
import contextlib
import difflib
import importlib
import io
import json
import os
import re
import resource
import signal
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from coverage import CoverageData

MEMORY = 6 << 30
OPTIONS = ["-q", "-x", "-n", "0", "-p", "no:cacheprovider", "--tb=no"]
# The parent process has imported libraries whose assertions pytest would rewrite.
OPTIONS += ["-W", "ignore:Module already imported:pytest.PytestAssertRewriteWarning"]

_LIST_IMPORTS = """
import json, sys, pytest
pytest.main(["-q", "--collect-only", "-n", "0", *sys.argv[1:]])
print("\\n" + json.dumps(sorted(name for name in sys.modules if "." not in name)))
"""


@dataclass(frozen=True)
class Tests:
    """Which tests run which lines, and how long each test takes."""

    by_line: Mapping[tuple[str, int], frozenset[str]]
    durations: Mapping[str, float]

    @classmethod
    def read(cls, coverage: Path, junit: Path) -> Tests:
        """Read what pytest-cov and pytest wrote."""
        durations: dict[str, float] = {}
        for case in ElementTree.parse(junit).iter("testcase"):  # noqa: S314
            module, *classes = re.split(r"\.(?=[A-Z])", case.attrib["classname"])
            parts = [module.replace(".", "/") + ".py", *classes, case.attrib["name"]]
            durations["::".join(parts)] = float(case.attrib["time"])
        data = CoverageData(str(coverage))
        data.read()
        lines: defaultdict[tuple[str, int], set[str]] = defaultdict(set)
        for file in data.measured_files():
            name = file[file.rindex("/gatekeeper/") + 1 :]
            for line, contexts in data.contexts_by_lineno(file).items():
                lines[name, line] = {context.rpartition("|")[0] for context in contexts}
        return cls({place: frozenset(tests) for place, tests in lines.items()}, durations)

    def of(self, mutant: Mapping[str, Any]) -> dict[str, float]:
        """Return the tests to run on a mutant, each with its duration."""
        room = f"tests/unit/{mutant['file'].split('/')[1]}/"
        places = range(mutant["first"], mutant["last"] + 1)
        found = [self.by_line.get((mutant["file"], line), frozenset()) for line in places]
        tests = frozenset[str]().union(*found)
        every = "" in tests
        return {
            test: duration
            for test, duration in self.durations.items()
            if test.startswith(room) and (every or test in tests)
        }


class Selection:
    """A pytest plugin that keeps some tests, quick ones first, and notes the first failure."""

    def __init__(self, durations: Mapping[str, float]) -> None:
        self.durations = durations
        self.failed = ""

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = [item for item in items if item.nodeid in self.durations]
        items.sort(key=lambda item: self.durations[item.nodeid])

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed = self.failed or report.nodeid

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.failed = self.failed or f"{report.nodeid} (import)"


@contextlib.contextmanager
def changed(path: Path, text: str) -> Iterator[None]:
    """Write another text to a file for a while."""
    before, times = path.read_bytes(), path.stat()
    path.write_text(text, "utf-8")
    try:
        yield
    finally:
        path.write_bytes(before)
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def run(tree: Path, tests: Mapping[str, float]) -> tuple[str, str]:
    """Run the tests in a forked process: the result, and the test that failed."""
    limit = 60 + 10 * sum(tests.values())
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.setsid()
        os.chdir(tree)
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        sys.dont_write_bytecode = True
        os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.dup2(null, 2)
        selection = Selection(tests)
        files = sorted({test.split("::")[0] for test in tests})
        code = 3
        with contextlib.suppress(BaseException):
            code = int(pytest.main([*OPTIONS, *files], plugins=[selection]))
        os.write(writing, selection.failed.encode())
        os._exit(code)
    os.close(writing)
    code = _wait(child, limit)
    with os.fdopen(reading, "rb") as pipe:
        failed = pipe.read().decode() if code is not None else ""
    if code is None:
        return "timeout", ""
    return ("survived" if code == 0 else "killed"), failed


def _wait(child: int, seconds: float) -> int | None:
    """Return the exit code of the process, or None if its time was up."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            # A crash counts like a failing test.
            return os.waitstatus_to_exitcode(status) if os.WIFEXITED(status) else 1
        time.sleep(0.02)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


def import_libraries(tree: Path, files: list[str]) -> None:
    """Import here what the tests import, without this project, so that a fork need not."""
    command = [sys.executable, "-c", _LIST_IMPORTS, *files]
    done = subprocess.run(command, cwd=tree, capture_output=True, text=True, check=True)
    own = {"gatekeeper", "support", "conftest", "tests", "benchmarks"}
    for name in set(json.loads(done.stdout.splitlines()[-1])) - own - set(sys.modules):
        if not name.startswith(("test_", "_")):
            with contextlib.suppress(Exception), contextlib.redirect_stdout(io.StringIO()):
                importlib.import_module(name)


def require_passing(tree: Path, tests: Tests) -> None:
    """End the program if quick tests fail on the code as it is."""
    quick = sorted(tests.durations.items(), key=lambda item: item[1])[: len(tests.durations) // 2]
    result, failed = run(tree, dict(quick))
    if result != "survived":
        raise SystemExit(f"Without any mutant, the tests fail: {failed or result}")


def show(tree: Path, mutant: Mapping[str, Any]) -> str:
    """Return the lines that differ."""
    before = (tree / mutant["file"]).read_text("utf-8").splitlines()
    lines = difflib.unified_diff(before, mutant["code"].splitlines(), n=0, lineterm="")
    return "\n".join(line for line in lines if not line.startswith(("---", "+++")))


def main() -> None:
    """Run the mutants that have no result yet, and print the scores and the survivors."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("mutants", type=Path)
    parser.add_argument("--tree", type=Path, required=True)
    parser.add_argument("--results", type=Path, required=True)
    parser.add_argument("--coverage", type=Path, default=Path(".coverage"))
    parser.add_argument("--junit", type=Path, default=Path("build/durations.xml"))
    options = parser.parse_args()
    mutants = list(enumerate(json.loads(options.mutants.read_text("utf-8"))))
    tests = Tests.read(options.coverage, options.junit)
    options.results.touch()
    results = [json.loads(line) for line in options.results.read_text("utf-8").splitlines()]
    tree = options.tree.resolve()
    import_libraries(tree, sorted({test.split("::")[0] for test in tests.durations}))
    require_passing(tree, tests)
    done = {result["number"] for result in results}
    with options.results.open("a", encoding="utf-8") as file:
        for number, mutant in mutants:
            if number in done:
                continue
            chosen = tests.of(mutant)
            began = time.monotonic()
            result, failed = "no test", ""
            if chosen:
                with changed(tree / mutant["file"], mutant["code"]):
                    result, failed = run(tree, chosen)
            results.append(
                {
                    "number": number,
                    **{name: mutant[name] for name in ("group", "operator", "file", "first")},
                    "result": result,
                    "by": failed,
                    "tests": len(chosen),
                    "seconds": round(time.monotonic() - began, 1),
                    "change": show(tree, mutant),
                }
            )
            file.write(json.dumps(results[-1]) + "\n")
            file.flush()
    for result in results:
        if result["result"] != "killed":
            print(f"{result['file']}:{result['first']} {result['result']}\n{result['change']}\n")
    for group in ("logic", "other"):
        print(group, dict(Counter(r["result"] for r in results if r["group"] == group)))


if __name__ == "__main__":
    main()
