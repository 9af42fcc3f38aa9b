"""A job's workspace is what git itself makes of the same commit."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.git_repository import GitRepository
from support.job_workspace import check_out
from support.proposed_change import propose


def fetched(origin: GitRepository, commit: str, folder: Path, depth: int | None) -> GitRepository:
    made = GitRepository.create(folder)
    made.git("remote", "add", "origin", origin.path.as_uri())
    limit = [f"--depth={depth}"] if depth else []
    made.git("fetch", "--quiet", *limit, "origin", commit)
    made.git("checkout", "--quiet", "--detach", commit)
    return made


def contents(made: GitRepository) -> list[str]:
    return [
        made.git("cat-file", "--batch-check", "--batch-all-objects"),
        made.git("rev-list", "--parents", "HEAD"),
        made.git("rev-parse", "--is-shallow-repository"),
        made.git("for-each-ref"),
        made.git("status", "--porcelain"),
        made.git("config", "--list", "--local"),
    ]


@pytest.mark.parametrize("depth", [1, None])
def test_it_has_what_a_fetch_brings(tmp_path: Path, depth: int | None) -> None:
    change = propose(tmp_path / "origin", {"a": "1", "d/b": "2"}, {"a": "3"}, since={"c": "4"})
    made = check_out(change.origin, change.merge, tmp_path / "made", depth=depth)
    expected = fetched(change.origin, change.merge, tmp_path / "fetched", depth)
    assert contents(made) == contents(expected)
    assert (made.path / "a").read_text() == "3"
