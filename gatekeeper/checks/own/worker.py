"""The child's service: imports a team's own check once, and calls it in a process of its own for
each sample. See `gatekeeper/sandbox`.

    gatekeeper --request-->  this process: imports the file  --fork-->  one call
               <--answer--                                   <--JSON--

The process of a call ends with it, so nothing that a sample's text makes the code do can reach the
next sample: no changed variable, no thread, no open file. It has no way to the pipes between
gatekeeper and this process, and the system lets it neither read nor end this process
(gatekeeper/sandbox/restrictions.py).
"""

from __future__ import annotations

import inspect
import io
import json
import math
import os
import select
import signal
import sys
import sysconfig
import time
from collections.abc import Iterator, Mapping, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path, PurePosixPath
from types import FunctionType, ModuleType
from typing import Any

import gatekeeper
from gatekeeper.sandbox.process_limits import limit
from gatekeeper.sandbox.restrictions import (
    allow_calls,
    leave_namespaces,
    restrict_files,
    restrict_to_itself,
)

_LONGEST_ANSWER = 100_000
_LONGEST_MESSAGE = 500
_MOST_FILES = 65_536
"""The most files that a process may have open. Without a limit, some systems report an
infinite number."""
_GIVEN = ("output", "vars", "expected", "context")
_RESULTS = 'return True, False, a score from 0 to 1, Fail("..."), or a mapping'
_GRADE = (
    "the function must return a mapping with `pass` (true or false), `score` (from 0 to 1) and "
    "`reason` (text)"
)

_imported: dict[str, ModuleType | str] = {}
"""The module of each file, or the reason why Python cannot import it. Each child process has
one such table."""


def answer(request: Mapping[str, Any]) -> Iterator[Any]:
    """Yield one response: `passed`, `score` or `fail`, or `fault` if there is no result. A request
    with `arguments` calls a scoring function, whose response has `passed`, `score` and `reason`."""
    path = request["path"]
    if path not in _imported:
        _imported[path] = _import_isolated(path, request["sources"])
    module = _imported[path]
    yield {"fault": module} if isinstance(module, str) else _call_apart(module, request)


def _import_isolated(path: str, sources: Mapping[str, str]) -> ModuleType | str:
    """Take files and network from the code to come, and import it."""
    for library in ("OMP", "OPENBLAS", "MKL"):
        os.environ[f"{library}_NUM_THREADS"] = "1"
    leave_namespaces()
    restrict_files(_readable())
    allow_calls(call=False)
    finder = _Sources({PurePosixPath(name).stem: (name, text) for name, text in sources.items()})
    sys.meta_path.insert(0, finder)
    name = PurePosixPath(path).stem
    spec = finder.find_spec(name)
    if spec is None:
        return f"{path}: cannot be imported"
    module = module_from_spec(spec)
    sys.modules[name] = module
    try:
        finder.exec_module(module)
    except SyntaxError as error:
        return f"{error.filename}:{error.lineno}: Python cannot read this file: {error.msg}"
    except BaseException as error:
        fault = _described(error, [*sources], path)
        more = "; if this module is a file of the repository, add its path to `modules`"
        return fault + more * isinstance(error, ModuleNotFoundError)
    return module


def _readable() -> list[str]:
    """Return where Python and the installed packages are."""
    paths = sysconfig.get_paths()
    installed = [path for path in sys.path if path.endswith(("site-packages", "dist-packages"))]
    return [
        str(Path(gatekeeper.__file__).parent),
        paths["stdlib"],
        paths["platstdlib"],
        str(Path(sys.base_prefix) / "lib"),
        *installed,
        *("/usr/lib", "/usr/lib64", "/lib", "/lib64", "/usr/share/zoneinfo", "/etc/localtime"),
        *("/dev/urandom", os.devnull),
    ]


class _Sources(MetaPathFinder, Loader):
    """Imports the files of the repository that the check names, from their texts."""

    def __init__(self, sources: Mapping[str, tuple[str, str]]) -> None:
        self._sources = sources

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: Any = None
    ) -> ModuleSpec | None:
        del path, target
        if fullname not in self._sources:
            return None
        return spec_from_loader(fullname, self, origin=self._sources[fullname][0])

    def exec_module(self, module: ModuleType) -> None:
        path, text = self._sources[module.__name__]
        module.__file__ = path
        exec(compile(text, path, "exec", dont_inherit=True), module.__dict__)  # noqa: S102


def _call_apart(module: ModuleType, request: Mapping[str, Any]) -> Mapping[str, Any]:
    """Call the function in a process of its own, and return its answer."""
    reader, writer = os.pipe()
    process = os.fork()
    if process == 0:
        try:
            _answer_once(module, request, writer)
        finally:
            os._exit(1)
    os.close(writer)
    try:
        return _received(reader, request["seconds"], request["path"])
    finally:
        os.close(reader)
        for ended in (-process, process):  # what it may have started, and itself
            try:
                os.kill(ended, signal.SIGKILL)
            except OSError:
                continue
        os.waitpid(process, 0)


def _received(reader: int, seconds: float, path: str) -> Mapping[str, Any]:
    """Return what the call writes until it ends; a fault if it takes too long or writes something
    else."""
    deadline = time.monotonic() + seconds
    ready = select.poll()
    ready.register(reader, select.POLLIN | select.POLLHUP)
    data = bytearray()
    while True:
        left = deadline - time.monotonic()
        if left <= 0 or not ready.poll(left * 1000):
            return {
                "fault": f"{path}: the function returned no result within {seconds:g} s",
                "late": True,
            }
        part = os.read(reader, 1 << 16)
        if not part:
            break
        data += part
        if len(data) > _LONGEST_ANSWER:
            return {"fault": f"{path}: the result of the function is too long"}
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        return {"fault": f"{path}: the process of the function ended without a result"}
    return found


def _answer_once(module: ModuleType, request: Mapping[str, Any], writer: int) -> None:
    """Restrict this process to one call and one answer, and end it."""
    os.setpgid(0, 0)
    os.dup2(writer, 3)
    os.closerange(4, _MOST_FILES)
    limit("RLIMIT_CPU", math.ceil(request["seconds"]) + 1)
    restrict_to_itself()
    if not allow_calls(call=True):
        limit("RLIMIT_NPROC", 0)  # would also keep it from starting threads
    sys.stdout = printed = _Printed()
    found = _called(module, request)
    if printed.text:
        place = _place(getattr(module, request["function"], None), request["path"])
        shown = " ".join(printed.text.split())[:80]
        what = f"the function printed `{shown}`; remove the print and return the result"
        found = {"fault": f"{place}: {what}"}
    os.write(3, json.dumps(found).encode())
    os._exit(0)


class _Printed(io.TextIOBase):
    """Keeps the beginning of what the code prints."""

    text = ""

    def write(self, text: str) -> int:
        self.text = (self.text + text)[:_LONGEST_MESSAGE]
        return len(text)


def _called(module: ModuleType, request: Mapping[str, Any]) -> Mapping[str, Any]:
    path, name = request["path"], request["function"]
    function = getattr(module, name, None)
    if not isinstance(function, FunctionType) or function.__code__.co_filename != path:
        return {"fault": f"{path}: the file defines no function `{name}`"}
    scoring = "arguments" in request
    try:
        returned = function(*request["arguments"]) if scoring else _call_by_name(function, request)
    except MemoryError:
        return {"fault": f"{_place(function, path)}: the function takes too much memory"}
    except BaseException as error:
        return {"fault": _described(error, [*request["sources"]], _place(function, path))}
    read = _grade if scoring else _meaning
    return read(returned, _place(function, path))


def _call_by_name(function: FunctionType, request: Mapping[str, Any]) -> Any:
    """Call the function with those of the values that it has parameters for."""
    named = inspect.signature(function).parameters.values()
    every = any(p.kind is p.VAR_KEYWORD for p in named)
    wanted = {p.name for p in named}
    return function(**{n: request[n] for n in _GIVEN if every or n in wanted})


def _meaning(returned: Any, place: str) -> Mapping[str, Any]:
    """Return what a function's result says of the output."""
    if isinstance(returned, gatekeeper.Fail):
        return {"fail": str(returned.message)[:_LONGEST_MESSAGE]}
    if isinstance(returned, bool):
        return {"passed": returned}
    if isinstance(returned, int | float):
        if 0 <= returned <= 1:
            return {"score": float(returned)}
        return {
            "fault": f"{place}: the function returned {float(returned):g}, which is not from 0 to 1"
        }
    if isinstance(returned, dict):
        return _grade(returned, place)
    kind = "None" if returned is None else f"a value of type `{type(returned).__name__}`"
    return {"fault": f"{place}: the function returned {kind}; {_RESULTS}"}


def _grade(returned: Any, place: str) -> Mapping[str, Any]:
    """Return what a mapping with a grade says of the output."""
    match returned:
        case {"pass": bool(passed), "score": int(score) | float(score), "reason": str(reason)}:
            if 0 <= score <= 1 and not isinstance(score, bool):
                return {
                    "passed": passed,
                    "score": float(score),
                    "reason": reason[:_LONGEST_MESSAGE],
                }
    return {"fault": f"{place}: {_GRADE}"}


def _place(function: Any, path: str) -> str:
    code = getattr(function, "__code__", None)
    return f"{path}:{code.co_firstlineno}" if code else path


def _described(error: BaseException, paths: Sequence[str], otherwise: str) -> str:
    """Return an exception with the last place in the repository's files that it passed."""
    place, trace = otherwise, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename in paths:
            place = f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}"
        trace = trace.tb_next
    try:
        said = " ".join(str(error).split())
    except Exception:
        said = ""
    kind = type(error).__name__
    return f"{place}: {kind}: {said}"[:_LONGEST_MESSAGE] if said else f"{place}: {kind}"
