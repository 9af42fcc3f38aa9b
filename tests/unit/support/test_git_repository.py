"""The repository builder itself: the same steps must give the same objects."""

from __future__ import annotations

from pathlib import Path

from support.git_repository import EMAIL, GitRepository


def build(path: Path) -> GitRepository:
    repository = GitRepository.create(path)
    repository.commit("first", {"a.txt": "one\n", "deep/b file.txt": b"\xff\x00"})
    repository.branch("pr")
    repository.commit("second", {"a.txt": "two\n"})
    repository.switch("main")
    repository.merge("pr")
    return repository


def test_same_steps_give_the_same_commits(tmp_path: Path) -> None:
    assert build(tmp_path / "one").head() == build(tmp_path / "two").head()


def test_commits_carry_no_real_person(tmp_path: Path) -> None:
    repository = build(tmp_path / "one")
    assert set(repository.git("log", "--format=%ae%n%ce").split()) == {EMAIL}


def test_clone_can_be_shallow(tmp_path: Path) -> None:
    clone = GitRepository.clone(build(tmp_path / "one"), tmp_path / "clone", depth=1)
    assert clone.git("rev-list", "--count", "HEAD") == "1"
