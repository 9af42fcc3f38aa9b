"""Disks, folders and streams that take nothing: one sentence, the verdict, and never a pass.

The command as a process of its own if limits, file systems or streams of the shell's making matter.
"""

from __future__ import annotations

import errno
import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from support.git_repository import GitRepository
from support.machine_needs import LINUX, MOUNT, UNSHARE
from support.openai_server import OpenAIServer
from support.proposals import OTHER, PROMPT_FILE, Proposal, all_say
from support.pull_request import FILES, HARMLESS, PROMPT
from support.recorded_repository import check

from gatekeeper.cli.main import main

PASS, FAIL = all_say("ok"), all_say("no")
RunCheck = Callable[..., subprocess.CompletedProcess[str]]

# Root may write everywhere. Without this right it may not.
AS_ANY_USER = "" if os.geteuid() else "setpriv --bounding-set=-dac_override "


@pytest.fixture
def run_check(git_repository: Callable[..., GitRepository], tmp_path: Path) -> RunCheck:
    """Runs `gatekeeper check` in a shell: `{}` in `shell` stands for the command."""

    def run(
        recorded: dict[str, str | list[str]],
        shell: str = "{}",
        *more: str,
        out: Path | str = tmp_path / "out",
        mount: str | None = None,
        **environment: str,
    ) -> subprocess.CompletedProcess[str]:
        proposal = Proposal("fault", "", {PROMPT_FILE: OTHER}, recorded=recorded)
        repository = proposal.propose(git_repository)
        command = [sys.executable, "-m", "gatekeeper", "check", "--repo", str(repository.path)]
        command += ["--base", "main", "--head", "pr", "--out", str(out), *more]
        script = shell.replace("{}", shlex.join(command))
        prefix = [] if mount is None else UNSHARE
        script = script if mount is None else f"mount -t tmpfs -o {mount} none {out} && {script}"
        return subprocess.run(
            [*prefix, "bash", "-o", "pipefail", "-c", script],
            capture_output=True,
            text=True,
            env=os.environ | environment,
            timeout=120,
        )

    return run


@pytest.fixture
def run_here(
    git_repository: Callable[..., GitRepository],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> RunCheck:
    """Runs `gatekeeper check` in this process."""

    def run(
        recorded: dict[str, str | list[str]], *, out: Path = tmp_path / "out"
    ) -> subprocess.CompletedProcess[str]:
        proposal = Proposal("fault", "", {PROMPT_FILE: OTHER}, recorded=recorded)
        code = check(proposal.propose(git_repository), out)
        return subprocess.CompletedProcess("check", code, *capsys.readouterr())

    return run


def said(ran: subprocess.CompletedProcess[str], verdict: str) -> list[str]:
    """The sentences on standard error, if the verdict is printed and nothing was unforeseen."""
    assert "Traceback" not in ran.stderr + ran.stdout
    assert "Exception ignored" not in ran.stderr
    assert "bug in gatekeeper" not in ran.stderr
    assert verdict in (ran.stdout + ran.stderr).lower(), ran.stdout + ran.stderr
    return [line for line in ran.stderr.splitlines() if line.startswith("gatekeeper: ")]


CASES = [
    pytest.param(PASS, 3, "may merge", id="pass"),
    pytest.param(FAIL, 1, "do not merge", id="fail"),
]
_LONG = {"marks": pytest.mark.long}


@pytest.mark.parametrize(("recorded", "code", "verdict"), CASES)
def test_result_json_is_a_folder(
    run_here: RunCheck, tmp_path: Path, recorded: dict[str, str], code: int, verdict: str
) -> None:
    (tmp_path / "out/result.json").mkdir(parents=True)
    ran = run_here(recorded)
    assert ran.returncode == code
    (line,) = said(ran, verdict)
    assert "out/result.json: cannot be written (Is a directory)" in line
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["result.json"]


@MOUNT.mark
@pytest.mark.parametrize(
    ("options", "why", "recorded", "code", "verdict"),
    [
        pytest.param("size=4k", errno.ENOSPC, PASS, 3, "may merge", marks=pytest.mark.long),
        ("size=64k", errno.ENOSPC, FAIL, 1, "do not merge"),
        ("size=64k,nr_inodes=3", errno.ENOSPC, PASS, 3, "may merge"),
        pytest.param("ro", errno.EROFS, PASS, 3, "may merge", marks=pytest.mark.long),
        pytest.param("ro", errno.EROFS, FAIL, 1, "do not merge", marks=pytest.mark.long),
    ],
)
def test_a_disk_that_is_full_or_read_only(
    run_check: RunCheck,
    tmp_path: Path,
    recorded: dict[str, str],
    code: int,
    verdict: str,
    options: str,
    why: int,
) -> None:
    out = tmp_path / "out"
    out.mkdir()
    ran = run_check(recorded, f"{{}}; code=$?; ls -A {out} >&2; exit $code", mount=options)
    assert ran.returncode == code
    (line,) = said(ran, verdict)
    assert str(out) in line
    assert os.strerror(why) in line
    assert ran.stderr.endswith(f"{line}\n"), "a file was left behind"


@pytest.mark.parametrize(
    ("path", "why"),
    [("x" * 300, errno.ENAMETOOLONG), ("file/out", errno.ENOTDIR), ("loop/out", errno.ELOOP)],
)
def test_an_output_folder_that_cannot_be_made(
    run_here: RunCheck, tmp_path: Path, path: str, why: int
) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "loop").symlink_to("loop")
    ran = run_here(PASS, out=tmp_path / path)
    assert ran.returncode == 3
    (line,) = said(ran, "may merge")
    assert os.strerror(why) in line


def _commands(repository: GitRepository) -> dict[str, list[str]]:
    at = ["--repo", str(repository.path)]
    return {
        "check": ["check", *at, "--base", "main", "--head", "pr"],
        "run": ["run", *at, "--ref", "pr"],
        "diff": ["diff", *at, "main", "pr"],
        "sweep": ["sweep", *at, "--contract", "sentiment", "--param", "temperature=0,1"],
    }


@pytest.mark.parametrize("command", ["check", "run", "diff", "sweep"])
@pytest.mark.parametrize(("place", "why"), [("file", errno.ENOTDIR), ("loop", errno.ELOOP)])
def test_no_call_is_paid_for_a_report_that_cannot_be_written(
    git_repository: Callable[..., GitRepository],
    tmp_path: Path,
    model: OpenAIServer,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    command: str,
    place: str,
    why: int,
) -> None:
    made = git_repository("paid")
    made.propose({PROMPT: HARMLESS}, dict(FILES))
    (tmp_path / "file").write_text("")
    (tmp_path / "loop").symlink_to("loop")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-0123456789abcdef")
    monkeypatch.setenv("OPENAI_BASE_URL", model.url)
    out = tmp_path / place / "out"
    assert main([*_commands(made)[command], "--out", str(out)]) == 3
    assert model.requests == []
    error = capsys.readouterr().err
    assert f"{out}: cannot be written ({os.strerror(why)})" in error


@pytest.mark.long
def test_a_folder_without_the_right_to_write(run_check: RunCheck, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir(mode=0o555)
    ran = run_check(PASS, AS_ANY_USER + "{}")
    assert ran.returncode == 3
    (line,) = said(ran, "may merge")
    assert os.strerror(errno.EACCES) in line


def test_missing_parents_are_made(run_here: RunCheck, tmp_path: Path) -> None:
    ran = run_here(PASS, out=tmp_path / "a/b/c")
    assert ran.returncode == 0
    assert said(ran, "may merge") == []
    assert (tmp_path / "a/b/c/result.json").is_file()


@pytest.mark.long
def test_a_limit_on_the_size_of_files(run_check: RunCheck, tmp_path: Path) -> None:
    ran = run_check(PASS, "ulimit -f 16; {}")
    assert ran.returncode == 3
    (line,) = said(ran, "may merge")
    assert os.strerror(errno.EFBIG) in line
    assert list((tmp_path / "out").iterdir()) == []


def test_no_place_for_temporary_files(run_check: RunCheck) -> None:
    ran = run_check(PASS, "ulimit -f 0; {}", TMPDIR="/dev/null/none")
    assert ran.returncode == 3
    assert "Traceback" not in ran.stderr
    assert any(line.startswith("gatekeeper: ") for line in ran.stderr.splitlines())


# Standard streams


@pytest.mark.long
@LINUX.mark
@pytest.mark.parametrize(("recorded", "code", "verdict"), CASES)
def test_standard_output_is_full(
    run_check: RunCheck, tmp_path: Path, recorded: dict[str, str], code: int, verdict: str
) -> None:
    ran = run_check(recorded, "{} > /dev/full")
    assert ran.returncode == code
    lines = said(ran, verdict)
    assert "standard output: cannot be written" in lines[-1]
    result = json.loads((tmp_path / "out/result.json").read_text())
    assert f"gatekeeper: {result['verdict']}:" in lines[0]


@pytest.mark.long
@LINUX.mark
@pytest.mark.parametrize(
    "shell",
    [
        "{} 2> /dev/full",
        pytest.param("{} 2>&-", **_LONG),
        pytest.param("{} 2> >(exec true)", **_LONG),
    ],
)
def test_standard_error_takes_nothing(run_check: RunCheck, shell: str) -> None:
    ran = run_check(PASS, shell)
    assert ran.returncode == 0
    assert "may merge" in ran.stdout.lower()
    assert "Traceback" not in ran.stdout


@pytest.mark.long
@LINUX.mark
def test_both_streams_are_full_and_so_is_the_disk(run_check: RunCheck, tmp_path: Path) -> None:
    (tmp_path / "out/result.json").mkdir(parents=True)
    assert run_check(PASS, "{} > /dev/full 2>&1").returncode == 3


@pytest.mark.long
@pytest.mark.parametrize(
    "shell",
    [
        pytest.param("{} >&-", **_LONG),
        "{} <&- >&- 2>&-",
        pytest.param("{} | true; exit ${PIPESTATUS[0]}", **_LONG),
    ],
)
def test_nobody_reads_standard_output(run_check: RunCheck, tmp_path: Path, shell: str) -> None:
    ran = run_check(PASS, shell)
    assert ran.returncode == 0
    assert "Traceback" not in ran.stderr
    assert "Exception ignored" not in ran.stderr
    assert json.loads((tmp_path / "out/result.json").read_text())["exit_code"] == 0


# The user's surroundings


@pytest.mark.long
@pytest.mark.parametrize(
    "environment",
    [
        pytest.param({"HOME": "/dev/null/nobody", "TMPDIR": "/dev/null/none"}, **_LONG),
        {"HOME": "", "TERM": "dumb", "COLUMNS": "0"}
        | {"LANG": "C", "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    ],
)
def test_poor_surroundings_change_no_verdict(
    run_check: RunCheck, environment: dict[str, str]
) -> None:
    ran = run_check(FAIL, **environment)
    assert ran.returncode == 1, ran.stderr
    assert said(ran, "do not merge") == []


@pytest.mark.long
@LINUX.mark
@pytest.mark.parametrize("command", ["affected --base main", "validate", "init"])
def test_other_commands_say_that_standard_output_is_full(
    run_check: RunCheck, tmp_path: Path, command: str
) -> None:
    run_check(PASS)
    found = subprocess.run(
        ["bash", "-c", f"{shlex.quote(sys.executable)} -m gatekeeper {command} > /dev/full"],
        cwd=tmp_path / "words",
        capture_output=True,
        text=True,
    )
    assert found.returncode == 3
    assert "standard output: cannot be written" in found.stderr
    assert "Traceback" not in found.stderr
    assert "Exception ignored" not in found.stderr
