"""The history file: what is written can be read, whatever happens to the file in between."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.past_runs import line, record

from gatekeeper.errors import MeasurementError, UsageError
from gatekeeper.history.record import Record
from gatekeeper.history.stores import file_store as history_file
from gatekeeper.history.stores.file_store import FileHistory
from gatekeeper.history.stores.store import Past


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "history.jsonl"


def test_what_was_written_is_read(tmp_path: Path) -> None:
    history = FileHistory(tmp_path / "new" / "folder" / "history.jsonl")
    first, second, third = record(), record(), record()
    assert history.append([first, second]) == 2
    assert history.append([third]) == 1
    assert history.read() == Past((first, second, third))


def test_what_is_there_is_not_added_again(path: Path) -> None:
    history = FileHistory(path)
    first, second = record(), record()
    assert history.append([first]) == 1
    assert history.append([first, second]) == 1
    assert history.append([first, second]) == 0
    assert len(path.read_bytes().splitlines()) == 2


def test_nothing_to_add_makes_no_file(path: Path) -> None:
    assert FileHistory(path).append([]) == 0
    assert not path.exists()


@pytest.mark.parametrize(
    ("before", "lost"), [(b'{"schema": 1, "ti', 1), (line().encode(), 0), (b"\xff\xfe", 1)]
)
def test_a_last_line_without_end_is_closed_first(path: Path, before: bytes, lost: int) -> None:
    path.write_bytes(before)
    added = record()
    FileHistory(path).append([added])
    assert path.read_bytes().startswith(before + b"\n{")
    read = FileHistory(path).read()
    records, notices = read.records, read.notices
    assert records[-1] == added
    assert len(notices) == lost


def test_appending_is_one_write_to_the_end(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path.write_text(line())
    writes, synced = [], []
    write, fsync = os.write, os.fsync
    monkeypatch.setattr(os, "write", lambda f, data: writes.append(data) or write(f, data))
    monkeypatch.setattr(os, "fsync", lambda f: synced.append(len(writes)) or fsync(f))
    FileHistory(path).append([record(), record()])
    assert len(writes) == 1
    assert synced == [1]


def test_concurrent_runs_do_not_tear_lines_apart(path: Path) -> None:
    def write() -> None:
        for _ in range(20):
            FileHistory(path).append([record(), record()])

    workers = [threading.Thread(target=write) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    read = FileHistory(path).read()
    records, notices = read.records, read.notices
    assert notices == ()
    assert len(records) == 160


def test_a_place_that_cannot_be_written_is_the_authors_mistake(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for path in (tmp_path, tmp_path / "file" / "history.jsonl"):
        with pytest.raises(UsageError, match="history cannot be written"):
            FileHistory(path).append([record()])


def test_a_full_disk_is_not_the_authors_mistake(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = os.write
    monkeypatch.setattr(os, "write", lambda f, data: write(f, data[:7]))
    added = record()
    with pytest.raises(MeasurementError, match="only a part"):
        FileHistory(path).append([added])
    monkeypatch.undo()
    assert FileHistory(path).append([added]) == 1
    read = FileHistory(path).read()
    records, notices = read.records, read.notices
    assert records == (added,)
    assert len(notices) == 1


def test_no_history_yet_is_a_notice(path: Path) -> None:
    read = FileHistory(path).read()
    records, notices = read.records, read.notices
    assert records == ()
    assert "no history yet" in notices[0]


def test_a_folder_is_a_notice(tmp_path: Path) -> None:
    read = FileHistory(tmp_path).read()
    records, notices = read.records, read.notices
    assert records == ()
    assert "cannot be read" in notices[0]


def test_a_file_that_has_outgrown_its_kind_is_a_notice(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history_file, "LARGEST_FILE", 100)
    path.write_text(line())
    read = FileHistory(path).read()
    records, notices = read.records, read.notices
    assert records == ()
    assert "sqlite" in notices[0]


def test_an_empty_history_is_fine(path: Path) -> None:
    path.write_bytes(b"")
    assert FileHistory(path).read() == Past(())


def test_a_bad_line_is_named_by_file_and_line(path: Path) -> None:
    path.write_text(f"{line()}\nnot json\n")
    read = FileHistory(path).read()
    (notice,) = read.notices
    assert notice.startswith(f"{path}:2: ")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=300))
def test_no_file_breaks_the_reader(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "h.jsonl"
    path.write_bytes(content)
    assert all(isinstance(found, Record) for found in FileHistory(path).read().records)
