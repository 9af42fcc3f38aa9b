"""What a change looks like as values, on repositories made by the git command itself."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from support.git_repository import GitRepository

from gatekeeper.contract.values.change import Change, Entry, Revision
from gatekeeper.errors import MeasurementError, UsageError
from gatekeeper.git import Repository

MakeRepository = Callable[..., GitRepository]
PROMPT = "Classify the review below as positive or negative.\n\n{{ review }}\n" * 5


def listed(repository: GitRepository, commit: str) -> dict[str, str]:
    """What git itself lists, read another way than the code under test does."""
    output = repository.git_bytes("ls-tree", "-r", "-z", "--full-tree", commit)
    lines = [line.split(b"\t", 1) for line in output.split(b"\0") if line]
    return {os.fsdecode(path): about.split()[2].decode() for about, path in lines}


def ids(revision: Revision) -> dict[str, str]:
    return {path: entry.id for path, entry in revision.entries.items()}


def assert_faithful(repository: GitRepository, change: Change) -> None:
    assert ids(change.base) == listed(repository, change.base.sha)
    assert ids(change.head) == listed(repository, change.head.sha)


def test_what_the_merge_makes_is_compared_with_the_tip(git_repository: MakeRepository) -> None:
    made = git_repository()
    made.commit("start", {"prompt.md": "one", "other.md": "same"})
    made.branch("pr")
    head = made.commit("change", {"prompt.md": "two"})
    made.switch("main")
    tip = made.commit("main moves on", {"other.md": "moved on"})
    with Repository.open(made.path) as repository:
        change = repository.change("main", "pr")
        assert (change.base.sha, change.head.sha) == (tip, head)
        assert (change.base.read("prompt.md"), change.head.read("prompt.md")) == (b"one", b"two")
        assert change.head.read("other.md") == change.base.read("other.md") == b"moved on"
        assert change.head.entries["other.md"] == change.base.entries["other.md"]
        assert ids(change.base) == listed(made, tip)


def test_the_policy_is_read_at_the_tip_of_the_base_branch(git_repository: MakeRepository) -> None:
    made = git_repository()
    made.commit("start", {"a": "a"})
    made.branch("pr")
    made.commit("change", {"a": "b"})
    made.switch("main")
    tip = made.commit("a policy", {"policy": "strict"})
    made.switch("pr")
    with Repository.open(made.path) as repository:
        for change in (repository.change("main", "pr"), repository.worktree_change("main")):
            assert change.base.sha == tip
            assert change.base.read("policy") == change.head.read("policy") == b"strict"


def test_two_commits_as_they_are_without_a_merge_base(git_repository: MakeRepository) -> None:
    made = git_repository()
    made.commit("start", {"a": "1"})
    made.branch("pr")
    made.commit("change", {"b": "b"})
    made.switch("main")
    base = made.commit("main moves on", {"a": "2"})
    with Repository.open(made.path) as repository:
        change = repository.between("main", "pr")
        assert change.base.sha == base
        assert change.base.read("a") + change.head.read("a") == b"21"
        assert_faithful(made, change)


def test_every_kind_of_difference_is_listed(git_repository: MakeRepository) -> None:
    made = git_repository()
    made.symlink("link", "kept.md")
    made.symlink("becomes a file", "kept.md")
    files: dict[str, str | bytes] = {"kept.md": "k", "gone.md": "g", "edited.md": "e"}
    made.commit("start", files | {"prompts/old.md": PROMPT, "run.sh": "#!/bin/sh\n"})
    made.branch("pr")
    made.delete("gone.md")
    made.delete("becomes a file")
    made.rename("prompts/old.md", "prompts/deeper/new.md")
    made.write("prompts/deeper/new.md", PROMPT + "One more line.\n")
    made.write_all({"edited.md": "E", "added.md": "a", "becomes a file": "now"})
    (made.path / "run.sh").chmod(0o755)
    made.commit("change")
    with Repository.open(made.path) as repository:
        change = repository.change("main", "pr")
        assert_faithful(made, change)
        assert change.renames == {"prompts/old.md": "prompts/deeper/new.md"}
        assert change.head.entries["link"].kind == "symlink"
        assert change.base.entries["becomes a file"].kind == "symlink"
        assert change.head.entries["becomes a file"].kind == "file"
        assert change.head.entries["run.sh"] == change.base.entries["run.sh"]


def test_names_of_any_bytes_survive(git_repository: MakeRepository) -> None:
    made = git_repository()
    names = ["with space.md", 'quo"te.md', "new\nline.md", "tab\t.md", "ünï.md", "\udcff\udcfe.md"]
    made.commit("start", {"a": "a"})
    made.branch("pr")
    made.commit("change", {name: name.encode("utf-8", "surrogateescape") for name in names})
    with Repository.open(made.path) as repository:
        change = repository.change("main", "pr")
        assert set(change.head.entries) == {*names, "a"}
        for name in names:
            assert change.head.read(name) == os.fsencode(name)
        assert set(repository.revision("pr").entries) == {*names, "a"}


def test_content_is_returned_byte_for_byte(git_repository: MakeRepository) -> None:
    made = git_repository()
    contents: dict[str, str | bytes] = {
        "empty": b"",
        "crlf": b"a\r\nb\r\n",
        "binary": bytes(range(256)) * 300,
        "latin": b"caf\xe9\n",
    }
    made.commit("start", contents)
    with Repository.open(made.path) as repository:
        revision = repository.revision("main")
        assert {path: revision.read(path) for path in revision.entries} == contents


def test_only_regular_files_can_be_read(git_repository: MakeRepository, tmp_path: Path) -> None:
    inner = GitRepository.create(tmp_path / "inner")
    inner.commit("start", {"a": "a"})
    made = git_repository()
    made.symlink("link", "/etc/passwd")
    made.write("folder/file", "content")
    made.git(
        "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(inner.path), "sub"
    )
    made.commit("start")
    with Repository.open(made.path) as repository:
        revision = repository.revision("HEAD")
        assert revision.entries["sub"] == Entry(inner.head(), "submodule")
        for path in ("link", "sub", "folder", "missing", "../made"):
            with pytest.raises(FileNotFoundError):
                revision.read(path)
        work = repository.worktree_change("HEAD").head
        assert work.entries == revision.entries


def test_a_moved_submodule_is_a_difference(git_repository: MakeRepository, tmp_path: Path) -> None:
    inner = GitRepository.create(tmp_path / "inner")
    first = inner.commit("one", {"a": "a"})
    made = git_repository()
    made.git(
        "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(inner.path), "sub"
    )
    made.commit("start")
    made.branch("pr")
    second = inner.commit("two", {"a": "b"})
    made.git("update-index", "--cacheinfo", f"160000,{second},sub")
    made.git("commit", "--quiet", "-m", "move")
    made.config("diff.ignoreSubmodules", "all")
    with Repository.open(made.path) as repository:
        change = repository.change("main", "pr")
        assert change.base.entries["sub"].id == first
        assert change.head.entries["sub"].id == second


def test_nothing_changed_lists_the_tree_once(git_repository: MakeRepository) -> None:
    made = git_repository()
    made.commit("start", {"a": "a"})
    made.branch("pr")
    made.commit("an empty commit")
    with Repository.open(made.path) as repository:
        change = repository.change("main", "pr")
        assert change.head.entries is change.base.entries
        assert change.renames == {}


def test_configuration_of_the_repository_cannot_bend_the_answer(
    git_repository: MakeRepository, tmp_path: Path
) -> None:
    made = git_repository()
    made.commit("start", {"a.md": PROMPT, "b.md": "b"})
    made.branch("pr")
    made.rename("a.md", "c.md")
    made.commit("change", {"b.md": "B"})
    ran = tmp_path / "ran"
    for name in ("diff.external", "core.fsmonitor", "diff.x.textconv", "diff.x.command"):
        made.config(name, f"touch {ran}; false")
    made.config("diff.renames", "false")
    made.config("core.quotePath", "true")
    made.config("diff.noprefix", "true")
    made.config("color.ui", "always")
    made.write("../attributes", "*.md diff=x\n")
    made.config("core.attributesFile", str(tmp_path / "attributes"))
    with Repository.open(made.path) as repository:
        change = repository.change("main", "pr")
        assert_faithful(made, change)
        assert change.renames == {"a.md": "c.md"}
        assert repository.worktree_change("main").renames == {"a.md": "c.md"}
    assert not ran.exists()


def test_replaced_objects_are_not_used(git_repository: MakeRepository) -> None:
    made = git_repository()
    commit = made.commit("start", {"a": "true"})
    other = made.commit("other", {"a": "false"})
    made.git("replace", commit, other)
    with Repository.open(made.path) as repository:
        assert repository.revision(commit).read("a") == b"true"


def test_prefetching_reads_once_and_leaves_faults_to_reading(
    git_repository: MakeRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = git_repository()
    made.symlink("link", "a")
    made.commit("start", {"a": "a", "b": b"\n\0", "empty": "", "lost": "lost", "c": "c"})
    name = made.sha("HEAD:lost")
    (made.path / ".git/objects" / name[:2] / name[2:]).unlink()
    with Repository.open(made.path) as repository:
        revision = repository.revision("HEAD")
        revision.prefetch(["a", "b", "empty", "lost", "link", "none"])
        made.path.joinpath(".git/objects").rename(made.path / "moved")
        assert [revision.read(path) for path in ("a", "b", "empty")] == [b"a", b"\n\0", b""]
        made.path.joinpath("moved").rename(made.path / ".git/objects")
        with pytest.raises(MeasurementError, match="lost: its content"):
            revision.read("lost")
        made.write("a", "changed")
        work = repository.worktree()
        work.prefetch(["a", "b", "c", "none"])
        assert [work.read(path) for path in ("a", "b", "c")] == [b"changed", b"\n\0", b"c"]


def test_no_common_history(git_repository: MakeRepository) -> None:
    made = git_repository()
    made.commit("start", {"a": "a"})
    made.git("switch", "--quiet", "--orphan", "island")
    made.commit("other", {"b": "b"})
    with (
        Repository.open(made.path) as repository,
        pytest.raises(UsageError, match="no common history"),
    ):
        repository.change("main", "island")


def test_a_lost_blob_is_a_failed_measurement(git_repository: MakeRepository) -> None:
    made = git_repository()
    made.commit("start", {"a": "lost", "b": "kept"})
    name = made.sha("HEAD:a")
    (made.path / ".git/objects" / name[:2] / name[2:]).unlink()
    with Repository.open(made.path) as repository:
        revision = repository.revision("HEAD")
        with pytest.raises(MeasurementError, match=f"a: its content .{name}. is not in this clone"):
            revision.read("a")
        assert revision.read("b") == b"kept"


def test_a_partial_clone_fetches_what_is_read(
    git_repository: MakeRepository, tmp_path: Path
) -> None:
    made = git_repository("remote")
    made.commit("start", {"a": "content", "b": "more"})
    made.config("uploadpack.allowFilter", "true")
    made.config("uploadpack.allowAnySHA1InWant", "true")
    GitRepository(tmp_path).git(
        "clone", "-q", "--bare", "--filter=blob:none", made.path.as_uri(), "partial"
    )
    with Repository.open(tmp_path / "partial") as repository:
        assert repository.revision("main").read("a") == b"content"
        made.path.rename(tmp_path / "moved away")
        with pytest.raises(MeasurementError, match="b: its content"):
            repository.revision("main").read("b")
        assert repository.revision("main").read("a") == b"content"


def test_a_repository_of_sha256_names(tmp_path: Path) -> None:
    made = GitRepository(tmp_path)
    made.git("init", "-q", "-b", "main", "--object-format=sha256")
    made.commit("start", {"a": "a"})
    made.branch("pr")
    made.commit("change", {"a": "A"})
    made.symlink("link", "a")
    with Repository.open(tmp_path) as repository:
        change = repository.change("main", "pr")
        assert (change.base.read("a"), change.head.read("a")) == (b"a", b"A")
        work = repository.worktree_change("main").head
        assert work.entries["link"].id == made.git("hash-object", "--stdin", input=b"a")
        name = "0" * 64
        with pytest.raises(MeasurementError):
            repository._objects.blob("lost", name)


def test_reading_again_after_close(git_repository: MakeRepository) -> None:
    made = git_repository()
    made.commit("start", {"a": "a", "b": "b"})
    repository = Repository.open(made.path)
    revision = repository.revision("main")
    assert revision.read("a") == b"a"
    repository.close()
    assert revision.read("b") == b"b"
    repository.close()
