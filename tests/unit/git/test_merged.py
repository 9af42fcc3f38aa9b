"""What a merge would make, beside what git itself makes of it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from support.git_repository import GitRepository

from gatekeeper.contract.values.change import Change, Revision
from gatekeeper.git import Repository

MakeRepository = Callable[..., GitRepository]
Files = dict[str, str | None]
LINES = "".join(f"line {number}\n" for number in range(40))
START: dict[str, str] = {"a.md": LINES, "b.md": "b\n", "folder/c.md": "c\n" * 9, "d.md": "d\n"}


def edited(number: int) -> str:
    line = f"line {number}\n"
    assert line in LINES
    return LINES.replace(line, f"edited {number}\n")


BOTH = edited(3).replace("line 30\n", "edited 30\n")

CLEAN = {
    "other files": ({"b.md": "ours\n"}, {"d.md": "theirs\n"}),
    "the same change": ({"b.md": "same\n"}, {"b.md": "same\n"}),
    "two places of a file": ({"a.md": edited(3)}, {"a.md": edited(30)}),
    "ours is a part of theirs": ({"a.md": edited(3)}, {"a.md": BOTH}),
    "added": ({"new.md": "n\n"}, {"other.md": "o\n"}),
    "removed": ({"b.md": None}, {"d.md": None}),
    "removed by both": ({"b.md": None}, {"b.md": None}),
    "ours renamed": ({"a.md": None, "moved.md": LINES}, {"b.md": "theirs\n"}),
    "ours renamed, theirs edited": ({"a.md": None, "moved.md": LINES}, {"a.md": edited(3)}),
    "theirs renamed, ours edited": ({"a.md": edited(3)}, {"a.md": None, "moved.md": LINES}),
    "renamed and edited by both": (
        {"a.md": None, "moved.md": edited(3)},
        {"a.md": edited(30)},
    ),
    "renamed alike": (
        {"a.md": None, "moved.md": edited(3)},
        {"a.md": None, "moved.md": edited(30)},
    ),
    "nothing of ours": ({}, {"b.md": "theirs\n"}),
}


def parted(made: GitRepository, ours: Files, theirs: Files) -> None:
    """A repository whose branches `main` and `pr` have parted; `pr` is checked out."""
    made.commit("start", dict(START))
    made.branch("pr")
    commit(made, ours)
    made.switch("main")
    commit(made, theirs)
    made.switch("pr")


def commit(made: GitRepository, files: Files) -> None:
    for path, text in files.items():
        if text is None:
            made.delete(path)
        else:
            made.write(path, text)
    made.commit("change", {"unrelated": f"{made.commits}\n"} if not files else None)


def contents(revision: Revision) -> dict[str, bytes]:
    return {path: revision.read(path) for path in revision.entries}


def merged_by_git(made: GitRepository) -> dict[str, bytes]:
    made.git("switch", "--quiet", "--detach", "main")
    made.git("merge", "--quiet", "--no-ff", "-m", "merge", "pr")
    output = made.git_bytes("ls-tree", "-r", "-z", "--name-only", "HEAD")
    paths = [os.fsdecode(path) for path in output.split(b"\0") if path]
    return {path: made.git_bytes("cat-file", "blob", f"HEAD:{path}") for path in paths}


@pytest.mark.parametrize(("ours", "theirs"), CLEAN.values(), ids=CLEAN.keys())
@pytest.mark.parametrize("worktree", [False, True], ids=["commit", "work tree"])
def test_it_is_what_git_makes(
    git_repository: MakeRepository, ours: Files, theirs: Files, worktree: bool
) -> None:
    made = git_repository()
    parted(made, ours, theirs)
    with Repository.open(made.path) as repository:
        change = changed(repository, worktree=worktree)
        assert change.conflicts == ()
        assert (after := contents(change.head))
        before, same = contents(change.base), change.base.entries
    by_git = merged_by_git(made)
    assert after == by_git
    equal = {path for path, entry in change.head.entries.items() if same.get(path) == entry}
    assert equal == {path for path in by_git if before.get(path) == by_git[path]}
    assert all(o in before and n in after for o, n in change.renames.items())


def changed(repository: Repository, *, worktree: bool) -> Change:
    return repository.worktree_change("main") if worktree else repository.change("main", "pr")


@pytest.mark.parametrize(
    ("ours", "theirs", "path", "stands"),
    [
        ({"b.md": "ours\n"}, {"b.md": "theirs\n"}, "b.md", b"ours\n"),
        ({"b.md": "ours\n"}, {"b.md": None}, "b.md", b"ours\n"),
        ({"b.md": None}, {"b.md": "theirs\n"}, "b.md", None),
        ({"new.md": "ours\n"}, {"new.md": "theirs\n"}, "new.md", b"ours\n"),
        ({"b.md": "\0ours\n"}, {"b.md": "theirs\n"}, "b.md", b"\0ours\n"),
        (
            {"a.md": None, "moved.md": LINES},
            {"moved.md": "theirs\n"},
            "moved.md",
            LINES.encode(),
        ),
    ],
    ids=["edited", "removed there", "removed here", "added", "binary", "moved onto"],
)
def test_in_a_conflict_the_changes_own_version_stands_and_is_named(
    git_repository: MakeRepository, ours: Files, theirs: Files, path: str, stands: bytes | None
) -> None:
    made = git_repository()
    parted(made, ours, theirs)
    with Repository.open(made.path) as repository:
        change = repository.change("main", "pr")
        assert change.conflicts == (path,)
        assert contents(change.head).get(path) == stands


def test_a_link_that_both_changed_is_not_merged_as_text(git_repository: MakeRepository) -> None:
    made = git_repository()
    parted(made, {}, {"b.md": "theirs\n"})
    made.delete("b.md")
    (made.path / "b.md").symlink_to("d.md")
    made.commit("a link")
    with Repository.open(made.path) as repository:
        change = repository.change("main", "pr")
    assert change.conflicts == ("b.md",)
    assert change.head.entries["b.md"].kind == "symlink"


def test_nothing_is_written_to_the_repository(git_repository: MakeRepository) -> None:
    made = git_repository()
    parted(made, {"a.md": edited(3)}, {"a.md": edited(30)})
    with Repository.open(made.path) as repository:
        before = written(made.path)
        contents(repository.change("main", "pr").head)
    assert written(made.path) == before


def written(folder: Path) -> set[Path]:
    return {path for path in folder.rglob("*") if path.is_file()}
