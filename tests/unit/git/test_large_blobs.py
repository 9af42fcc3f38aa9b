"""Files of any size in a repository: those that are too large are not read into memory."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from support.git_repository import GitRepository

from gatekeeper.contract.reading.read import UnreadableError, read_text
from gatekeeper.contract.values.change import FileTooLargeError, prefetch
from gatekeeper.errors import ContractError, MeasurementError
from gatekeeper.git import Repository, objects, worktree
from gatekeeper.runs.models import _reader

SMALL, LARGE = "a" * 10, "b" * 101


@pytest.fixture(params=["sha1", "sha256"])
def made(
    request: pytest.FixtureRequest,
    git_repository: Callable[..., GitRepository],
    monkeypatch: pytest.MonkeyPatch,
) -> GitRepository:
    monkeypatch.setattr(objects, "MOST_BYTES", 100)
    monkeypatch.setattr(worktree, "MOST_BYTES", 100)
    repository = git_repository()
    if request.param == "sha256":
        repository.git("init", "--quiet", "--object-format=sha256", str(repository.path / "other"))
        repository = GitRepository(repository.path / "other")
    repository.commit("files", {"small.txt": SMALL, "large.txt": LARGE})
    return repository


def test_a_large_file_of_a_commit_is_not_read_and_the_next_is(made: GitRepository) -> None:
    with Repository.open(made.path) as repository:
        revision = repository.revision("HEAD")
        for _ in range(2):
            with pytest.raises(FileTooLargeError) as caught:
                revision.read("large.txt")
            assert (caught.value.path, caught.value.size) == ("large.txt", 101)
        assert revision.read("small.txt") == SMALL.encode()
        with pytest.raises(UnreadableError):
            read_text(revision, "large.txt")


def test_a_large_file_of_the_work_tree_is_not_read(made: GitRepository) -> None:
    made.write("large.txt", LARGE + "c")
    with Repository.open(made.path) as repository, pytest.raises(FileTooLargeError) as caught:
        repository.worktree().read("large.txt")
    assert caught.value.size == 102


def test_a_recording_that_is_too_large_is_named(made: GitRepository) -> None:
    with Repository.open(made.path) as repository:
        read = _reader((repository.revision("HEAD"),))
        assert read("small.txt") == SMALL.encode()
        with pytest.raises(ContractError) as caught:
            read("large.txt")
    assert caught.value.problems[0].path == "large.txt"


def test_what_is_large_is_not_read_ahead(
    made: GitRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(objects, "MOST_BYTES_AHEAD", 50)
    asked: list[list[str]] = []
    monkeypatch.setattr(
        "gatekeeper.git.command.GitCommand.blobs",
        lambda _, names: asked.append(list(names)) or {},
    )
    with Repository.open(made.path) as repository:
        revision = repository.revision("HEAD")
        prefetch(revision, ["small.txt", "large.txt"])
        assert asked == [[revision.entries["small.txt"].id]]


def test_all_that_is_read_has_a_bound(made: GitRepository, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is no ContractError: a base contract must not count as unreadable for what head adds."""
    made.commit("more", {f"{n}.txt": f"{n}" * 90 for n in range(4)})
    monkeypatch.setattr(objects, "MOST_BYTES_HELD", 200)
    with Repository.open(made.path) as repository:
        revision = repository.revision("HEAD")
        prefetch(revision, [f"{n}.txt" for n in range(4)])
        assert [len(revision.read(f"{n}.txt")) for n in range(2)] == [90, 90]
        with pytest.raises(MeasurementError):
            revision.read("2.txt")
