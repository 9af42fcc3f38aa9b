"""What the action does beside judging: credentials for git, owners of files, known faults."""

from __future__ import annotations

import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from git_repository import GitRepository

from gatekeeper import answer
from gatekeeper.action import git_credentials
from gatekeeper.errors import UsageError
from gatekeeper.settings import Settings

SETTINGS = Settings("pull_request", Path("event"), Path("workspace"), "o/r", token="ghs_token")


def header(repository: GitRepository, url: str) -> list[str]:
    """The header lines that git would send to the address."""
    found = subprocess.run(
        ["git", "config", "--get-all", f"http.{url}/.extraheader"],
        cwd=repository.path,
        capture_output=True,
        text=True,
        check=False,
    ).stdout.splitlines()
    # An empty value takes back all before it.
    return found[len(found) - found[::-1].index("") :] if "" in found else found


def test_git_sends_the_token_once_and_only_to_the_server(tmp_path: Path) -> None:
    repository = GitRepository.create(tmp_path / "repository")
    repository.config("http.https://github.com/.extraheader", "AUTHORIZATION: basic old")
    with git_credentials(SETTINGS):
        # base64 of x-access-token:ghs_token
        assert header(repository, "https://github.com") == [
            "AUTHORIZATION: basic eC1hY2Nlc3MtdG9rZW46Z2hzX3Rva2Vu"
        ]
        assert header(repository, "https://elsewhere.example") == []
    assert header(repository, "https://github.com") == ["AUTHORIZATION: basic old"]
    assert "GIT_CONFIG_COUNT" not in os.environ


def test_settings_of_the_caller_for_git_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CONFIG_COUNT", "0")
    with git_credentials(SETTINGS):
        assert os.environ["GIT_CONFIG_COUNT"] == "0"
    assert os.environ["GIT_CONFIG_COUNT"] == "0"


def test_without_a_token_there_is_no_header() -> None:
    with git_credentials(replace(SETTINGS, token="")):
        assert "GIT_CONFIG_COUNT" not in os.environ


@pytest.mark.parametrize("target", ["..", ".", "/"])
def test_reports_stay_inside_the_workspace(tmp_path: Path, target: str) -> None:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (workspace / "link").symlink_to(target)
    settings = replace(SETTINGS, workspace=workspace, out=Path("link"))
    with pytest.raises(UsageError, match="leads out of the workspace"):
        answer.out_folder(settings)


def test_an_error_leaves_a_comment_file_that_follows_no_link(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text("kept")
    out = tmp_path / "workspace" / "out"
    out.mkdir(parents=True)
    (out / "comment.md").symlink_to(elsewhere)
    settings = replace(SETTINGS, workspace=out.parent, out=Path("out"), secrets=("hunter2hunter2",))
    told = answer.answer_to_error(UsageError("x"), "no such hunter2hunter2", settings)
    assert told.exit_code == 2
    assert told.title == "Cannot be judged: no such ***"
    assert elsewhere.read_text() == "kept"
    assert "no such ***" in (out / "comment.md").read_text()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_reports_belong_to_whom_the_workspace_belongs(tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    os.chown(workspace, 1001, 1002)
    settings = replace(SETTINGS, workspace=workspace, out=Path("a/b"))
    answer.answer_to_error(UsageError("x"), "text", settings)
    owners = {(p.stat().st_uid, p.stat().st_gid) for p in workspace.rglob("*")}
    assert len(list(workspace.rglob("*"))) == 3
    assert owners == {(1001, 1002)}
