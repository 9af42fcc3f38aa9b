"""A remote that never answers, and the environment of the git that speaks to it."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from gatekeeper.errors import MeasurementError, UsageError
from gatekeeper.git import data_branch, remote_command
from gatekeeper.git.data_branch import DataBranch, Remote


def test_a_remote_that_never_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ssh, started = tmp_path / "ssh", tmp_path / "started"
    ssh.write_text(f"#!/bin/sh\necho $$ > {started}\nexec tail -f /dev/null\n")
    ssh.chmod(ssh.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("GIT_SSH", str(ssh))
    address = "ssh://nowhere.invalid/repository"
    for seconds in (0.5, 5, 50):  # a busy machine takes longer to start the remote's program
        monkeypatch.setattr(remote_command, "MOST_SECONDS", seconds)
        with (
            DataBranch("data", Remote(address, address)) as branch,
            pytest.raises(MeasurementError, match=rf"no answer within {seconds} seconds"),
        ):
            branch.fetch()
        if started.exists() and started.read_text():
            break
    assert not is_running(int(started.read_text()))


def is_running(process: int) -> bool:
    """Return whether the process has not ended; one that nobody waited for has no command."""
    command = Path(f"/proc/{process}/cmdline")
    return command.exists() and bool(command.read_bytes())


def test_variables_of_a_hook_are_hidden_and_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    monkeypatch.setenv("GIT_PYTHON_REFRESH", "raise")
    with DataBranch("data", Remote(str(tmp_path), str(tmp_path))) as branch:
        assert branch.push(None, {"a": b"1"}, (), "a") is False  # no repository there
    assert os.environ["GIT_DIR"] == str(tmp_path / "elsewhere")
    assert os.environ["GIT_PYTHON_REFRESH"] == "raise"


def test_no_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    remote = Remote(str(tmp_path), str(tmp_path))
    with pytest.raises(UsageError, match="the git command was not found"):
        data_branch.DataBranch("data", remote).__enter__()
