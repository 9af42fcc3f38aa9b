"""The child with limits: it answers, it ends, and the next request is answered again."""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.machine_needs import LINUX

from gatekeeper.sandbox import child, process, process_limits
from gatekeeper.sandbox.frames import HEADER, FrameError, encode_frame, read_frame
from gatekeeper.sandbox.process import LimitedProcess, Limits

LIMITS = Limits(memory=300_000_000, cpu=0.3, wall=20)


@pytest.fixture(scope="module")
def asked() -> Iterator[LimitedProcess]:
    """A child that imports the services of tests/support."""
    made = LimitedProcess("sandbox_services:misbehave", limits=LIMITS)
    homes = process._homes
    with pytest.MonkeyPatch.context() as patch:
        here = str(Path(__file__).parents[2] / "support")
        patch.setattr(process, "_homes", lambda packages: [*homes(packages), here])
        yield made
    made.close()


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)  # fmt: skip


@given(VALUES)
def test_a_frame_is_read_as_it_was_written(value: Any) -> None:
    assert read_frame(io.BytesIO(encode_frame(value)).read) == value


@pytest.mark.parametrize("value", ["\ud800", {"\udfff": ["\ud800\ud800"]}, "\0", 10**400])
def test_half_a_surrogate_pair_is_text_too(value: Any) -> None:
    assert read_frame(io.BytesIO(encode_frame(value)).read) == value


def test_what_is_no_frame_is_refused() -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    for value in (float("nan"), float("inf"), {1, 2}, b"", deep, "x" * 64_000_001):
        with pytest.raises(FrameError):
            encode_frame(value)
    for data in (b"[", b"\xff\xff", b"[" * 100_000):
        with pytest.raises(FrameError):
            read_frame(io.BytesIO(HEADER.pack(len(data)) + data).read)
    with pytest.raises(FrameError, match="64 MB"):
        read_frame(io.BytesIO(HEADER.pack(2**32 - 1)).read)


def test_it_answers_each_request(asked: LimitedProcess) -> None:
    starts = asked.starts
    for text in ("a", "é\ud800", "x" * 5_000_000):
        answers = asked.ask(["echo", text])
        assert (answers.overrun, answers.responses[1]) == (None, ["echo", text])
    assert asked.starts <= starts + 1


@pytest.mark.parametrize("kind", ["spin", "count", "exit", "large"])
def test_what_overruns_is_ended_and_the_next_request_is_answered(
    asked: LimitedProcess, kind: str
) -> None:
    answers = asked.ask([kind])
    assert answers.overrun is not None
    assert answers.responses[0] == ["began", kind]
    assert asked.ask(["echo"]).responses[1] == ["echo"]


def test_what_a_service_prints_disturbs_nothing(asked: LimitedProcess) -> None:
    answers = asked.ask(["noise"])
    assert (answers.responses, answers.overrun) == ([["began", "noise"], "after it"], None)


def test_waiting_has_a_limit_too(asked: LimitedProcess) -> None:
    asked.ask(["echo"])
    answers = asked.ask(["sleep"], wall=1)
    assert (answers.responses, answers.overrun) == ([["began", "sleep"]], "it takes too much time")


@LINUX.mark
def test_memory_has_a_limit(asked: LimitedProcess) -> None:
    assert asked.ask(["grow", 10_000_000]).responses[1] == 10_000_000
    assert asked.ask(["grow", 400_000_000]).overrun is not None


def test_a_child_that_keeps_much_memory_is_replaced(asked: LimitedProcess) -> None:
    asked.ask(["echo"])
    starts = asked.starts
    for request in (["grow", 200_000_000], ["echo"], ["keep", 170_000_000]):
        assert asked.ask(request).overrun is None
        assert asked.starts == starts
    assert asked.ask(["echo"]).overrun is None
    assert asked.starts == starts + 1


def test_a_child_that_died_meanwhile_is_replaced(asked: LimitedProcess) -> None:
    asked.ask(["echo"])
    running = asked._process
    assert running is not None
    running.kill()
    running.wait()
    assert asked.ask(["echo"]).overrun is None


def test_python_can_end_it_with_an_exception(asked: LimitedProcess) -> None:
    assert asked.ask(["told"]).responses[1] == "it takes too much time"


def test_it_inherits_no_secret_and_writes_no_file(
    asked: LimitedProcess, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked.close()
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    monkeypatch.setenv("GITHUB_TOKEN", "t")
    monkeypatch.setenv("LD_LIBRARY_PATH", "/lib")
    seen = asked.ask(["environment"]).responses[1]
    assert "sk-secret" not in str(seen)
    assert set(seen) <= {"LD_LIBRARY_PATH", "LC_CTYPE"}
    answers = asked.ask(["write", str(tmp_path / "file")])
    assert answers.overrun is not None or answers.responses[1] == "OSError"
    assert not (tmp_path / "file").exists() or (tmp_path / "file").read_bytes() == b""


def test_what_cannot_be_sent_is_told_to_the_caller(asked: LimitedProcess) -> None:
    with pytest.raises(FrameError):
        asked.ask([float("nan")])
    assert asked.ask(["echo"]).overrun is None


def test_an_interruption_leaves_no_half_answer(
    asked: LimitedProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked.ask(["echo"])
    with monkeypatch.context() as patch:
        patch.setattr(process, "read_frame", _interrupt)
        with pytest.raises(KeyboardInterrupt):
            asked.ask(["echo", 1])
    assert asked.ask(["echo", 2]).responses[1] == ["echo", 2]


def _interrupt(_: Any) -> None:
    raise KeyboardInterrupt


def test_closing_twice_does_no_harm() -> None:
    made = LimitedProcess("sandbox_services:misbehave")
    made.close()
    made.close()


def test_serving_in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child, "allow_cpu", lambda seconds: None)
    source = io.BytesIO(encode_frame(1) + encode_frame(2) + b"\0")
    sink = io.BytesIO()
    child.serve(lambda request: iter([request, [request]]), source, sink, 1, 1 << 60)
    sink.seek(0)
    frames = [read_frame(sink.read) for _ in range(6)]
    assert frames == [[1], [[1]], [], [2], [[2]], []]
    sink = io.BytesIO()
    child.serve(lambda request: iter([]), io.BytesIO(encode_frame(1) * 2), sink, 1, 0)
    assert read_frame(io.BytesIO(sink.getvalue()).read) is None


def test_a_time_limit_ends_a_block_and_no_other() -> None:
    with pytest.raises(process_limits.TimeUpError), process_limits.cpu_limit(0.01):
        sum(1 for _ in count())
    with process_limits.cpu_limit(5):
        pass
    assert sum(range(3_000_000)) > 0


def test_memory_in_use_is_known_without_a_process_file_system(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_: object) -> str:
        raise FileNotFoundError

    monkeypatch.setattr(process_limits.Path, "read_text", refuse)
    assert process_limits.memory_in_use() > 10**6


def test_limits_are_set_in_a_process_of_its_own() -> None:
    code = (
        "import resource, gatekeeper.sandbox.process_limits as process_limits;"
        "process_limits.limit('RLIMIT_NO_SUCH', 1); process_limits.limit('RLIMIT_CORE', 0);"
        "process_limits.limit('RLIMIT_AS', 10**9); process_limits.limit('RLIMIT_AS', 10**10);"
        "process_limits.allow_cpu(5); process_limits.allow_cpu(7);"
        "assert resource.getrlimit(resource.RLIMIT_AS)[0] == 10**9;"
        "assert 7 <= resource.getrlimit(resource.RLIMIT_CPU)[0] <= 9;"
        "assert process_limits.memory_in_use() > 10**6"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_whole_child_ends_with_its_input() -> None:
    command = [sys.executable, "-c", "from gatekeeper.sandbox.child import main; import sys;"
               "main('gatekeeper.contract.templates.worker:answer', sys.argv[1])",
               '{"memory": 400000000, "cpu": 5}']  # fmt: skip
    request = {"kind": "includes", "source": "{% include 'a' %}"}
    done = subprocess.run(command, input=encode_frame(request), capture_output=True, check=True)
    assert read_frame(io.BytesIO(done.stdout).read) == [[["a", 1]]]
