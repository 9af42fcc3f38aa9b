"""Files that people edit are replaced together, or stay as they were. What a killed process left
half replaced is finished by the next run, and nothing else is."""

from __future__ import annotations

import errno
import json
import stat
from pathlib import Path

import pytest
from support.killed_process import killed_at_second_replacement

from gatekeeper.author.generation.replace_files import finish_replacements, replace_files
from gatekeeper.errors import WriteError


def held(root: Path) -> dict[str, str]:
    found = (p for p in root.rglob("*") if p.is_file() and not p.name.startswith("."))
    return {p.relative_to(root).as_posix(): p.read_text() for p in found}


def test_files_are_written_with_their_folders_and_keep_their_mode(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-not-a-real-key-0123456789")
    (tmp_path / "a.txt").write_text("old")
    (tmp_path / "a.txt").chmod(0o600)
    replace_files({"a.txt": "new", "b/c.txt": "key sk-not-a-real-key-0123456789"}, tmp_path)
    assert held(tmp_path)["a.txt"] == "new"
    assert "sk-not" not in held(tmp_path)["b/c.txt"]
    assert stat.S_IMODE((tmp_path / "a.txt").stat().st_mode) == 0o600


@pytest.mark.parametrize("number", [1, 2, 3])
@pytest.mark.parametrize(
    ("is_replaced", "raised", "told"),
    [
        (False, OSError(errno.EIO, "Input/output error"), WriteError),
        (True, KeyboardInterrupt(), KeyboardInterrupt),
    ],
)
def test_a_failure_or_an_interruption_leaves_every_file_as_it_was(
    tmp_path, monkeypatch, number, is_replaced, raised, told
):
    before = {"a.txt": "a person's", "c.txt": "edits"}
    for name, text in before.items():
        (tmp_path / name).write_text(text)
    replace, calls = Path.replace, []

    def replacing(self: Path, target: Path) -> Path:
        calls.append(target)
        if len(calls) != number:
            return replace(self, target)
        if is_replaced:
            replace(self, target)
        raise raised

    monkeypatch.setattr(Path, "replace", replacing)
    with pytest.raises(told):
        replace_files({"a.txt": "new", "b.txt": "new", "c.txt": "new"}, tmp_path)
    assert held(tmp_path) == before
    assert not list(tmp_path.glob(".gatekeeper*"))


@pytest.mark.parametrize("where", ["file/a.txt", "folder"])
def test_a_path_that_cannot_be_written_is_named(tmp_path, where):
    (tmp_path / "file").write_text("a file")
    (tmp_path / "folder").mkdir()
    with pytest.raises(WriteError):
        replace_files({"new.txt": "new", where: "x"}, tmp_path)
    assert held(tmp_path) == {"file": "a file"}


OLD = {"a.txt": "old a", "b/c.txt": "old c"}
NEW = {"a.txt": "new a", "b/c.txt": "new c", "d.txt": "new d"}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Files of which only the first was replaced when the process was killed."""
    (tmp_path / "b").mkdir()
    for path, text in OLD.items():
        (tmp_path / path).write_text(text)
    with killed_at_second_replacement([Path(path).name for path in NEW]):
        replace_files(NEW, tmp_path)
    assert held(tmp_path) == {**OLD, "a.txt": "new a"}
    return tmp_path


def record_of(root: Path) -> Path:
    (record,) = root.glob(".gatekeeper.unfinished.*.json")
    return record


def test_the_next_run_finishes_what_a_killed_one_began(root):
    (said,) = finish_replacements(root, NEW)
    assert all(path in said for path in NEW)
    assert held(root) == NEW
    assert not list(root.glob(".gatekeeper.unfinished.*"))
    assert finish_replacements(root, NEW) == ()


def test_an_edit_since_is_kept(root):
    (root / "b/c.txt").write_text("a person's")
    (said,) = finish_replacements(root, NEW)
    assert "did not replace them: b/c.txt" in said
    assert held(root) == {**NEW, "b/c.txt": "a person's"}


def test_other_files_are_not_touched(root):
    assert finish_replacements(root, ["a.txt", "b/c.txt"]) == ()
    assert held(root) == {**OLD, "a.txt": "new a"}


@pytest.mark.parametrize(
    "change", [{"temporary": "../a.txt"}, {"temporary": ".gatekeeper.other"}, {"after": "0"}]
)
def test_a_forged_record_replaces_nothing(root, change):
    record = record_of(root)
    rows = json.loads(record.read_text())
    record.write_text(json.dumps([{**row, **change} for row in rows]))
    finish_replacements(root, NEW)
    assert held(root) == {**OLD, "a.txt": "new a"}


def test_a_link_does_not_take_the_place_of_a_file(root):
    (row,) = (row for row in json.loads(record_of(root).read_text()) if row["path"] == "d.txt")
    secret = root / "secret"
    (root / row["temporary"]).rename(secret)
    (root / row["temporary"]).symlink_to(secret)
    finish_replacements(root, NEW)
    assert not (root / "d.txt").exists()


@pytest.mark.parametrize("text", ["", "[1]", "{}", "[" * 2_000, '[{"path": 1}]', " " * 200_000])
def test_what_is_no_record_is_ignored(tmp_path, text):
    (tmp_path / ".gatekeeper.unfinished.x.json").write_text(text)
    assert finish_replacements(tmp_path, NEW) == ()


def test_a_record_is_gone_after_a_run_that_was_not_killed(tmp_path):
    replace_files(NEW, tmp_path)
    assert held(tmp_path) == NEW
    assert not list(tmp_path.rglob(".gatekeeper*"))
