"""A full suite on several machines decides what one machine decides, and loses no answer."""

from __future__ import annotations

import itertools
import json
import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from support.edited_text import edited
from support.git_repository import GitRepository
from support.openai_server import Fault, OpenAIServer, Reply, bad_request, hang, unauthorized
from support.pull_request import CONTRACT, answer, files
from support.same_result import without_time_and_calls

from gatekeeper.cli.main import main

KEY = "sk-0123456789abcdef"
ADAPTIVE = edited(
    CONTRACT,
    "sampling: {samples: 1, mode: fixed}",
    "sampling: {samples: 4, mode: adaptive}\nslo: {success_rate: 0.3}",
)
WHOLE = edited(CONTRACT, "name: sentiment", "name: whole", "samples: 1", "samples: 2")
SHARDS, FIXTURES = 3, 12
CALLS = 6 * FIXTURES


@pytest.fixture(autouse=True)
def keyed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


@pytest.fixture
def suite(git_repository: Callable[..., GitRepository]) -> GitRepository:
    """Two contracts; of one, sampling stops early on one machine."""
    made = git_repository("suite")
    contracts = {"contracts/sentiment.yaml": ADAPTIVE, "contracts/whole.yaml": WHOLE}
    made.commit("suite", {**files(FIXTURES), **contracts})
    return made


def mostly(body: Mapping[str, Any]) -> str | Fault:
    """Answer wrongly now and then, and fail now and then: the same for the same request."""
    drawn = random.Random(json.dumps([body["messages"], body.get("seed")])).random()  # noqa: S311
    if drawn < 0.05:
        return bad_request()
    return "I could not say." if drawn < 0.2 else answer(body)


class Machines:
    """Runs the commands of all machines in one process."""

    def __init__(self, repository: GitRepository, folder: Path) -> None:
        self.repository, self.folder = str(repository.path), folder
        self.plan_file = folder / "plan.json"
        self.answers, self.out = folder / "answers", folder / "out"

    def plan(self, *more: str, shards: int = SHARDS) -> int:
        named = ["--shards", str(shards), "--out", str(self.plan_file)]
        return main(["plan", "--repo", self.repository, *named, *more])

    def sample(self, shard: int, *more: str, out: Path | None = None) -> int:
        named = ["--plan", str(self.plan_file), "--shard", f"{shard}/{SHARDS}"]
        into = ["--out", str(out or self.answers)]
        return main(["sample", "--repo", self.repository, *named, *into, *more])

    def decide(self, *more: str, answers: Path | None = None) -> int:
        named = ["--plan", str(self.plan_file), "--answers", str(answers or self.answers)]
        return main(["decide", "--repo", self.repository, *named, "--out", str(self.out), *more])

    def run(self, out: Path) -> int:
        seed = json.loads(self.plan_file.read_text())["order_seed"]
        return main(["run", "--repo", self.repository, "--order-seed", seed, "--out", str(out)])

    def file(self, shard: int) -> Path:
        return self.answers / f"shard-{shard}-of-{SHARDS}.jsonl"

    @property
    def result(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.out / "result.json").read_text())
        return found


@pytest.fixture
def machines(suite: GitRepository, tmp_path: Path) -> Machines:
    return Machines(suite, tmp_path)


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> Callable[[OpenAIServer], None]:
    return lambda server: monkeypatch.setenv("OPENAI_BASE_URL", server.url)


@pytest.fixture
def sampled(machines: Machines, served: Callable[[OpenAIServer], None]) -> Machines:
    with OpenAIServer(answer) as server:
        served(server)
        assert machines.plan() == 0
        assert [machines.sample(shard) for shard in (1, 2, 3)] == [0, 0, 0]
    return machines


@pytest.mark.parametrize("says", [answer, mostly])
def test_the_decision_is_that_of_one_machine(
    says: Callable[[Mapping[str, Any]], str | Fault],
    machines: Machines,
    served: Callable[[OpenAIServer], None],
    tmp_path: Path,
) -> None:
    assert machines.plan() == 0
    with OpenAIServer(says) as server:
        served(server)
        assert [machines.sample(shard) for shard in (3, 1, 2)] == [0, 0, 0]
        asked = len(server.requests)
        code = machines.run(tmp_path / "one")
        one_machine = len(server.requests) - asked
    assert machines.decide() == code
    assert len(server.requests) == asked + one_machine
    one = json.loads((tmp_path / "one/result.json").read_text())
    assert without_time_and_calls(machines.result) == without_time_and_calls(one)
    # Nothing stopped early on the shards, and all of it is in the report.
    assert machines.result["calls"]["made"] == asked >= CALLS
    assert machines.result["calls"]["surplus"] > 0
    assert machines.result["calls"]["cached"] == 0
    assert one["calls"]["saved"] + one["calls"]["surplus"] > 0
    # What could have been spent at most is that of one machine too.
    assert machines.result["most_cost_usd"] == pytest.approx(one["most_cost_usd"])
    for name in ("expected", "most"):
        found = machines.result["forecast"][name]
        assert found == pytest.approx(one["forecast"][name])
        assert found["calls"] == CALLS
    price = json.loads(machines.file(1).read_text().splitlines()[2])["answer"]["cost_usd"]
    failed = machines.result["calls"]["failed"]
    assert machines.result["cost_usd"] == pytest.approx(price * asked, rel=0.1 if failed else 1e-9)


def test_a_lost_answer_is_asked_for_once_more(
    machines: Machines, served: Callable[[OpenAIServer], None]
) -> None:
    seen: set[str] = set()

    def says(body: Mapping[str, Any]) -> str | Fault:
        key = json.dumps([body["messages"], body.get("seed")])
        lost = key not in seen and random.Random(key).random() < 0.2  # noqa: S311
        seen.add(key)
        return bad_request() if lost else answer(body)

    assert machines.plan() == 0
    with OpenAIServer(says) as server:
        served(server)
        assert [machines.sample(shard) for shard in (1, 2, 3)] == [0, 0, 0]
        assert len(server.requests) > CALLS
    machines.decide()
    assert machines.result["calls"]["failed"] == 0


def test_the_plan_is_a_matrix_and_a_bill(
    machines: Machines, capsys: pytest.CaptureFixture[str]
) -> None:
    assert machines.plan("--contract", "whole") == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out) == {"shard": ["1/3", "2/3", "3/3"]}
    assert len(printed.out.splitlines()) == 1
    assert f"{2 * FIXTURES} calls on 3 shards" in printed.err
    assert "USD" in printed.err
    plan = json.loads(machines.plan_file.read_text())
    assert (plan["shards"], plan["contracts"]) == (3, ["whole"])


def test_a_small_suite_gets_no_more_shards_than_calls(
    machines: Machines, capsys: pytest.CaptureFixture[str]
) -> None:
    assert machines.plan("--contract", "whole", shards=200) == 0
    assert len(json.loads(capsys.readouterr().out)["shard"]) == 2 * FIXTURES


@pytest.mark.parametrize("shards", ["0", "257", "-1", "x", "3.5"])
def test_a_number_of_shards_that_cannot_be_is_refused(shards: str, machines: Machines) -> None:
    with pytest.raises(SystemExit) as ended:
        machines.plan("--shards", shards)
    assert ended.value.code == 2


def test_a_part_of_the_cost_limit_that_no_call_fits_is_refused(
    suite: GitRepository, machines: Machines, capsys: pytest.CaptureFixture[str]
) -> None:
    suite.commit("little", {".github/gatekeeper.yml": "limits: {cost_usd: 0.02}\n"})
    assert machines.plan(shards=1) == 0
    assert machines.plan(shards=100) == 2
    assert f"among {CALLS} shards" in capsys.readouterr().err


def test_a_plan_is_refused_when_the_money_of_the_month_is_spent(
    sampled: Machines, suite: GitRepository, capsys: pytest.CaptureFixture[str]
) -> None:
    history = ("--history", str(sampled.folder / "history.jsonl"))
    assert sampled.decide(*history) == 0
    suite.commit("month", {".github/gatekeeper.yml": "limits: {month_usd: 0.0000001}\n"})
    assert sampled.plan() == 0
    assert "limits.month_usd has no effect" in capsys.readouterr().err
    assert sampled.plan(*history) == 2
    assert "No model was called" in capsys.readouterr().err


def test_a_missing_shard_could_not_be_measured(
    sampled: Machines, capsys: pytest.CaptureFixture[str]
) -> None:
    sampled.file(2).unlink()
    history = sampled.folder / "history.jsonl"
    assert sampled.decide("--history", str(history)) == 3
    assert sampled.result["verdict"] == "error"
    said = "\n".join(sampled.result["notices"])
    assert "Shard 2/3" in said
    assert f"--plan {sampled.plan_file} --shard 2/3" in said
    assert "2/3" in capsys.readouterr().out
    assert not history.exists()


def test_every_missing_shard_is_named(sampled: Machines) -> None:
    sampled.file(1).unlink()
    sampled.file(3).unlink()
    assert sampled.decide() == 3
    said = "\n".join(sampled.result["notices"])
    assert "Shard 1/3" in said
    assert "Shard 3/3" in said
    assert "--shard I/3" in said


def test_a_damaged_shard_is_sampled_again(
    sampled: Machines, served: Callable[[OpenAIServer], None]
) -> None:
    lines = sampled.file(2).read_bytes().splitlines(keepends=True)
    sampled.file(2).write_bytes(b"".join([*lines[:10], lines[10][:-30], b"\n", *lines[11:15]]))
    assert sampled.decide() == 3
    assert "1 line of the shard's file cannot be read" in "\n".join(sampled.result["notices"])
    with OpenAIServer(answer) as server:
        served(server)
        assert sampled.sample(2, "--resume") == 0
    assert len(server.requests) == CALLS // SHARDS - 12
    assert sampled.decide() == 0
    # Twelve answers were left of the session that was cut short.
    assert sampled.result["calls"]["made"] == CALLS


def test_a_shard_without_a_first_line_is_missing(sampled: Machines) -> None:
    sampled.file(1).write_bytes(b"")
    assert sampled.decide() == 3
    assert "first line" in "\n".join(sampled.result["notices"])


def test_the_same_shard_twice_counts_once(sampled: Machines) -> None:
    assert sampled.decide() == 0
    once = sampled.result
    copy = sampled.answers / "again"
    copy.mkdir()
    (copy / sampled.file(1).name).write_bytes(sampled.file(1).read_bytes())
    assert sampled.decide() == 0
    assert sampled.result["calls"] == once["calls"]
    assert sampled.result["cost_usd"] == once["cost_usd"]


def test_of_two_answers_the_first_one_stands(
    sampled: Machines, served: Callable[[OpenAIServer], None], suite: GitRepository
) -> None:
    """Nobody can sample a shard until it comes out well. Both are paid for."""
    later = sampled.answers / "a-later-attempt"
    with OpenAIServer(lambda _: "I could not say.") as server:
        served(server)
        for shard in (1, 2, 3):
            assert sampled.sample(shard, out=later) == 0
    assert sampled.decide() == 0
    assert sampled.result["calls"]["made"] == 2 * CALLS


def test_a_shard_that_is_sampled_again_says_where_the_first_answers_are(
    sampled: Machines,
    served: Callable[[OpenAIServer], None],
    capsys: pytest.CaptureFixture[str],
) -> None:
    first = [sampled.file(1).read_bytes(), sampled.file(2).read_bytes()]
    assert sampled.decide() == 0
    with OpenAIServer(answer) as server:
        served(server)
        for shard in (1, 2):
            assert sampled.sample(shard) == 0
    names = [f"shard-{shard}-of-{SHARDS}-earlier.jsonl" for shard in (1, 2)]
    assert [(sampled.answers / name).read_bytes() for name in names] == first
    said = capsys.readouterr().err
    assert all(name in said for name in names)
    assert sampled.decide() == 0
    assert sampled.result["calls"]["made"] == CALLS


def test_the_same_answers_make_one_record_of_the_history(sampled: Machines) -> None:
    history = sampled.folder / "history.jsonl"
    assert sampled.decide("--history", str(history)) == 0
    assert sampled.decide("--history", str(history)) == 0
    assert len(history.read_text().splitlines()) == 2


def test_answers_of_another_plan_are_refused(
    sampled: Machines, capsys: pytest.CaptureFixture[str]
) -> None:
    header, *rest = sampled.file(1).read_text().splitlines(keepends=True)
    other = header.replace(json.loads(header)["plan"], "f" * 64)
    sampled.file(1).write_text("".join([other, *rest]))
    assert sampled.decide() == 2
    assert "another plan" in capsys.readouterr().err


def test_a_plan_or_answers_under_version_control_are_refused(
    sampled: Machines, suite: GitRepository, capsys: pytest.CaptureFixture[str]
) -> None:
    brought = suite.path / "answers"
    brought.mkdir()
    (brought / sampled.file(1).name).write_bytes(sampled.file(1).read_bytes())
    (brought / "plan.json").write_bytes(sampled.plan_file.read_bytes())
    suite.git("add", "--force", "answers")
    assert sampled.decide(answers=brought) == 2
    sampled.plan_file = brought / "plan.json"
    assert sampled.decide() == 2
    assert sampled.sample(1) == 2
    assert capsys.readouterr().err.count("git tracks this file") == 3


@pytest.mark.parametrize("content", [b"", b"{}", b"[" * 100_000, b'{"version": 2}', b"\xff"])
def test_a_file_that_is_no_plan_is_refused(content: bytes, machines: Machines) -> None:
    machines.plan_file.write_bytes(content)
    assert machines.decide() == 2
    assert machines.sample(1) == 2


def test_a_shard_that_the_plan_does_not_have_is_refused(sampled: Machines) -> None:
    named = ["--plan", str(sampled.plan_file), "--out", str(sampled.answers)]
    assert main(["sample", "--repo", sampled.repository, *named, "--shard", "1/4"]) == 2
    with pytest.raises(SystemExit):
        main(["sample", *named, "--shard", "4/3"])


def test_a_refused_key_ends_the_shard_and_is_named(
    machines: Machines, served: Callable[[OpenAIServer], None]
) -> None:
    assert machines.plan() == 0
    with OpenAIServer(lambda _: unauthorized()) as server:
        served(server)
        assert machines.sample(1) == 3
    with OpenAIServer(answer) as server:
        served(server)
        assert [machines.sample(shard) for shard in (2, 3)] == [0, 0]
        assert machines.decide() == 3
        assert "the shard ended early" in "\n".join(machines.result["notices"])
        assert machines.sample(1, "--resume") == 0
    assert machines.decide() == 0


def test_the_limits_hold_over_all_shards(
    suite: GitRepository, machines: Machines, served: Callable[[OpenAIServer], None]
) -> None:
    suite.commit("few", {".github/gatekeeper.yml": "limits: {calls: 50, concurrency: 4}\n"})
    assert machines.plan() == 0
    with OpenAIServer(answer) as server:
        served(server)
        assert [machines.sample(shard) for shard in (1, 2, 3)] == [3, 3, 3]
    assert len(server.requests) == 50
    assert machines.decide() == 3
    assert machines.result["calls"]["made"] == 50


def test_an_answer_with_a_secret_is_not_kept(
    machines: Machines, served: Callable[[OpenAIServer], None]
) -> None:
    assert machines.plan() == 0
    with OpenAIServer(lambda _: Reply(f"positive {KEY}")) as server:
        served(server)
        assert [machines.sample(shard) for shard in (1, 2, 3)] == [0, 0, 0]
    assert KEY not in "".join(machines.file(shard).read_text() for shard in (1, 2, 3))
    assert machines.decide() == 3
    assert "contained a secret" in "\n".join(machines.result["notices"])
    assert machines.result["calls"]["made"] == CALLS


def test_a_full_disk_ends_the_shard(
    machines: Machines, served: Callable[[OpenAIServer], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert machines.plan() == 0
    half: Callable[[int, bytes], int] = lambda _, data: len(data) // 2  # noqa: E731
    monkeypatch.setattr("gatekeeper.runs.answers.files.os.write", half)
    with OpenAIServer(answer) as server:
        served(server)
        assert machines.sample(1) == 3
    assert server.requests == []


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_killed_shard_goes_on(
    number: int, machines: Machines, served: Callable[[OpenAIServer], None]
) -> None:
    assert machines.plan() == 0
    hung = threading.Event()
    count = itertools.count(1)

    def slow(body: Mapping[str, Any]) -> str | Fault:
        if next(count) <= 6:
            return answer(body)
        hung.set()
        return hang()

    with OpenAIServer(slow) as server:
        named = ["--repo", machines.repository, "--plan", str(machines.plan_file)]
        command = [sys.executable, "-m", "gatekeeper", "sample", *named, "--shard", "1/3"]
        with subprocess.Popen(
            [*command, "--out", str(machines.answers)],
            env=os.environ | {"OPENAI_BASE_URL": server.url},
            stderr=subprocess.PIPE,
        ) as process:
            assert hung.wait(60)
            while machines.file(1).read_bytes().count(b'"answer"') < 6:
                assert process.poll() is None
            process.send_signal(number)
            process.communicate(timeout=60)
    assert process.returncode != 0
    with OpenAIServer(answer) as server:
        served(server)
        assert [machines.sample(shard, "--resume") for shard in (1, 2, 3)] == [0, 0, 0]
    assert len(server.requests) == CALLS - 6
    assert machines.decide() == 0
    assert machines.result["calls"]["made"] >= CALLS
