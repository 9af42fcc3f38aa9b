"""Opening repositories, and what names of commits stand for."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from support.git_repository import GitRepository
from support.machine_needs import ROOT_USER

from gatekeeper.errors import MeasurementError, UsageError
from gatekeeper.git import Repository

MakeRepository = Callable[..., GitRepository]


@pytest.fixture
def made(git_repository: MakeRepository) -> GitRepository:
    repository = git_repository()
    repository.commit("start", {"a": "a"})
    return repository


def test_branches_tags_and_shas(made: GitRepository) -> None:
    start = made.head()
    made.tag("v1.0")
    made.branch("feature/new prompts".replace(" ", "-"))
    head = made.commit("more", {"b": "b"})
    with Repository.open(made.path) as repository:
        for ref in ("main", "v1.0", "refs/tags/v1.0", start, start[:8], "HEAD~1", "heads/main"):
            assert repository.resolve(ref) == start
        for ref in ("HEAD", "@", "feature/new-prompts", head):
            assert repository.resolve(ref) == head


def test_a_branch_goes_before_a_tag_of_its_name(made: GitRepository) -> None:
    made.tag("main")
    head = made.commit("more", {"b": "b"})
    with Repository.open(made.path) as repository:
        assert repository.resolve("main") == head


def test_branch_known_only_at_the_remote(made: GitRepository, tmp_path: Path) -> None:
    made.branch("release/2")
    head = made.commit("more", {"b": "b"})
    made.switch("main")
    clone = GitRepository.clone(made, tmp_path / "clone")
    with Repository.open(clone.path) as repository:
        assert repository.resolve("release/2") == head
        assert repository.resolve("origin/release/2") == head


@pytest.mark.parametrize("ref", ["", "-x", "--upload-pack=touch x", "a\nb", "a\0b"])
def test_what_cannot_be_a_name(made: GitRepository, ref: str) -> None:
    with (
        Repository.open(made.path) as repository,
        pytest.raises(UsageError, match="cannot be the name"),
    ):
        repository.resolve(ref)


@pytest.mark.parametrize("ref", ["main..main", "HEAD:a", "main:", "nothing", "f" * 40, "%s", "a b"])
def test_what_is_no_commit(made: GitRepository, ref: str) -> None:
    with (
        Repository.open(made.path) as repository,
        pytest.raises(UsageError, match="no commit has the name"),
    ):
        repository.resolve(ref)


def test_unknown_name_suggests_the_nearest(made: GitRepository) -> None:
    made.branch("feature/triage")
    with (
        Repository.open(made.path) as repository,
        pytest.raises(UsageError, match=r"'feature/triaje'.*did you mean feature/triage\?"),
    ):
        repository.resolve("feature/triaje")


def test_default_base_prefers_what_the_remote_calls_its_head(
    made: GitRepository, tmp_path: Path
) -> None:
    made.branch("develop")
    develop = made.commit("more", {"b": "b"})
    clone = GitRepository.clone(made, tmp_path / "clone")
    with Repository.open(clone.path) as repository:
        assert repository.resolve(repository.default_base()) == develop
        clone.git("remote", "set-head", "origin", "--delete")
        assert repository.default_base() == "refs/remotes/origin/main"
        clone.git("branch", "main", "origin/main")
        clone.git("remote", "remove", "origin")
        assert repository.default_base() == "refs/heads/main"
        clone.git("branch", "--move", "main", "master")
        assert repository.default_base() == "refs/heads/master"
        clone.git("branch", "--move", "master", "trunk")
        with pytest.raises(UsageError, match="--base"):
            repository.default_base()


def test_change_without_names_is_head_against_the_default_base(made: GitRepository) -> None:
    start = made.head()
    made.branch("pr")
    head = made.commit("more", {"b": "b"})
    with Repository.open(made.path) as repository:
        change = repository.change()
        assert (change.base.sha, change.head.sha) == (start, head)


def test_outside_of_a_repository(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is not in a git repository"):
        Repository.open(tmp_path)
    with pytest.raises(UsageError, match="missing is not a folder"):
        Repository.open(tmp_path / "missing")


def test_bare_repository(made: GitRepository, tmp_path: Path) -> None:
    bare = GitRepository.clone(made, tmp_path / "bare.git", bare=True)
    with Repository.open(bare.path) as repository:
        assert repository.root is None
        assert repository.change("main", "main").head.read("a") == b"a"


def test_path_through_a_symbolic_link(made: GitRepository, tmp_path: Path) -> None:
    made.write("deep/b", "b")
    (tmp_path / "link").symlink_to(made.path / "deep")
    with Repository.open(tmp_path / "link") as repository:
        assert repository.root == made.path


def test_broken_repository(made: GitRepository) -> None:
    (made.path / ".git/config").write_text("[core")
    with pytest.raises(UsageError, match=r"git cannot use the repository at .*bad config"):
        Repository.open(made.path)


def test_damaged_objects(made: GitRepository) -> None:
    tree = made.sha("HEAD^{tree}")
    (made.path / ".git/objects" / tree[:2] / tree[2:]).unlink()
    with Repository.open(made.path) as repository:
        revision = repository.revision("HEAD")
        with pytest.raises(MeasurementError, match="git ls-tree ended with exit code 128"):
            _ = revision.entries
        with pytest.raises(MeasurementError, match="git merge-base"):
            repository.merge_base("0" * 40, made.head())


@ROOT_USER.mark
def test_repository_of_another_user_is_trusted_when_named(made: GitRepository) -> None:
    made.write("deep/b", "b")
    subprocess.run(["chown", "-R", "12345:12345", str(made.path)], check=True)
    with Repository.open(made.path) as repository:
        assert repository.change("main", "HEAD").head.read("a") == b"a"
        assert repository.worktree_change("main").head.read("deep/b") == b"b"
    with pytest.raises(UsageError, match=r"another user.*top folder"):
        Repository.open(made.path / "deep")


def test_variables_of_a_hook_do_not_lead_elsewhere(
    made: GitRepository, git_repository: MakeRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = git_repository("other")
    other.commit("other", {"other": "other"})
    hook = {
        "GIT_DIR": str(other.path / ".git"),
        "GIT_WORK_TREE": str(other.path),
        "GIT_INDEX_FILE": str(other.path / ".git/index"),
        "GIT_OBJECT_DIRECTORY": str(other.path / ".git/objects"),
        "GIT_EXTERNAL_DIFF": "false",
        "GIT_LITERAL_PATHSPECS": "1",
        "GIT_PREFIX": "deep/",
    }
    for name, value in hook.items():
        monkeypatch.setenv(name, value)
    with Repository.open(made.path) as repository:
        assert repository.root == made.path
        assert repository.revision("HEAD").read("a") == b"a"
        assert set(repository.worktree_change("main").head.entries) == {"a"}
    assert {name: os.environ[name] for name in hook} == hook


def test_no_git_on_this_machine(made: GitRepository, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(made.path))
    with pytest.raises(UsageError, match="the git command was not found; install git"):
        Repository.open(made.path)


def test_git_that_is_gone_later(made: GitRepository, monkeypatch: pytest.MonkeyPatch) -> None:
    with Repository.open(made.path) as repository:
        monkeypatch.setenv("GIT_PYTHON_GIT_EXECUTABLE", "/nowhere/git")
        with pytest.raises(UsageError, match="the git command was not found"):
            repository.resolve("main")


def test_git_by_its_path(
    made: GitRepository, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    git = shutil.which("git")
    assert git is not None
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    monkeypatch.setenv("GIT_PYTHON_GIT_EXECUTABLE", git)
    with Repository.open(made.path) as repository:
        assert repository.root == made.path
