"""A bare remote and a user's clone of it, whose history is on a branch: `Place(tmp_path)`."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from support.git_repository import GitRepository
from tenacity.wait import wait_none

from gatekeeper.git import Repository
from gatekeeper.history.stores.branch_store import BranchHistory

NAME = "gatekeeper-data"
NOVEMBER = datetime(2026, 11, 3, 10, 15, tzinfo=UTC)
OCTOBER = datetime(2026, 10, 30, 23, 59, tzinfo=UTC)


class Place:
    """A bare remote and a user's clone of it."""

    def __init__(self, folder: Path) -> None:
        self.origin = GitRepository.create(folder / "origin.git", bare=True)
        self.clone = GitRepository.create(folder / "clone")
        self.clone.commit("start", {"prompts/p.txt": "Say {{ word }}."})
        self.clone.git("remote", "add", "origin", str(self.origin.path))
        self.clone.git("push", "--quiet", "origin", "main")
        self.repository = Repository.open(self.clone.path)

    def history(self, now: datetime = NOVEMBER) -> BranchHistory:
        return BranchHistory(
            NAME, lambda: self.repository.data_branch(NAME), lambda: now, wait_none()
        )

    def files(self) -> dict[str, str]:
        """What the branch holds, by path."""
        listing = self.origin.git("ls-tree", "-r", "--name-only", "-z", NAME).split("\0")
        return {path: self.origin.git("show", f"{NAME}:{path}") for path in listing if path}

    def runs(self) -> list[str]:
        return [path for path in self.files() if path.startswith("runs/")]

    def lines(self) -> list[str]:
        """Every line of every file, as stored."""
        stored = (c for path, c in self.files().items() if path.startswith("runs/"))
        return [found for content in stored for found in content.splitlines()]

    def put(self, files: dict[str, str], links: dict[str, str] | None = None) -> None:
        """Contents that somebody pushes to the branch by hand."""
        made = GitRepository.create(self.clone.path.parent / "forger")
        made.git("checkout", "--quiet", "--orphan", NAME)
        for path, target in (links or {}).items():
            made.symlink(path, target)
        made.commit("forged", dict(files))
        made.git("push", "--quiet", "--force", str(self.origin.path), f"HEAD:refs/heads/{NAME}")


def ids(history: BranchHistory) -> list[str]:
    found = history.read()
    assert found.notices == ()
    return [each.id for each in found.records]


def snapshot(folder: Path) -> dict[str, bytes | str]:
    """Every file of the clone, git's own too."""
    return {
        str(path.relative_to(folder)): str(path.readlink())
        if path.is_symlink()
        else path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_symlink() or path.is_file()
    }
