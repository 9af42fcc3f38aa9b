"""Answers and plans of a divided run that somebody edited: refused, or reported as missing."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.git_repository import GitRepository
from support.openai_server import OpenAIServer
from support.pull_request import CONTRACT, answer, files

from gatekeeper.cli.main import main
from gatekeeper.errors import UsageError
from gatekeeper.runs.answers.kept import KeptAnswers
from gatekeeper.runs.shards.plan import read_plan, read_shard

FIXTURES = 4
HUGE = 10**400
IMPOSSIBLE: list[tuple[str, Any]] = [
    ("started", "0001-01-01T00:00:00+14:00"),
    ("started", "9999-12-31T23:59:59-14:00"),
    ("started", 7),
    ("seconds", 1e300),
    ("seconds", -1),
    ("seconds", HUGE),
    ("cost_usd", HUGE),
    ("cost_usd", float("nan")),
    ("calls", HUGE),
    ("calls", float("inf")),
    ("throttled", 1e308),
]


@pytest.fixture
def suite(git_repository: Callable[..., GitRepository], monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository, its plan of two shards, and the answers of both."""
    made = git_repository("suite")
    made.commit("suite", {**files(FIXTURES), "contracts/sentiment.yaml": CONTRACT})
    monkeypatch.chdir(made.path)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789abcdef")
    with OpenAIServer(answer):
        assert main(["plan", "--shards", "2", "--out", "plan.json"]) == 0
        for shard in ("1/2", "2/2"):
            arguments = ["sample", "--plan", "plan.json", "--shard", shard]
            assert main([*arguments, "--out", "answers"]) == 0
    return made.path


def decide() -> int:
    return main(["decide", "--plan", "plan.json", "--answers", "answers", "--out", "out"])


def rewrite(suite: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Change every line of the first shard's file."""
    file = suite / "answers" / "shard-1-of-2.jsonl"
    records = [json.loads(line) for line in file.read_text().splitlines() if line]
    for record in records:
        change(record)
    file.write_text("".join(json.dumps(record) + "\n" for record in records))


def set_cost(value: Any) -> Callable[[dict[str, Any]], object]:
    return lambda r: r["answer"].update(cost_usd=value) if "answer" in r else None


def set_field(name: str, value: Any) -> Callable[[dict[str, Any]], object]:
    return lambda r: r.update({name: value}) if name in r else None


def read(suite: Path) -> KeptAnswers:
    plan = read_plan(suite / "plan.json", lambda path: False)
    return read_shard(suite / "answers" / "shard-1-of-2.jsonl", plan, lambda path: False)[1]


def test_amounts_that_cannot_be_are_not_read(suite: Path) -> None:
    file = suite / "answers" / "shard-1-of-2.jsonl"
    sound = file.read_bytes()
    for value in (-1.0, float("nan"), float("inf"), "1", True, HUGE, [], {}):
        rewrite(suite, set_cost(value))
        assert read(suite).answers == {}
        file.write_bytes(sound)
    for name, value in IMPOSSIBLE:
        rewrite(suite, lambda r, n=name, v=value: None if "answer" in r else set_field(n, v)(r))
        found = read(suite)
        assert (len(found.answers), found.damaged > 0) == (FIXTURES // 2, True)
        assert all(0 <= session.calls <= FIXTURES for session in found.sessions.values())
        file.write_bytes(sound)
    for value in (float("inf"), float("nan"), 0, -1, 3, HUGE, "x", None, [1]):
        rewrite(suite, set_field("shard", value))
        with pytest.raises(ValueError, match="first line"):
            read(suite)
        file.write_bytes(sound)


def test_a_file_with_such_amounts_does_not_stop_the_decision(suite: Path) -> None:
    rewrite(suite, set_field("seconds", 1e300))
    assert decide() == 0
    rewrite(suite, set_cost(HUGE))
    assert decide() == 3


def test_a_plan_with_another_number_of_shards_is_refused(suite: Path) -> None:
    plan = json.loads((suite / "plan.json").read_text())
    for value in (10**9, -1, 0, 1.5, float("nan"), "2", HUGE, None):
        (suite / "plan.json").write_text(json.dumps({**plan, "shards": value}))
        with pytest.raises(UsageError):
            read_plan(suite / "plan.json", lambda path: False)


@pytest.mark.parametrize("place", ["answers", "link"])
def test_answers_of_a_commit_are_refused_also_behind_a_link(suite: Path, place: str) -> None:
    made = GitRepository(suite)
    if place == "link":
        (suite / "answers").rename(suite / "brought")
        (suite / "answers").symlink_to("brought")
    made.git("add", "-A", "-f")
    made.git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "answers")
    (suite / "plan.json").rename(suite.parent / "plan.json")
    plan = str(suite.parent / "plan.json")
    assert main(["decide", "--plan", plan, "--answers", "answers", "--out", "out"]) == 2
