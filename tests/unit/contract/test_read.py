"""References and the text they lead to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pytest

from gatekeeper.contract.reading import read
from gatekeeper.contract.reading.read import UnreadableError, locate, read_text
from gatekeeper.contract.values.change import Entry, MemoryRevision


@dataclass
class Revision:
    entries: Mapping[str, Entry]
    sha: str = "x"

    def read(self, path: str) -> bytes:
        raise FileNotFoundError(path)


@pytest.mark.parametrize(
    ("reference", "path"),
    [
        ("b.txt", "a/b.txt"),
        ("../b.txt", "b.txt"),
        ("/c d/b.txt", "c d/b.txt"),
        ("./x/../b.txt", "a/b.txt"),
        ("//x", "x"),
    ],
)
def test_paths_are_relative_to_the_file_or_the_root(reference: str, path: str) -> None:
    assert locate(reference, "a/contract.yaml") == path


@pytest.mark.parametrize(
    "reference", ["../../x", "/../x", "", " ", "https://x.org/a", "file:///etc/passwd", "a\\b"]
)
def test_nothing_leads_out_of_the_repository(reference: str) -> None:
    with pytest.raises(UnreadableError):
        locate(reference, "a/contract.yaml")


def test_text_is_utf_8_with_line_feeds() -> None:
    revision = MemoryRevision({"a": b"\xef\xbb\xbfx\r\ny\rz"})
    assert read_text(revision, "a") == "x\ny\nz"


def test_other_encodings_name_byte_and_line() -> None:
    revision = MemoryRevision({"a": b"\xef\xbb\xbfx\ny\xff"})
    with pytest.raises(UnreadableError, match="0xff at offset 6") as caught:
        read_text(revision, "a")
    assert caught.value.line == 2


def test_links_submodules_and_pointers_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    revision = Revision({"l": Entry("1", "symlink"), "s": Entry("2", "submodule"), "f": Entry("3")})
    for path, what in [
        ("l", "symbolic link"),
        ("s", "submodule"),
        ("l/x", "inside the symbolic link"),
        ("s/x/y", "inside the submodule"),
        ("f", "no file"),
        ("f/x", "no file"),
    ]:
        with pytest.raises(UnreadableError, match=what):
            read_text(revision, path)
    pointer = MemoryRevision({"a": b"version https://git-lfs.github.com/spec/v1\noid sha256:1\n"})
    with pytest.raises(UnreadableError, match="LFS"):
        read_text(pointer, "a")
    monkeypatch.setattr(read, "MAX_BYTES", 3)
    with pytest.raises(UnreadableError, match="larger"):
        read_text(MemoryRevision({"a": b"xxxx"}), "a")


def test_a_missing_file_suggests_its_namesake() -> None:
    revision = MemoryRevision({"x/Prompt.md": b"", "folder/a": b""})
    with pytest.raises(UnreadableError) as caught:
        read_text(revision, "prompt.md")
    assert caught.value.fix == "did you mean `x/Prompt.md`?"
    with pytest.raises(UnreadableError, match="is a folder"):
        read_text(revision, "folder")
