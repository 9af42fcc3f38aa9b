"""Streams that take nothing, and faults that are the machine's and not ours."""

from __future__ import annotations

import errno
import io
import os
import sys
import tempfile

import pytest

from gatekeeper.cli import output
from gatekeeper.cli.starter import example_files, write_files
from gatekeeper.errors import Bug, MeasurementError, WriteError, as_told
from gatekeeper.git.temporary import temporary_folder, temporary_lines
from gatekeeper.reports.terminal.progress import TerminalProgress


class Full(io.StringIO):
    """A stream on a full disk. What is written to it is lost."""

    number = errno.ENOSPC

    def write(self, text: str) -> int:
        raise OSError(self.number, os.strerror(self.number))

    def flush(self) -> None:
        raise OSError(self.number, os.strerror(self.number))


class Left(Full):
    """A pipe whose reader is gone."""

    number = errno.EPIPE

    def flush(self) -> None:
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))


@pytest.mark.parametrize(
    ("stream", "before", "after"), [(Full, 0, 3), (Full, 1, 1), (Full, 2, 2), (Left, 0, 0)]
)
def test_what_standard_output_still_holds_decides_the_last_exit_code(
    monkeypatch: pytest.MonkeyPatch, stream: type[Full], before: int, after: int
) -> None:
    monkeypatch.setattr(sys, "stdout", stream())
    assert output.settle_streams(before) == after


def test_an_error_that_nobody_can_read_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", Full())
    output.print_error("lost")
    assert output.settle_streams(1) == 1


@pytest.mark.parametrize("name", ["stdin", "stdout", "stderr"])
def test_a_stream_that_is_missing_is_replaced(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(sys, name, None)
    output.open_missing_streams()
    stream = getattr(sys, name)
    assert stream.readable() == (name == "stdin")
    stream.close()


def test_progress_that_nobody_reads_does_not_end_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    for stream in (Full, Left):
        monkeypatch.setattr(sys, "stderr", stream())
        with TerminalProgress() as progress:
            progress.started(3)
            progress.advanced()


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EACCES, errno.EMFILE])
def test_faults_of_the_machine_are_told_apart(number: int) -> None:
    error = OSError(number, os.strerror(number), "/some/file")
    fault = as_told(error)
    assert isinstance(fault, WriteError)
    assert "/some/file" in str(fault)
    assert fault.exit_code == 3


@pytest.mark.parametrize(
    "error", [OSError("odd"), FileNotFoundError(errno.ENOENT, "none", "x"), ValueError("x")]
)
def test_other_faults_may_be_ours(error: Exception) -> None:
    assert type(as_told(error)) is Bug


def test_temporary_files_need_a_place(monkeypatch: pytest.MonkeyPatch) -> None:
    with temporary_folder() as folder, temporary_lines([b"a", b"b"]) as lines:
        assert folder.is_dir()
        assert lines.read() == b"a\nb\n"
    assert not folder.exists()
    monkeypatch.setattr(tempfile, "tempdir", "/dev/null/none")
    with pytest.raises(MeasurementError, match="TMPDIR"), temporary_folder():
        pass
    with pytest.raises(MeasurementError, match="TMPDIR"), temporary_lines([]):
        pass


def test_temporary_files_need_space(monkeypatch: pytest.MonkeyPatch) -> None:
    class FullFile(io.BytesIO):
        def writelines(self, lines: object) -> None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(tempfile, "TemporaryFile", FullFile)
    with pytest.raises(MeasurementError, match="No space left"), temporary_lines([b"a"]):
        pass


def test_a_starter_file_that_does_not_fit_is_not_left_behind(tmp_path, monkeypatch) -> None:
    class FullFile(io.StringIO):
        def flush(self) -> None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        def close(self) -> None:
            pass

    real = type(tmp_path).open

    def opened(path, mode="r", **more):
        if mode != "x":
            return real(path, mode, **more)
        path.touch()
        return FullFile()

    monkeypatch.setattr(type(tmp_path), "open", opened)
    with pytest.raises(WriteError, match=r"review-sentiment\.yaml"):
        list(write_files(tmp_path, example_files()))
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_a_printed_line_is_no_command_to_a_runner_and_hides_no_character(capsys):
    output.print_lines(["::error::x", "##[group]y", "a\u202eb", "plain"])
    first, second, third, last = capsys.readouterr().out.splitlines()
    assert not first.startswith("::")
    assert "##[" not in second
    assert "\u202e" not in third
    assert last == "plain"
