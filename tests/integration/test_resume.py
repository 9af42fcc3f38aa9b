"""A run that was killed goes on where it stood, pays for nothing twice, and decides the same."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from support.edited_text import edited
from support.git_repository import GitRepository
from support.openai_server import Fault, OpenAIServer, bad_request, hang
from support.pull_request import (
    BROKEN,
    CONTRACT,
    FEW,
    FILES,
    GOOD,
    HARMLESS,
    PROMPT,
    answer,
    files,
)

import gatekeeper
from gatekeeper.cli.main import main
from gatekeeper.gate.comparison.confirmation import MOST_FIXED, MOST_TO_LIFT, most_suspects
from gatekeeper.runs.answers.files import UNFINISHED
from gatekeeper.runs.answers.kept import AnswerLog, read_unfinished
from gatekeeper.stats.paired.confirmation import MOST_PAIRS

KEY = "sk-0123456789abcdef"


@pytest.fixture
def proposed(git_repository: Callable[..., GitRepository]) -> GitRepository:
    """A prompt that gets worse. Adaptive sampling would stop early: the order decides when."""
    made = git_repository("proposed")
    adaptive = edited(CONTRACT, "samples: 1, mode: fixed", "samples: 3, mode: adaptive")
    return made.propose({PROMPT: BROKEN}, {**FILES, "contracts/sentiment.yaml": adaptive})


@pytest.fixture(autouse=True)
def keyed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def arguments(repository: GitRepository, out: Path, *more: str) -> list[str]:
    named = ["check", "--repo", str(repository.path), "--base", "main", "--head", "pr"]
    return [*named, "--out", str(out), *more]


def killed_after(answers: int, repository: GitRepository, out: Path, number: int) -> list[str]:
    """Run the command in a process of its own and kill it once so many calls were answered and
    the next ones hang. Returns what was asked."""
    asked: list[str] = []
    hung = threading.Event()

    def slow(body: Mapping[str, Any]) -> str | Fault:
        asked.append(json.dumps(body["messages"]))
        if len(asked) > answers:
            hung.set()
            return hang()
        return answer(body)

    with OpenAIServer(slow) as server:
        environment = os.environ | {"OPENAI_BASE_URL": server.url}
        with subprocess.Popen(
            [sys.executable, "-m", "gatekeeper", *arguments(repository, out)],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        ) as process:
            assert hung.wait(60)
            while count_answers(out) < answers:
                assert process.poll() is None
            process.send_signal(number)
            process.communicate(timeout=60)
    return asked


def leave_unfinished(answers: int, repository: GitRepository, out: Path) -> None:
    """Leave what a run leaves that is killed after so many answers."""
    with OpenAIServer(answer), pytest.MonkeyPatch.context() as patch:
        patch.setattr("gatekeeper.runs.answers.files.forget_unfinished", lambda _: None)
        main(arguments(repository, out))
    kept = (out / UNFINISHED).read_bytes().splitlines(keepends=True)[: answers + 1]
    (out / UNFINISHED).write_bytes(b"".join(kept))


def count_answers(out: Path) -> int:
    file = out / UNFINISHED
    return max(0, len(file.read_bytes().splitlines()) - 1) if file.exists() else 0


def decided(out: Path) -> dict[str, Any]:
    """What the result says of the change, without what each run has of its own."""
    result = json.loads((out / "result.json").read_text())
    (contract,) = result["contracts"]
    for arm in ("base", "head"):
        contract[arm].pop("latency_ms", None)
    for measured in ("latency_difference_ms", "resources"):
        contract["paired"].pop(measured)
    keep = ("verdict", "reasons", "paired", "fixtures")
    return {"exit": result["exit_code"], **{name: contract[name] for name in keep}}


@pytest.mark.long
@pytest.mark.parametrize(("number", "answers"), [(signal.SIGKILL, 9), (signal.SIGTERM, 1)])
def test_a_killed_run_goes_on(
    number: int, answers: int, proposed: GitRepository, tmp_path: Path
) -> None:
    out, whole = tmp_path / "out", tmp_path / "whole"
    killed_after(answers, proposed, out, number)
    kept = read_unfinished(out / UNFINISHED, lambda _: False)
    assert (len(kept.answers), kept.damaged) == (answers, 0)

    with OpenAIServer(answer) as server:
        assert main(arguments(proposed, out, "--resume")) == 1
        resumed = len(server.requests)
        assert main(arguments(proposed, whole, "--order-seed", kept.header.order_seed)) == 1
        uninterrupted = len(server.requests) - resumed

    assert decided(out) == decided(whole)
    result = json.loads((out / "result.json").read_text())
    assert result["calls"]["made"] >= resumed  # some are cancelled on their way
    # Calls that were under way when the answer was sure may differ by timing, evidence may not.
    surplus = json.loads((whole / "result.json").read_text())["calls"]["surplus"]
    assert resumed + answers <= uninterrupted + result["calls"]["surplus"]
    assert resumed + answers >= uninterrupted - surplus
    assert any(f"{answers} answer" in notice for notice in result["notices"])
    assert not (out / UNFINISHED).exists()


@pytest.mark.long
def test_nothing_is_asked_twice(proposed: GitRepository, tmp_path: Path) -> None:
    """With every sample drawn, both halves together ask each request once, as one run does."""
    proposed.switch("main")
    proposed.commit("draw all", {"contracts/sentiment.yaml": CONTRACT})
    proposed.git("branch", "--force", "pr")
    proposed.switch("pr")
    proposed.commit("reword", {PROMPT: HARMLESS})
    out = tmp_path / "out"
    asked = killed_after(20, proposed, out, signal.SIGKILL)[:20]
    with OpenAIServer(answer) as server:
        assert main(arguments(proposed, out, "--resume")) == 0
        again = [json.dumps(request["messages"]) for request in server.requests]
    assert set(Counter([*asked, *again]).values()) == {1}
    assert len(asked) + len(again) == 48


def test_a_run_that_ends_leaves_nothing_to_resume(
    proposed: GitRepository,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with OpenAIServer(answer):
        assert main(arguments(proposed, tmp_path)) == 1
        assert main(arguments(proposed, tmp_path, "--resume")) == 2
    assert "there is no unfinished run; run without --resume" in capsys.readouterr().err


@pytest.mark.parametrize("other", ["diff", "replay", "nothing affected"])
def test_other_commands_leave_the_answers_of_an_unfinished_run(
    other: str, proposed: GitRepository, tmp_path: Path
) -> None:
    with OpenAIServer(answer):
        main(arguments(proposed, tmp_path / "whole"))
    samples = str(tmp_path / "whole/samples.jsonl")
    out = tmp_path / "out"
    leave_unfinished(3, proposed, out)
    same = ["check", "--repo", str(proposed.path), "--base", "pr", "--head", "pr"]
    {
        "diff": lambda: main(["diff", samples, samples, "--out", str(out)]),
        "replay": lambda: main(arguments(proposed, out, "--replay", samples)),
        "nothing affected": lambda: main([*same, "--out", str(out)]),
    }[other]()
    assert (out / "result.json").exists()
    assert count_answers(out) == 3


def test_a_new_run_keeps_the_answers_of_an_unfinished_one(
    proposed: GitRepository, tmp_path: Path
) -> None:
    leave_unfinished(3, proposed, tmp_path)
    kept = (tmp_path / UNFINISHED).read_bytes()
    with OpenAIServer(answer):
        assert main(arguments(proposed, tmp_path)) == 1
    assert (tmp_path / "unfinished-earlier.jsonl").read_bytes() == kept
    assert not (tmp_path / UNFINISHED).exists()
    notices = json.loads((tmp_path / "result.json").read_text())["notices"]
    assert any("unfinished-earlier.jsonl" in notice for notice in notices)


def test_no_new_run_loses_what_was_set_aside_before(
    proposed: GitRepository, tmp_path: Path
) -> None:
    kept = []
    for answers in (2, 3, 4):
        leave_unfinished(answers, proposed, tmp_path)
        kept.append((tmp_path / UNFINISHED).read_bytes())
    with OpenAIServer(answer):
        assert main(arguments(proposed, tmp_path)) == 1
    names = ("unfinished-earlier.jsonl", "unfinished-earlier-2.jsonl", "unfinished-earlier-3.jsonl")
    assert [(tmp_path / name).read_bytes() for name in names] == kept


def test_a_change_after_the_interruption_is_refused(
    proposed: GitRepository, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    leave_unfinished(3, proposed, tmp_path)
    proposed.commit("again", {PROMPT: edited(BROKEN, "What", "So what")})
    (tmp_path / "result.json").write_text("of the unfinished run", "utf-8")
    assert main(arguments(proposed, tmp_path, "--resume")) == 2
    said = capsys.readouterr().err
    assert (tmp_path / "result.json").read_text("utf-8") == "of the unfinished run"
    assert "the unfinished run sent other requests" in said
    assert "3 answers" in said, "what a run without --resume would begin without"
    assert count_answers(tmp_path) == 3


def test_answers_that_a_pull_request_brings_are_refused(
    proposed: GitRepository, capsys: pytest.CaptureFixture[str]
) -> None:
    out = proposed.path / "out"
    leave_unfinished(3, proposed, out)
    proposed.git("add", "--force", "out")
    proposed.commit("bring answers")
    assert main(arguments(proposed, out, "--resume")) == 2
    assert "could have written the answers" in capsys.readouterr().err


def test_answers_that_a_pull_request_brings_through_a_link_are_refused(
    proposed: GitRepository, capsys: pytest.CaptureFixture[str]
) -> None:
    leave_unfinished(3, proposed, proposed.path / "kept")
    proposed.symlink("out", "kept")
    proposed.git("add", "--force", "kept", "out")
    proposed.commit("bring answers")
    assert main(arguments(proposed, proposed.path / "out", "--resume")) == 2
    assert "could have written the answers" in capsys.readouterr().err


def test_answers_that_a_pull_request_brings_in_a_submodule_are_refused(
    proposed: GitRepository, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    inner = GitRepository.create(proposed.path / "Reports")
    leave_unfinished(3, proposed, inner.path)
    inner.commit("bring answers", {"kept": "yes"})
    proposed.git("add", "Reports")
    proposed.git("commit", "--quiet", "--message", "bring a submodule")
    assert main(arguments(proposed, proposed.path / "Reports", "--resume")) == 2
    assert "could have written the answers" in capsys.readouterr().err


def test_answers_that_were_only_taken_out_of_the_index_are_refused(
    proposed: GitRepository, capsys: pytest.CaptureFixture[str]
) -> None:
    out = proposed.path / "out"
    leave_unfinished(3, proposed, out)
    proposed.git("add", "--force", "out")
    proposed.git("commit", "--quiet", "--message", "bring answers")
    proposed.git("rm", "--quiet", "--cached", "-r", "out")
    assert main(arguments(proposed, out, "--resume")) == 2
    assert "could have written the answers" in capsys.readouterr().err


def test_a_line_that_was_cut_short_is_asked_again(proposed: GitRepository, tmp_path: Path) -> None:
    leave_unfinished(5, proposed, tmp_path)
    file = tmp_path / UNFINISHED
    file.write_bytes(file.read_bytes()[:-40])
    with OpenAIServer(answer):
        assert main(arguments(proposed, tmp_path, "--resume")) == 1
    result = json.loads((tmp_path / "result.json").read_text())
    assert any("4 answers" in notice for notice in result["notices"])
    assert any("1 line could not be read" in notice for notice in result["notices"])
    # The forecast is that of the calls that were left, and of the fresh samples that may follow.
    fresh = 2 * (most_suspects(24) * MOST_PAIRS + MOST_FIXED * MOST_TO_LIFT)
    assert result["forecast"]["most"]["calls"] == 2 * 3 * 24 - 4 + fresh


@pytest.mark.parametrize(
    "content", [b"", b"{}\n", b"[1]\n", b'{"version": 99}\n', b"\xff\n", b"[" * 200_000]
)
def test_a_file_that_no_run_wrote_is_refused(
    content: bytes, proposed: GitRepository, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / UNFINISHED).write_bytes(content)
    assert main(arguments(proposed, tmp_path, "--resume")) == 2
    assert "was not written by this version of gatekeeper" in capsys.readouterr().err
    assert (tmp_path / UNFINISHED).read_bytes() == content


def test_a_link_in_its_place_is_neither_read_nor_written(
    proposed: GitRepository,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text("mine")
    out = tmp_path / "out"
    out.mkdir()
    (out / UNFINISHED).symlink_to(elsewhere)
    assert main(arguments(proposed, out, "--resume")) == 2
    with OpenAIServer(answer):
        assert main(arguments(proposed, out)) == 1
    assert elsewhere.read_text() == "mine"


def test_a_full_disk_costs_the_answers_and_not_the_run(
    proposed: GitRepository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    half: Callable[[int, bytes], int] = lambda _, data: len(data) // 2  # noqa: E731
    monkeypatch.setattr("gatekeeper.runs.answers.files.os.write", half)
    with OpenAIServer(answer):
        assert main(arguments(proposed, tmp_path)) == 1
    notices = json.loads((tmp_path / "result.json").read_text())["notices"]
    assert any("the answers cannot be stored for --resume" in notice for notice in notices)


def test_an_answer_with_a_secret_is_not_kept(
    proposed: GitRepository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[int] = []
    monkeypatch.setattr(AnswerLog, "close", lambda log: written.append(log.count))
    with OpenAIServer(lambda _: f"positive {KEY}"):
        main(arguments(proposed, tmp_path))
    assert written[-1] == 0


def test_the_folder_of_a_run_in_batches_is_left_alone(
    proposed: GitRepository, tmp_path: Path
) -> None:
    kept = '{"version": 1}\n{"intended":"k","model":"m","names":[]}\n'
    (tmp_path / UNFINISHED).write_text(kept, "utf-8")
    (tmp_path / "result.json").write_text("of the run in batches", "utf-8")
    with OpenAIServer(answer) as server:
        assert main(arguments(proposed, tmp_path)) == 2
        assert server.requests == []
    assert (tmp_path / UNFINISHED).read_text("utf-8") == kept
    assert (tmp_path / "result.json").read_text("utf-8") == "of the run in batches"


def refusing_other(body: Mapping[str, Any]) -> str | Fault:
    """Answer as always, and refuse what the contract `other` asks."""
    return bad_request() if "Judge" in body["messages"][-1]["content"] else answer(body)


@pytest.fixture
def half_measured(git_repository: Callable[..., GitRepository]) -> GitRepository:
    """A change of two prompts: one contract fails, and `other` can be left without answers."""
    made = git_repository("half")
    other = edited(CONTRACT, "name: sentiment", "name: other", "sentiment.md", "other.md")
    prompt = edited(GOOD, "Is the review", "Judge: is the review")
    few = files(FEW // 2)["contracts/sentiment.fixtures.jsonl"]  # too few failures to end the run
    other = edited(other, "sentiment.fixtures.jsonl", "few.jsonl")
    more = {"contracts/other.yaml": other, "prompts/other.md": prompt, "contracts/few.jsonl": few}
    made.commit("sound", {**files(FEW), **more})
    made.branch("pr")
    reworded = edited(prompt, "is the review", "is this review")
    made.commit("reword", {PROMPT: BROKEN, "prompts/other.md": reworded})
    return made


@pytest.mark.parametrize("way", ["command", "library"])
def test_the_answers_of_a_contract_outlive_the_failure_of_another(
    way: str, half_measured: GitRepository, tmp_path: Path
) -> None:
    out = tmp_path / "out"

    def check(*more: str) -> int:
        if way == "command":
            return main(arguments(half_measured, out, *more))
        made = half_measured.path
        resume = "--resume" in more
        return gatekeeper.check(repo=made, base="main", head="pr", out=out, resume=resume).exit_code

    with OpenAIServer(refusing_other) as server:
        assert check() == 1
    result = json.loads((out / "result.json").read_text())
    verdicts = {contract["name"]: contract["verdict"] for contract in result["contracts"]}
    assert verdicts == {"sentiment": "fail", "other": "error"}
    assert any("add --resume" in notice for notice in result["notices"])
    with OpenAIServer(answer) as server:
        assert check("--resume") == 1
        asked = [request["messages"][-1]["content"] for request in server.requests]
    result = json.loads((out / "result.json").read_text())
    verdicts = {contract["name"]: contract["verdict"] for contract in result["contracts"]}
    assert verdicts == {"sentiment": "fail", "other": "inconclusive"}
    assert asked
    assert all("Judge" in text for text in asked)
    assert not (out / UNFINISHED).exists()
