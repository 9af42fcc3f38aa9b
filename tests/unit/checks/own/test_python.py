"""A team's own function: what its results mean, and what it cannot do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from support.machine_needs import LANDLOCK

from gatekeeper.checks.check import Files, Finding, ParameterError
from gatekeeper.checks.own import own_function, python
from gatekeeper.contract.values.definition import Fixture
from gatekeeper.contract.values.trial import Sample

PATH = "contracts/tone.py"
CODE = """\
import os, sys
from os import system
from gatekeeper import Fail

calls = []

def passes(output): return True
def fails(output): return False
def explains(output): return Fail("no " + output)
def scores(output): return 0.65
def counts(output): return len(output) / 10
def grades(output):
    return {"pass": output != "bad", "score": len(output) / 10, "reason": "it is " + output}
def grades_badly(output): return {"pass": True, "score": 7, "reason": ""}
def all_given(output, vars, expected, context):
    return (output, vars, expected, context) == ("text", {"a": 1}, "yes", ["doc"])
def any_given(**given): return sorted(given) == ["context", "expected", "output", "vars"]
def nothing(output): pass
def text(output): return "pass"
def seven(output): return 7
def not_a_number(output): return float("nan")
def truthy(output): return [1]
def prints(output):
    print("hello"); return True
def raises(output):
    return 1 / 0
def exits(output): sys.exit(0)
def vanishes(output): os._exit(0)
def sleeps(output):
    import time; time.sleep(60)
def loops(output):
    while True: pass
def grows(output): return len(bytearray(4_000_000_000)) > 0
def other_arguments(text): return True
def remembers(output):
    calls.append(output); return len(calls) == 1
def spoils(output):
    import builtins
    Fail.__bool__ = lambda self: True; builtins.len = lambda x: 1; return True
def writes_everywhere(output):
    for pipe in range(64):
        try: os.write(pipe, b'\\x00\\x00\\x00\\x12[{"passed": true}]\\x00\\x00\\x00\\x02[]' * 9)
        except OSError: pass
    os._exit(0)
def kills_its_parent(output):
    os.kill(os.getppid(), 9); return True
def keys(output): return Fail(" ".join(k for k in os.environ if "KEY" in k) or "none")
def reads(output): return open(output).read() is not None
def connects(output):
    import socket; socket.socket(); return True
def starts(output):
    os.fork(); return True
def runs(output):
    import subprocess; subprocess.run(["/bin/true"]); return True
def imports_lately(output):
    import decimal, threading; threading.Thread(target=decimal.Decimal).start(); return True
"""


@pytest.fixture
def call(make_sample: Callable[..., Sample]) -> Callable[..., Finding]:
    """Call a function of CODE with an output."""

    def run(name: str, output: str = "text", code: str = CODE, **params: Any) -> Finding:
        params = {"python": f"{PATH}:{name}", **params}
        texts = {PATH: code, **params.pop("texts", {})}
        fixture = Fixture("f", {"a": 1}, expected="yes")
        files = Files(texts, "contracts/a.yaml", code=params.pop("trusted", texts), fixture=fixture)
        return python.CHECK.prepare(params, files)(make_sample(output))

    return run


@pytest.mark.parametrize(
    ("name", "passed", "score"),
    [
        ("passes", True, None),
        ("fails", False, None),
        ("explains", False, None),
        ("scores", True, 0.65),
        ("all_given", True, None),
        ("any_given", True, None),
        ("imports_lately", True, None),
    ],
)
def test_a_result_means_what_it_says(call, name, passed, score):
    finding = call(name, context=["doc"])
    assert (finding.passed, finding.score) == (passed, score)
    assert bool(finding.message) is (passed is False)


def test_a_score_passes_from_its_threshold_on(call):
    assert call("counts", "1234567", **{"pass": 0.7}).passed is True
    below = call("counts", "123456", **{"pass": 0.7})
    assert (below.passed, below.score) == (False, 0.6)
    assert "0.6" in below.message


@pytest.mark.parametrize(
    ("output", "least", "passed", "message"),
    [
        ("text", {}, True, ""),
        ("text", {"pass": 0.4}, True, ""),
        ("text", {"pass": 0.5}, False, f"{PATH}:grades returned 0.4, below 0.5"),
        ("bad", {}, False, "it is bad"),
    ],
)
def test_a_mapping_has_a_grade_and_its_reason(call, output, least, passed, message):
    finding = call("grades", output, **least)
    assert (finding.passed, finding.message) == (passed, message)
    assert finding.score == len(output) / 10


def test_a_field_is_given_to_the_function_as_text(call):
    output = '{"t": "1234567", "n": [1]}'
    assert call("counts", output, field="t").score == 0.7
    assert call("explains", output, field="n").message == "`n`: no [1]"
    assert call("counts", "prose", field="t").passed is False


def test_the_reason_is_the_message(call):
    assert call("explains", "greeting").message == "no greeting"


LINES = {line.split("(")[0][4:]: n for n, line in enumerate(CODE.splitlines(), 1) if "def " in line}


@pytest.mark.parametrize(
    ("name", "further"),
    [
        ("nothing", 0),
        ("text", 0),
        ("seven", 0),
        ("not_a_number", 0),
        ("truthy", 0),
        ("grades_badly", 0),
        ("prints", 0),
        ("raises", 1),
        ("exits", 0),
        ("grows", 0),
        ("other_arguments", 0),
    ],
)
def test_no_result_is_undetermined_and_names_the_line(call, name, further):
    finding = call(name)
    assert finding.passed is None
    assert finding.message.startswith(f"{PATH}:{LINES[name] + further}: ")


@pytest.mark.parametrize("name", ["sleeps", "loops"])
def test_what_takes_too_long_is_undetermined(call, name):
    finding = call(name, timeout_ms=100)
    assert finding.passed is None
    assert finding.message.startswith(PATH)


def test_a_function_that_keeps_running_out_of_time_is_given_up(call, monkeypatch):
    monkeypatch.setattr(own_function, "_TIMEOUTS_ALLOWED", 2)
    code = CODE + "# its own count\n"
    for _ in range(2):
        assert "no result" in call("sleeps", code=code, timeout_ms=20).message
    assert "does not call it again" in call("sleeps", code=code, timeout_ms=20).message


def test_nothing_reaches_the_next_sample(call):
    for name in ("remembers", "remembers", "spoils", "remembers"):
        assert call(name).passed is True
    assert call("vanishes").passed is None
    assert call("explains", "x").passed is False


def test_no_answer_can_be_forged_for_another_sample(call):
    assert call("writes_everywhere").passed is None
    assert call("fails").passed is False
    assert call("explains", "x").message == "no x"


@LANDLOCK.mark
@pytest.mark.parametrize("name", ["kills_its_parent", "connects", "starts", "runs"])
def test_the_system_refuses_what_a_check_need_not_do(call, name):
    finding = call(name)
    assert finding.passed is None
    assert "PermissionError" in finding.message


@LANDLOCK.mark
@pytest.mark.parametrize("path", [__file__, "/etc/passwd", "/proc/self/environ"])
def test_it_reads_no_file_but_those_of_python(call, path):
    assert "PermissionError" in call("reads", path).message


def test_it_gets_no_key(call, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    assert call("keys", code=CODE + "# started with the key\n").message == "none"


def test_what_a_file_imports_must_be_named(call):
    code = "import helper_of_tone\ndef check(output): return helper_of_tone.good(output)\n"
    texts = {"lib/helper_of_tone.py": "def good(text): return text == 'text'\n"}
    missing = call("check", code=code)
    assert missing.passed is None
    assert missing.message.startswith(f"{PATH}:1: ModuleNotFoundError")
    named = {"modules": list(texts), "texts": texts}
    assert call("check", code=code, **named).passed is True


@pytest.mark.parametrize(
    ("code", "line"), [("def check(output)\n    pass\n", 1), ("\nraise ValueError('no')\n", 2)]
)
def test_a_file_that_cannot_be_imported_is_named_with_its_line(call, code, line):
    finding = call("check", code=code, trusted={PATH: code}, texts={PATH: "def check(output): 1"})
    assert finding.passed is None
    assert finding.message.startswith(f"{PATH}:{line}: ")


def test_only_functions_that_the_file_defines_are_called(call):
    own = CODE + "def system(output): return True\n"
    assert call("system", "true", code=own, trusted={PATH: CODE}).passed is None


@pytest.mark.parametrize("trusted", [None, {}, {"contracts/other.py": CODE}])
def test_code_that_is_not_trusted_never_runs(call, trusted):
    finding = call("passes", trusted=trusted)
    assert finding.passed is None
    assert finding.message.startswith(f"{PATH} was not run")


def test_a_module_that_is_not_trusted_keeps_the_check_from_running(call):
    texts = {"contracts/more.py": "x = 1\n"}
    finding = call("passes", modules=list(texts), texts=texts, trusted={PATH: CODE})
    assert finding.passed is None
    assert "contracts/more.py" in finding.message


@pytest.mark.parametrize(
    "params",
    [
        {"python": f"{PATH}:missing"},
        {"python": f"{PATH}:calls"},
        {"python": f"{PATH}:passes", "modules": ["contracts/json.py"]},
        {"python": f"{PATH}:passes", "modules": ["lib/tone.py"]},
        {"python": f"{PATH}:passes", "modules": ["lib/notes.txt"]},
    ],
)
def test_mistakes_are_found_before_any_model_is_called(params):
    texts = dict.fromkeys([PATH, *params.get("modules", ())], CODE)
    with pytest.raises(ParameterError):
        python.CHECK.prepare(params, Files(texts, "contracts/a.yaml"))
