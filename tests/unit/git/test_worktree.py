"""The work tree as a revision: what committing everything now would make."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from support.git_repository import GitRepository

from gatekeeper.contract.values.change import Change
from gatekeeper.errors import UsageError
from gatekeeper.git import Repository

MakeRepository = Callable[..., GitRepository]


def change_of(made: GitRepository, base: str = "main") -> Change:
    with Repository.open(made.path) as repository:
        return repository.worktree_change(base)


def contents(change: Change) -> dict[str, bytes]:
    return {path: change.head.read(path) for path, entry in change.head.entries.items()}


def assert_as_committed(made: GitRepository, change: Change) -> None:
    """Names are those of a commit of everything, made afterwards with git itself."""
    commit = made.commit("all of it")
    with Repository.open(made.path) as repository:
        assert dict(change.head.entries) == dict(repository.revision(commit).entries)


def test_clean_work_tree_is_the_commit(git_repository: MakeRepository) -> None:
    made = git_repository()
    made.commit("start", {"a": "a", "deep/b": "b"})
    change = change_of(made)
    assert change.head.sha == "worktree"
    assert dict(change.head.entries) == dict(change.base.entries)
    assert contents(change) == {"a": b"a", "deep/b": b"b"}


@pytest.mark.parametrize(
    ("written", "staged", "changed"),
    [
        ({}, False, False),
        ({"debug.log": "ignored"}, False, False),
        ({"a": "old"}, False, False),
        ({"a": "new"}, False, True),
        ({"a": "new"}, True, True),
        ({"folder/new": ""}, False, True),
    ],
)
def test_what_counts_as_an_uncommitted_change(
    written: dict[str, str], staged: bool, changed: bool, git_repository: MakeRepository
) -> None:
    made = git_repository()
    made.commit("start", {"a": "old", ".gitignore": "*.log\n"})
    made.write_all(written)
    if staged:
        made.git("add", "a")
    with Repository.open(made.path) as repository:
        assert repository.has_uncommitted_changes() is changed


def test_staged_modified_untracked_and_deleted_files(git_repository: MakeRepository) -> None:
    made = git_repository()
    names = ["a", "b", "c", "gone", "gone from index"]
    made.commit("start", dict.fromkeys(names, "old") | {".gitignore": "*.log\n"})
    made.write_all({"a": "modified", "b": "staged", "new folder/new.md": "untracked"})
    made.git("add", "b")
    made.write_all({"c": "staged"})
    made.git("add", "c")
    made.write_all({"c": "and modified", "debug.log": "ignored", "intent": "to add"})
    made.git("add", "-N", "intent")
    made.delete("gone")
    made.git("rm", "--quiet", "gone from index")
    change = change_of(made)
    assert contents(change) == {
        ".gitignore": b"*.log\n",
        "a": b"modified",
        "b": b"staged",
        "c": b"and modified",
        "new folder/new.md": b"untracked",
        "intent": b"to add",
    }
    assert_as_committed(made, change)


def test_removed_from_the_index_only_is_untracked(git_repository: MakeRepository) -> None:
    made = git_repository()
    made.commit("start", {"a": "a", "b": "b"})
    made.git("rm", "--quiet", "--cached", "a")
    change = change_of(made)
    assert contents(change) == {"a": b"a", "b": b"b"}


def test_odd_names_and_symlinks(git_repository: MakeRepository) -> None:
    made = git_repository()
    made.commit("start", {"tracked": "t", "to link": "t"})
    names = ["with space", '"quoted"', "new\nline", "-option", "ünï", "\udcff"]
    made.write_all({name: f"content {index}" for index, name in enumerate(names)})
    made.symlink("link", "tracked")
    made.symlink("dangling", "nowhere/é")
    made.delete("to link")
    made.symlink("to link", "tracked")
    os.mkfifo(made.path / "pipe")
    change = change_of(made)
    assert change.head.entries["link"].kind == "symlink"
    assert change.head.entries["to link"].kind == "symlink"
    assert change.head.read('"quoted"') == b"content 1"
    assert "pipe" not in change.head.entries
    assert_as_committed(made, change)


def test_line_ends_that_git_converts_are_no_change(git_repository: MakeRepository) -> None:
    made = git_repository()
    made.commit("start", {"prompt.md": "one\ntwo\n", "other.md": "one\ntwo\n"})
    made.config("core.autocrlf", "true")
    made.write_all({"prompt.md": "one\r\ntwo\r\n", "other.md": "one\r\n2\r\n"})
    change = change_of(made)
    assert change.head.entries["prompt.md"] == change.base.entries["prompt.md"]
    assert change.head.read("prompt.md") == b"one\ntwo\n"
    assert change.head.entries["other.md"] != change.base.entries["other.md"]
    assert change.head.read("other.md") == b"one\n2\n"


def test_line_ends_that_git_keeps_are_a_change(git_repository: MakeRepository) -> None:
    made = git_repository()
    made.commit("start", {"prompt.md": "one\ntwo\n"})
    made.config("core.autocrlf", "false")
    made.write("prompt.md", "one\r\ntwo\r\n")
    change = change_of(made)
    assert change.head.entries["prompt.md"] != change.base.entries["prompt.md"]
    assert change.head.read("prompt.md") == b"one\r\ntwo\r\n"


def test_renames_staged_and_not(git_repository: MakeRepository) -> None:
    made = git_repository()
    long = "A line of a prompt that is long enough.\n" * 20
    made.commit("start", {"a": "content of a", "b": long, "c": "kept", "d": long * 2})
    made.rename("a", "moved/a")
    made.git("mv", "b", "B")
    made.write("B", long + "edited")
    made.git("mv", "d", "D")
    made.delete("D")
    change = change_of(made)
    assert change.renames == {"a": "moved/a", "b": "B"}
    assert "d" not in change.head.entries


def test_base_is_the_tip_and_head_what_the_merge_makes(git_repository: MakeRepository) -> None:
    made = git_repository()
    made.commit("start", {"a": "a"})
    made.branch("pr")
    made.commit("change", {"b": "b"})
    made.switch("main")
    tip = made.commit("main moves on", {"a": "A"})
    made.switch("pr")
    made.write("c", "c")
    with Repository.open(made.path) as repository:
        change = repository.worktree_change()
        assert change.base.sha == tip
        assert {p: change.head.read(p) for p in change.head.entries} == {
            "a": b"A",
            "b": b"b",
            "c": b"c",
        }


def test_unmerged_files_are_read_from_disk(git_repository: MakeRepository) -> None:
    made = git_repository()
    made.commit("start", {"a": "0\n", "b": "0\n"})
    made.branch("pr")
    made.commit("pr", {"a": "1\n"})
    made.switch("main")
    made.commit("main", {"a": "2\n"})
    with pytest.raises(AssertionError, match="merge"):
        made.merge("pr")
    change = change_of(made)
    assert set(change.head.entries) == {"a", "b"}
    assert change.head.read("a").startswith(b"<<<<<<<")


def test_a_repository_inside_is_left_out(git_repository: MakeRepository) -> None:
    made = git_repository()
    made.commit("start", {"a": "a"})
    GitRepository.create(made.path / "inside").commit("inner", {"b": "b"})
    assert set(change_of(made).head.entries) == {"a"}


def test_files_outside_a_sparse_checkout_are_still_there(git_repository: MakeRepository) -> None:
    made = git_repository()
    made.commit("start", {"in/a": "a", "out/b": "b"})
    made.git("sparse-checkout", "set", "in")
    assert not (made.path / "out/b").exists()
    assert contents(change_of(made)) == {"in/a": b"a", "out/b": b"b"}


@pytest.mark.parametrize("told", ["--skip-worktree", "--assume-unchanged"])
def test_files_that_git_was_told_to_skip_are_read(
    git_repository: MakeRepository, told: str
) -> None:
    made = git_repository()
    made.commit("start", dict.fromkeys(["a", "b", "c\nd", "gone", "link"], "old"))
    made.git("update-index", told, "a", "b", "c\nd", "gone", "link")
    made.write_all({"a": "new", "c\nd": "newer"})
    made.delete("gone")
    made.delete("link")
    (made.path / "link").symlink_to("a")
    change = change_of(made)
    head = change.head
    assert [head.read(path) for path in ("a", "b", "c\nd")] == [b"new", b"old", b"newer"]
    assert head.entries["link"].kind == "symlink"
    base = change.base.entries
    differing = {path for path in head.entries if head.entries[path].id != base[path].id}
    assert differing == {"a", "c\nd", "link"}


def test_opened_in_a_folder_below(git_repository: MakeRepository) -> None:
    made = git_repository()
    made.config("status.relativePaths", "true")
    made.config("diff.relative", "true")
    made.commit("start", {"deep/folder/a": "a", "top": "t"})
    made.write_all({"deep/folder/a": "A", "top": "T", "deep/new": "n"})
    with Repository.open(made.path / "deep/folder") as repository:
        assert repository.root == made.path
        head = repository.worktree_change("main").head
        assert head.read("deep/folder/a") + head.read("top") + head.read("deep/new") == b"ATn"


def test_nothing_is_written(git_repository: MakeRepository) -> None:
    made = git_repository()
    made.commit("start", {"a": "a", "b": "b"})
    made.write_all({"a": "changed", "new": "n"})
    (made.path / "b").touch()

    def state() -> dict[Path, tuple[int, bytes]]:
        files = [file for file in (made.path / ".git").rglob("*") if file.is_file()]
        return {file: (file.stat().st_mtime_ns, file.read_bytes()) for file in files}

    before = state()
    change_of(made)
    assert state() == before


def test_linked_work_trees(git_repository: MakeRepository, tmp_path: Path) -> None:
    made = git_repository()
    made.commit("start", {"a": "a"})
    made.git("worktree", "add", "--quiet", "-b", "pr", str(tmp_path / "linked"))
    (tmp_path / "linked/a").write_text("A")
    with Repository.open(tmp_path / "linked") as repository:
        assert repository.worktree_change("main").head.read("a") == b"A"


def test_bare_repository_has_no_work_tree(git_repository: MakeRepository) -> None:
    made = git_repository(bare=True)
    with (
        Repository.open(made.path) as repository,
        pytest.raises(UsageError, match="bare repository"),
    ):
        repository.worktree_change("main")


def test_work_tree_alone_needs_no_commit(git_repository: MakeRepository) -> None:
    made = git_repository()
    made.write_all({"a": "a", "deep/b": "b"})
    made.git("add", "a")
    made.symlink("link", "a")
    with Repository.open(made.path / "deep") as repository:
        work = repository.worktree()
        assert set(work.entries) == {"a", "deep/b", "link"}
        assert work.read("a") + work.read("deep/b") == b"ab"


def test_no_commit_yet(git_repository: MakeRepository) -> None:
    made = git_repository()
    made.write("a", "a")
    with Repository.open(made.path) as repository, pytest.raises(UsageError, match="no commit yet"):
        repository.worktree_change("HEAD")
