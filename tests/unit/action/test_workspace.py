"""Paths of the workspace stay inside it, and what is written there belongs to its owner."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from support.machine_needs import ROOT_USER

from gatekeeper.action import workspace
from gatekeeper.errors import UsageError

OWNER = (1001, 1002)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    made = tmp_path / "workspace"
    made.mkdir()
    return made


def owner_of(path: Path) -> tuple[int, int]:
    found = path.lstat()
    return found.st_uid, found.st_gid


@pytest.mark.parametrize("text", ["/etc", "../out", "a/../../out"])
def test_a_path_that_leads_out_as_it_is_written_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="input out: "):
        workspace.relative_path("out", text)
    assert workspace.relative_path("out", "a/b") == Path("a/b")


@pytest.mark.parametrize("target", ["..", ".", "/"])
def test_reports_stay_inside(place: Path, target: str) -> None:
    (place / "link").symlink_to(target)
    with pytest.raises(UsageError, match="input out: link "):
        workspace.out_folder(place, Path("link"))
    assert workspace.out_folder(place, Path("out")) == place.resolve() / "out"


def test_the_cache_stays_inside(place: Path) -> None:
    (place / "link").symlink_to("/")
    with pytest.raises(UsageError, match=r"input cache: link/cache\.jsonl "):
        workspace.cache_file(place, Path("link/cache.jsonl"))
    assert workspace.cache_file(place, Path("a/c.jsonl")) == place.resolve() / "a" / "c.jsonl"


@ROOT_USER.mark
def test_reports_and_the_folders_above_them_change_hands(place: Path) -> None:
    reports = place / ".gatekeeper" / "out" / "deep"
    reports.mkdir(parents=True)
    (place / ".gatekeeper" / ".gitignore").write_text("*")
    (reports / "report.html").write_text("")
    (place / "other").write_text("")
    os.chown(place, *OWNER)
    workspace.give_reports_to_owner(place, Path(".gatekeeper/out"))
    for path in (place / ".gatekeeper", *(place / ".gatekeeper").rglob("*")):
        assert owner_of(path) == OWNER
    assert owner_of(place / "other") != OWNER


@ROOT_USER.mark
def test_no_link_is_followed_and_nothing_above_the_workspace_changes_hands(place: Path) -> None:
    outside = place.parent / "outside"
    outside.write_text("")
    (place / "link").symlink_to(outside)
    os.chown(place, *OWNER)
    workspace.give_to_owner(place, Path("link"))
    assert owner_of(place / "link") == OWNER
    assert owner_of(outside) != OWNER
    workspace.give_to_owner(place, outside)
    assert owner_of(outside) == OWNER
    assert owner_of(place.parent) != OWNER


@ROOT_USER.mark
def test_in_a_workspace_of_root_nothing_changes_hands(place: Path) -> None:
    (place / "file").write_text("")
    os.chown(place / "file", *OWNER)
    workspace.give_to_owner(place, Path("file"))
    assert owner_of(place / "file") == OWNER
    workspace.give_to_owner(place / "nowhere", Path("file"))


@pytest.mark.parametrize("text", [".git", ".GIT/out", "a/.git/b", ".git/hooks"])
def test_nothing_is_written_into_the_folder_of_git(place: Path, text: str) -> None:
    for name in ("out", "cache", "history"):
        with pytest.raises(UsageError, match=f"input {name}: .* inside of `.git`"):
            workspace.relative_path(name, text)
    (place / ".git").mkdir()
    (place / "link").symlink_to(".git")
    with pytest.raises(UsageError, match=r"inside of `\.git`"):
        workspace.out_folder(place, Path("link/out"))
    with pytest.raises(UsageError, match=r"inside of `\.git`"):
        workspace.cache_file(place, Path("link/c.jsonl"))
