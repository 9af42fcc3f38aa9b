"""The release that this gatekeeper was installed from, read from its own record."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from support.git_repository import GitRepository

from gatekeeper.cli.starter import read_release

SHA = "0123456789abcdef0123456789abcdef01234567"


def about(url: str, **more: object) -> str:
    return json.dumps({"url": url, **more})


@pytest.mark.parametrize(
    "url",
    [
        "https://github.com/someone/gate.git",
        "https://github.com/someone/gate",
        "https://token@github.com/someone/gate",
        "ssh://git@github.com/someone/gate.git",
    ],
)
def test_an_installation_from_github_names_its_commit(url):
    assert read_release(about(url, vcs_info={"commit_id": SHA})) == f"someone/gate@{SHA}"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        about("https://example.org/someone/gate.git", vcs_info={"commit_id": SHA}),
        about("https://github.com/someone/gate.git", vcs_info={"commit_id": "v1"}),
        about("https://example.org/gate.whl", archive_info={}),
        about("file:///nowhere/at/all", dir_info={}),
    ],
)
def test_anything_else_names_none(text):
    assert read_release(text) is None


def test_a_clone_names_its_latest_release(git_repository: Callable[..., GitRepository]):
    clone = git_repository("gate")
    clone.commit("one", {"a.txt": "1"})
    clone.git("tag", "v0.9.0")
    second = clone.commit("two", {"a.txt": "2"})
    clone.git("tag", "--annotate", "--message", "v0.10.0", "v0.10.0")
    clone.commit("three", {"a.txt": "3"})
    url = clone.path.as_uri()

    assert read_release(about(url, dir_info={})) is None  # no remote
    clone.git("remote", "add", "origin", "git@github.com:someone/gate.git")
    assert read_release(about(url, dir_info={"editable": True})) == f"someone/gate@{second}"
