"""Files that people edit are replaced together, or stay as they were."""

from __future__ import annotations

import errno
import stat
from pathlib import Path

import pytest

from gatekeeper.author.generation.replace_files import replace_files
from gatekeeper.errors import WriteError


def held(root: Path) -> dict[str, str]:
    return {str(p.relative_to(root)): p.read_text() for p in root.rglob("*") if p.is_file()}


def test_files_are_written_with_their_folders_and_keep_their_mode(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-not-a-real-key-0123456789")
    (tmp_path / "a.txt").write_text("old")
    (tmp_path / "a.txt").chmod(0o600)
    replace_files({"a.txt": "new", "b/c.txt": "key sk-not-a-real-key-0123456789"}, tmp_path)
    assert held(tmp_path)["a.txt"] == "new"
    assert "sk-not" not in held(tmp_path)["b/c.txt"]
    assert stat.S_IMODE((tmp_path / "a.txt").stat().st_mode) == 0o600


@pytest.mark.parametrize("fails", [1, 2, 3])
def test_a_replacement_that_fails_leaves_every_file_as_it_was(tmp_path, monkeypatch, fails):
    before = {"a.txt": "a person's", "c.txt": "edits"}
    for name, text in before.items():
        (tmp_path / name).write_text(text)
    replace, calls = Path.replace, []

    def failing(self: Path, target: Path) -> Path:
        calls.append(target)
        if len(calls) == fails:
            raise OSError(errno.EIO, "Input/output error")
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", failing)
    with pytest.raises(WriteError):
        replace_files({"a.txt": "new", "b.txt": "new", "c.txt": "new"}, tmp_path)
    assert held(tmp_path) == before


@pytest.mark.parametrize("comes", [1, 2, 3])
def test_an_interruption_after_a_replacement_leaves_every_file_as_it_was(
    tmp_path, monkeypatch, comes
):
    before = {"a.txt": "a person's", "c.txt": "edits"}
    for name, text in before.items():
        (tmp_path / name).write_text(text)
    replace, calls = Path.replace, []

    def interrupted(self: Path, target: Path) -> Path:
        calls.append(target)
        replaced = replace(self, target)
        if len(calls) == comes:
            raise KeyboardInterrupt
        return replaced

    monkeypatch.setattr(Path, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        replace_files({"a.txt": "new", "b.txt": "new", "c.txt": "new"}, tmp_path)
    assert held(tmp_path) == before


@pytest.mark.parametrize("where", ["file/a.txt", "folder"])
def test_a_path_that_cannot_be_written_is_named(tmp_path, where):
    (tmp_path / "file").write_text("a file")
    (tmp_path / "folder").mkdir()
    with pytest.raises(WriteError):
        replace_files({"new.txt": "new", where: "x"}, tmp_path)
    assert held(tmp_path) == {"file": "a file"}
