"""The child's service for a team's own check, its parts called in this process."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from gatekeeper.checks.own import worker

PATH = "contracts/tone_of_worker.py"
CODE = """\
import words_of_worker
from gatekeeper import Fail

def passes(output): return output == words_of_worker.GOOD
def explains(output): return Fail("no " + output)
def scores(output): return 0.5
def seven(output): return 7
def text(output): return "pass"
def nothing(output): pass
def raises(output):
    return 1 / 0
def ends(output): raise SystemExit
def grows(output): raise MemoryError
def given(**all): return sorted(all) == ["context", "expected", "output", "vars"]
def mute(output):
    class Mute(Exception):
        def __str__(self): raise ValueError
    raise Mute
"""
HELPER = "GOOD = 'ok'\n"

Called = Callable[[str], Mapping[str, Any]]


@pytest.fixture(autouse=True)
def unrestricted(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Leave this process as it is: its files, what it imports from, its modules."""
    monkeypatch.setattr(worker, "restrict_files", lambda paths: True)
    monkeypatch.setattr(worker, "allow_calls", lambda *, call: True)
    monkeypatch.setattr(worker, "leave_namespaces", lambda: True)
    monkeypatch.setattr(worker, "_imported", {})
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    for library in ("OMP", "OPENBLAS", "MKL"):
        monkeypatch.setenv(f"{library}_NUM_THREADS", "1")
    known = set(sys.modules)
    yield
    for name in set(sys.modules) - known:
        del sys.modules[name]


def imported(code: str = CODE, **more: str) -> Any:
    return worker._import_isolated(PATH, {PATH: code, **more})


@pytest.fixture
def called() -> Called:
    module = imported(**{"contracts/words_of_worker.py": HELPER})

    def call(function: str) -> Mapping[str, Any]:
        request = {"path": PATH, "function": function, "sources": {PATH: CODE}}
        request |= {"output": "ok", "vars": {}, "expected": None, "context": []}
        return worker._called(module, request)

    return call


@pytest.mark.parametrize(
    ("function", "answer"),
    [
        ("passes", {"passed": True}),
        ("explains", {"fail": "no ok"}),
        ("scores", {"score": 0.5}),
        ("given", {"passed": True}),
    ],
)
def test_a_result_is_a_pass_a_score_or_a_reason(
    called: Called, function: str, answer: Mapping[str, Any]
) -> None:
    assert called(function) == answer


@pytest.mark.parametrize(
    ("function", "line"),
    [("seven", 7), ("text", 8), ("nothing", 9), ("raises", 11), ("ends", 12), ("grows", 13),
     ("mute", 18)],
)  # fmt: skip
def test_a_fault_has_its_line(called: Called, function: str, line: int) -> None:
    assert called(function)["fault"].startswith(f"{PATH}:{line}: ")


GRADED = """\
def grade(scores, context): return {"pass": scores["a"] > 0.5, "score": 1, "reason": "r" * 600}
def raises(scores, context): return scores["b"]
"""


def graded(returned: str, code: str = GRADED) -> Mapping[str, Any]:
    module = imported(f"{code}def given(scores, context): return {returned}\n")
    request = {"path": PATH, "function": "given", "sources": {PATH: code}}
    return worker._called(module, {**request, "arguments": [{"a": 0.75}, {"threshold": 0.5}]})


def test_a_scoring_function_gets_its_values_by_place() -> None:
    found = graded("grade(scores, context)")
    assert found == {"passed": True, "score": 1.0, "reason": "r" * 500}


@pytest.mark.parametrize(
    "returned",
    [
        *("True", "0.5", "None", "{}", "{'pass': 1, 'score': 1, 'reason': ''}"),
        "{'pass': True, 'score': True, 'reason': ''}",
        "{'pass': True, 'score': float('nan'), 'reason': ''}",
        "{'pass': True, 'score': 1.1, 'reason': ''}",
        "{'pass': True, 'score': 1, 'reason': None}",
        "raises(scores, context)",
    ],
)
def test_a_scoring_function_without_a_grade_has_a_fault(returned: str) -> None:
    found = graded(returned)
    assert set(found) == {"fault"}
    assert found["fault"].startswith(f"{PATH}:")


def test_what_the_file_does_not_define_itself_is_no_check(called: Called) -> None:
    for function in ("Fail", "words_of_worker", "unknown"):
        assert set(called(function)) == {"fault"}


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("def f(:", f"{PATH}:1: "),
        ("\n1 / 0", f"{PATH}:2: ZeroDivisionError"),
        ("import no_such_module", f"{PATH}:1: ModuleNotFoundError"),
        ("raise SystemExit(0)", f"{PATH}:1: SystemExit"),
    ],
)
def test_a_file_that_cannot_be_imported_has_a_reason(code: str, said: str) -> None:
    found = imported(code)
    assert isinstance(found, str)
    assert found.startswith(said)
    (answer,) = worker.answer({"path": PATH, "sources": {PATH: code}})
    assert answer == {"fault": found}


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (json.dumps({"passed": True}).encode(), {"passed"}),
        (b"", {"fault"}),
        (b"[1]", {"fault"}),
        (b"{" * 9_000, {"fault"}),
        (b"\xff", {"fault"}),
    ],
)
def test_only_a_mapping_is_an_answer(written: bytes, expected: set[str]) -> None:
    reader, writer = os.pipe()
    os.write(writer, written)
    os.close(writer)
    assert set(worker._received(reader, 5, PATH)) == expected
    os.close(reader)


def test_an_answer_that_is_late_or_too_long_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    reader, writer = os.pipe()
    assert worker._received(reader, 0, PATH)["late"] is True
    monkeypatch.setattr(worker, "_LONGEST_ANSWER", 9)
    os.write(writer, b" " * 10)
    assert worker._received(reader, 5, PATH) == {
        "fault": f"{PATH}: the result of the function is too long"
    }
    os.close(reader)
    os.close(writer)


def test_the_beginning_of_what_is_printed_is_kept() -> None:
    printed = worker._Printed()
    assert printed.write("a" * 400) == 400
    assert printed.write("b" * 400) == 400
    assert printed.text == "a" * 400 + "b" * 100
