"""The data branch: real repositories, writers that race, writers that die, and forged contents."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.data_branch import NAME, NOVEMBER, OCTOBER, Place, ids, snapshot
from support.edited_text import edited
from support.git_repository import GitRepository
from support.past_runs import line, record

from gatekeeper.errors import MeasurementError, UsageError
from gatekeeper.git import Repository, data_branch
from gatekeeper.git.command import GitCommand
from gatekeeper.history.stores import branch_store as history_branch
from gatekeeper.history.stores.lines import to_lines
from gatekeeper.history.stores.open import open_history
from gatekeeper.history.stores.store import Past


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    made = Place(tmp_path)
    yield made
    made.repository.close()


def test_the_first_write_makes_the_branch_and_later_ones_grow_it(place: Place) -> None:
    history = place.history()
    assert history.read() == Past(())
    first, second, third = record(time=NOVEMBER), record(time=NOVEMBER), record(time=NOVEMBER)
    assert history.append([first, second]) == 2
    assert history.append([third]) == 1
    assert history.append([]) == 0
    assert history.read() == Past((first, second, third))
    assert set(place.files()) == {"README.md", *place.runs()}
    assert len(place.runs()) == 2
    assert all(path.startswith("runs/2026/11/03T101500Z-") for path in place.runs())
    # It has grown from nothing of the repository's own.
    assert place.origin.git("rev-list", "--count", NAME).strip() == "2"
    assert place.origin.git("log", "-1", "--format=%an", NAME).strip() == "Gatekeeper"
    said = place.origin.git("log", "--format=%s", NAME).splitlines()
    assert [subject.split(" of ")[0] for subject in said] == ["1 record", "2 records"]


def test_nothing_of_the_users_clone_changes(place: Place) -> None:
    (place.clone.path / "prompts/p.txt").write_text("being edited")
    place.clone.write("staged.txt", "staged")
    place.clone.git("add", "staged.txt")
    before = snapshot(place.clone.path)
    history = place.history()
    history.append([record(time=NOVEMBER)])
    history.append([record(time=NOVEMBER)])
    assert len(history.read().records) == 2
    assert snapshot(place.clone.path) == before


@pytest.mark.parametrize("options", [["--depth=1"], ["--filter=blob:none"], ["--bare"]])
def test_any_clone_will_do(place: Place, tmp_path: Path, options: list[str]) -> None:
    place.origin.config("uploadpack.allowFilter", "true")
    place.history().append([record("a", time=NOVEMBER)])
    other = tmp_path / "other"
    address = f"file://{place.origin.path}"
    place.clone.git("clone", "--quiet", *options, "--branch=main", address, str(other))
    before = snapshot(other)
    with Repository.open(other) as repository:
        history = open_history(f"branch:{NAME}", repository)
        assert history.append([record("b", time=NOVEMBER)]) == 1
        assert [found.id for found in history.read().records] == ["a", "b"]
    assert snapshot(other) == before


def test_only_the_tip_is_fetched(place: Place) -> None:
    history = place.history()
    for _ in range(3):
        history.append([record(time=NOVEMBER)])
    with place.repository.data_branch(NAME) as opened:
        tip = opened.fetch()
        count = opened._git.run("rev-list", "--count", tip)
    assert count.strip() == b"1"


def test_without_a_remote_the_branch_is_the_repositorys_own(tmp_path: Path) -> None:
    made = GitRepository.create(tmp_path / "alone")
    made.commit("start", {"a": "b"})
    with Repository.open(made.path) as repository:
        history = open_history(f"branch:{NAME}", repository)
        assert history.append([record(time=NOVEMBER)]) == 1
        assert len(history.read().records) == 1
    assert made.git("status", "--porcelain") == ""
    assert made.git("symbolic-ref", "HEAD").strip() == "refs/heads/main"


def test_a_relative_remote_is_found(place: Place) -> None:
    place.clone.git("remote", "set-url", "origin", "../origin.git")
    assert place.history().append([record(time=NOVEMBER)]) == 1
    assert len(place.lines()) == 1


# --- races -----------------------------------------------------------------------------------

WRITERS = """
import os, sys
from datetime import UTC, datetime
from pathlib import Path
from support.past_runs import record
from gatekeeper.git import Repository
from gatekeeper.history.stores.open import open_history

def write(writer):
    with Repository.open(Path(sys.argv[1])) as repository:
        history = open_history("branch:gatekeeper-data", repository)
        for turn in range(2):
            names = [f"{writer}-{turn}-{i}" for i in (0, 1)]
            made = [record(name, time=datetime(2026, 11, 3, tzinfo=UTC)) for name in names]
            assert history.append(made) == 2

writers = []
for writer in range(8):
    writers.append(os.fork())
    if not writers[-1]:
        write(writer)
        os._exit(0)
sys.exit(sum(os.waitpid(writer, 0)[1] != 0 for writer in writers))
"""


@pytest.mark.long
def test_eight_processes_at_once_lose_and_double_nothing(place: Place) -> None:
    """The first of them make the branch, each from nothing."""
    paths = [str(Path(__file__).parents[1]), str(Path(__file__).parents[2])]
    code = f"import sys; sys.path[:0] = {paths!r}\n{WRITERS}"
    # One process imports the gate and becomes eight: importing takes longer than writing.
    command = [sys.executable, "-c", code, str(place.clone.path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=570, check=False)
    assert done.returncode == 0, done.stderr
    expected = sorted(f"{w}-{turn}-{i}" for w in range(8) for turn in range(2) for i in (0, 1))
    assert sorted(ids(place.history())) == expected
    assert len(place.lines()) == len(expected)


class Rival:
    """Pushes a record of its own right before each of the first pushes of somebody else."""

    def __init__(self, place: Place, monkeypatch: pytest.MonkeyPatch, times: int) -> None:
        self.left, self.busy = times, False
        self.place, self.attempt = place, GitCommand.attempt
        monkeypatch.setattr(GitCommand, "attempt", lambda *a, **k: self.step(*a, **k))

    def step(self, git: GitCommand, command: str, *arguments: str, **options: Any) -> Any:
        if command == "push" and self.left and not self.busy:
            self.busy, self.left = True, self.left - 1
            self.place.history().append([record(f"rival-{self.left}", time=NOVEMBER)])
            self.busy = False
        return self.attempt(git, command, *arguments, **options)


@pytest.mark.parametrize("exists", [False, True], ids=["first writers", "later writers"])
def test_a_lost_race_is_run_again(
    place: Place, monkeypatch: pytest.MonkeyPatch, exists: bool
) -> None:
    if exists:
        place.history().append([record("old", time=NOVEMBER)])
    Rival(place, monkeypatch, times=3)
    assert place.history().append([record("own", time=NOVEMBER)]) == 1
    expected = {"own", "rival-0", "rival-1", "rival-2"} | ({"old"} if exists else set())
    assert set(ids(place.history())) == expected
    assert len(place.lines()) == len(expected)


def test_races_that_are_lost_for_ever_are_an_error(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history_branch, "MOST_ATTEMPTS", 3)
    Rival(place, monkeypatch, times=9)
    with pytest.raises(MeasurementError, match="3 pushes in a row"):
        place.history().append([record("own", time=NOVEMBER)])
    assert "own" not in ids(place.history())


# --- writers that die ------------------------------------------------------------------------


class Killed(BaseException):
    """As SIGKILL: nothing of the program runs after it."""


def dying(monkeypatch: pytest.MonkeyPatch, at: int, before: bool) -> Callable[[], None]:
    """The process dies before or after its git command number `at`; returns how it revives."""
    count, attempt = 0, GitCommand.attempt

    def step(git: GitCommand, command: str, *arguments: str, **options: Any) -> Any:
        nonlocal count
        count += 1
        if count == at and before:
            raise Killed
        done = attempt(git, command, *arguments, **options)
        if count == at:
            raise Killed
        return done

    monkeypatch.setattr(GitCommand, "attempt", step)
    return lambda: monkeypatch.setattr(GitCommand, "attempt", attempt)


@pytest.mark.long
@pytest.mark.parametrize("before", [True, False], ids=["before", "after"])
@pytest.mark.parametrize("exists", [False, True], ids=["first write", "compaction"])
def test_killed_at_any_git_command_and_tried_again(
    place: Place, monkeypatch: pytest.MonkeyPatch, exists: bool, before: bool
) -> None:
    """Until a step is beyond the last: then the writer has lived."""
    old = [record("old-1", time=OCTOBER), record("old-2", time=OCTOBER)]
    if exists:
        place.history(now=OCTOBER).append(old[:1])
        place.history(now=OCTOBER).append(old[1:])
    written = len(old) if exists else 0
    for at in range(1, 99):
        new = [record(f"new-{at}-{i}", time=NOVEMBER) for i in range(2)]
        revive = dying(monkeypatch, at, before)
        try:
            place.history().append(new)
        except Killed:
            lived = False
        else:
            lived = True
        revive()
        # Half of a run is never there.
        here = [found.id for found in place.history().read().records if found in new]
        assert here in ([], [found.id for found in new])
        place.history().append(new)
        written += 2
        assert len(set(ids(place.history()))) == len(place.lines()) == written
        if lived:
            break
    assert lived
    assert at > 5


def test_a_push_whose_answer_was_lost_is_not_made_twice(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    attempt, lost = GitCommand.attempt, []

    def step(git: GitCommand, command: str, *arguments: str, **options: Any) -> Any:
        done = attempt(git, command, *arguments, **options)
        if command == "push" and not lost:
            lost.append(done)
            return 128, b"", "fatal: the remote end hung up unexpectedly"
        return done

    monkeypatch.setattr(GitCommand, "attempt", step)
    assert place.history().append([record(time=NOVEMBER)]) == 1
    assert lost[0][0] == 0
    assert len(place.lines()) == 1


# --- months ----------------------------------------------------------------------------------


def test_who_writes_first_in_a_month_merges_the_past_ones(place: Place) -> None:
    for number in range(3):
        place.history(now=OCTOBER).append([record(f"october-{number}", time=OCTOBER)])
    assert len(place.runs()) == 3
    place.history().append([record("november", time=NOVEMBER)])
    assert [path[:15] for path in place.runs()] == ["runs/2026-10.js", "runs/2026/11/03"]
    *october, november = ids(place.history())
    assert sorted(october) == ["october-0", "october-1", "october-2"]
    assert november == "november"


def test_what_comes_late_is_merged_too_and_only_once(place: Place) -> None:
    late = [record("late", time=OCTOBER)]
    place.history(now=OCTOBER).append([record("october", time=OCTOBER)])
    place.history().append([record("november", time=NOVEMBER)])
    assert place.history().append(late) == 1
    assert place.history().append(late) == 0
    assert len(place.runs()) == 2
    assert len(place.lines()) == 3


def test_a_merge_keeps_what_only_a_newer_program_can_read(place: Place) -> None:
    future = line(schema=2, id="future")
    place.put({"runs/2026/10/01T000000Z-a.jsonl": f"{future}\njunk\n", "README.md": "Mine.\n"})
    place.history().append([record(time=NOVEMBER)])
    assert place.files()["runs/2026-10.jsonl"] == f"{future}\njunk"
    assert place.files()["README.md"] == "Mine."


def test_a_month_that_would_be_too_large_stays_in_parts(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(2):
        place.history(now=OCTOBER).append([record(f"october-{number}", time=OCTOBER)])
    size = len(to_lines([record("october-0", time=OCTOBER)]))
    monkeypatch.setattr(history_branch, "LARGEST_FILE", size + 10)
    place.history().append([record("november", time=NOVEMBER)])
    assert len(place.runs()) == 3
    assert len(ids(place.history())) == 3


def test_records_of_several_months_are_one_commit(place: Place) -> None:
    made = [record("b", time=NOVEMBER), record("a", time=OCTOBER)]
    assert place.history().append(made) == 2
    assert place.origin.git("rev-list", "--count", NAME).strip() == "1"
    assert ids(place.history()) == ["a", "b"]


# --- what others have put there --------------------------------------------------------------


def test_forged_contents_are_named_and_the_rest_counts(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    sound = record("sound", time=OCTOBER)
    good = to_lines([sound]).decode()
    files = {
        "runs/2026/10/good.jsonl": good,
        "runs/2026/10/broken.jsonl": "{\n",
        "runs/2026/10/\u202elnosj.exe": edited(good, "sound", "bidi"),
        "runs/2026/10/large.jsonl": "x" * 3000,
        "runs/2026/10/deep/er.jsonl": edited(good, "sound", "deep"),
        "runs/2026/10/.hidden.jsonl": edited(good, "sound", "hidden"),
        "runs/2026/10/a\nb.jsonl": edited(good, "sound", "newline"),
        "runs/latest": edited(good, "sound", "latest"),
    }
    links = {
        "runs/2026-09.jsonl": "/etc/passwd",
        "runs/2026/10/link.jsonl": "../../../../outside.jsonl",
    }
    place.put(files, links)
    monkeypatch.setattr(history_branch, "LARGEST_FILE", 2000)
    found = place.history().read()
    assert found.records == (sound,)
    said = "\n".join(found.notices)
    for name in ("broken", "large", "lnosj", "deep", "hidden", "latest", "2026-09", "link"):
        assert name in said
    assert "root:" not in said
    # Writing goes on, and takes nothing away that it does not understand.
    assert place.history().append([record("new", time=NOVEMBER)]) == 1
    assert {r.id for r in place.history().read().records} == {"sound", "new"}
    assert "runs/latest" in place.files()


def test_a_branch_of_code_is_not_written_to(place: Place) -> None:
    """`branch:main`, by mistake."""
    history = open_history("branch:main", place.repository)
    tip = place.origin.git("rev-parse", "main")
    with pytest.raises(UsageError, match=r"prompts/p\.txt"):
        history.append([record()])
    assert place.origin.git("rev-parse", "main") == tip


# --- remotes that say no ---------------------------------------------------------------------


def test_a_remote_that_refuses_is_asked_once(place: Place) -> None:
    hook = place.origin.path / "hooks" / "pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho asked >> ../asked\nexit 1\n")
    hook.chmod(0o755)
    with pytest.raises(data_branch.PushRefusedError, match="contents: write"):
        place.history().append([record()])
    assert place.history().read() == Past(())


def test_a_remote_that_is_gone_is_said(place: Place) -> None:
    place.clone.git("remote", "set-url", "origin", str(place.origin.path) + ".gone")
    with pytest.raises(MeasurementError, match="could not be fetched"):
        place.history().append([record()])
    found = place.history().read()
    assert found.records == ()
    assert "cannot be read" in found.notices[0]


@pytest.mark.parametrize("name", ["", "a..b", "a b", "a:b", "../x", "a.lock", "x\ny"])
def test_what_is_no_name_of_a_branch_is_refused(place: Place, name: str) -> None:
    with pytest.raises(UsageError, match="name of a branch"):
        open_history(f"branch:{name}", place.repository)


def test_passwords_in_an_address_are_not_said(place: Place) -> None:
    place.clone.git("remote", "set-url", "origin", "https://me:hunter2@127.0.0.1:1/x.git")
    (notice,) = place.history().read().notices
    assert "hunter2" not in notice


def test_what_opens_the_remote_comes_from_the_clones_configuration(place: Place) -> None:
    place.clone.config("http.https://example.org/.extraheader", "AUTHORIZATION: basic abc")
    place.clone.config("credential.helper", "store")
    place.clone.config("user.name", "me")
    remote = data_branch.remote_of(place.repository._git, place.clone.path)
    assert dict(remote.access) == {
        "http.https://example.org/.extraheader": "AUTHORIZATION: basic abc",
        "credential.helper": "store",
    }
