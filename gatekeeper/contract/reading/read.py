"""Resolves a reference within a revision, and reads its text."""

from __future__ import annotations

import posixpath
import re
from functools import lru_cache

from gatekeeper.contract.values.change import FileTooLargeError, Revision, renamed_to
from gatekeeper.errors import ContractError, Problem

MAX_BYTES = 20_000_000
_LFS_POINTER = b"version https://git-lfs.github.com/spec/"
_SCHEME = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]+:")


class UnreadableError(Exception):
    """A reference to a missing file, or to something that is not text.

    `line` is the line in the file itself; None if the fault is in the reference to it.
    """

    def __init__(self, what: str, fix: str, line: int | None = None) -> None:
        super().__init__(what)
        self.what, self.fix, self.line = what, fix, line


@lru_cache(maxsize=4096)  # a contract is read briefly before it is loaded, at base and at head
def locate(reference: str, from_file: str) -> str:
    """Return the path from the repository root.

    A reference is relative to the file that contains it; a leading `/` means the repository root.
    Raises UnreadableError if it leads out of the repository.
    """
    if not reference.strip():
        raise UnreadableError("the path is empty", "name a file")
    if _SCHEME.match(reference):
        fix = (
            "copy the file into the repository and use the path of the copy; "
            "gatekeeper downloads nothing"
        )
        raise UnreadableError(f"`{reference}` is not a path in the repository", fix)
    if "\\" in reference:
        raise UnreadableError(f"`{reference}` has a backslash", "write paths with forward slashes")
    folder = "" if reference.startswith("/") else posixpath.dirname(from_file)
    path = posixpath.normpath(posixpath.join(folder, reference.lstrip("/")))
    if path == ".." or path.startswith("../"):
        fix = "use a path inside this repository; a leading / means the repository root"
        raise UnreadableError(f"`{reference}` is outside the repository", fix)
    return path


def read_text(revision: Revision, path: str) -> str:
    """Return UTF-8 text with line feeds alone, without a byte order mark.

    Raises UnreadableError.
    """
    return _decode(read_bytes(revision, path), path)


def read_bytes(revision: Revision, path: str) -> bytes:
    """Return the content of a file. Raises UnreadableError."""
    entry = revision.entries.get(path)
    if entry is None:
        raise _missing(revision, path)
    if entry.kind == "symlink":
        fix = "use the path that the link points to; gatekeeper does not follow links"
        raise UnreadableError(f"`{path}` is a symbolic link", fix)
    if entry.kind == "submodule":
        fix = "use the path of a file in this repository"
        raise UnreadableError(f"`{path}` is a submodule", fix)
    try:
        content = revision.read(path)
    except FileNotFoundError:
        raise _missing(revision, path) from None
    except FileTooLargeError:
        raise _too_large(path) from None
    refuse_lfs_pointer(content, path)
    if len(content) > MAX_BYTES:
        raise _too_large(path)
    return content


def require_text(revision: Revision, path: str) -> str:
    """Return the text of a file, as `read_text` does. Raises ContractError."""
    try:
        return read_text(revision, path)
    except UnreadableError as error:
        raise ContractError([Problem(path, error.what, error.fix, error.line)]) from None


def _too_large(path: str) -> UnreadableError:
    fix = "split the file, or keep less in the file"
    return UnreadableError(f"`{path}` is larger than {MAX_BYTES // 1_000_000} MB", fix)


def refuse_lfs_pointer(content: bytes, path: str) -> None:
    """Raise UnreadableError if the file is a pointer to content that is stored elsewhere."""
    if content.startswith(_LFS_POINTER):
        fix = (
            f"store the file in git itself with `git lfs untrack '{path}'` and `git add "
            f"--renormalize '{path}'`, then commit; gatekeeper downloads nothing from "
            "Git LFS"
        )
        raise UnreadableError(f"`{path}` is a Git LFS pointer, not the file's content", fix)


def _decode(content: bytes, path: str) -> str:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        offset = error.start + (3 if content.startswith(b"\xef\xbb\xbf") else 0)
        line = content.count(b"\n", 0, offset) + 1
        what = f"`{path}` is not UTF-8: byte 0x{content[offset]:02x} at offset {offset}"
        raise UnreadableError(what, "save the file as UTF-8", line) from None
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _missing(revision: Revision, path: str) -> UnreadableError:
    entries = revision.entries
    moved = renamed_to(revision, path)
    if moved is not None:
        fix = f"name `{moved}`, as this change renamed the file"
        return UnreadableError(f"there is no file `{path}`", fix)
    for parent in _parents(path):
        entry = entries.get(parent)
        if entry is not None and entry.kind != "file":
            kind = "submodule" if entry.kind == "submodule" else "symbolic link"
            fix = "use the path of a file that is in this repository itself"
            return UnreadableError(f"`{path}` is inside the {kind} `{parent}`", fix)
    if any(known.startswith(f"{path}/") for known in entries):
        return UnreadableError(f"`{path}` is a folder", "name a file in it")
    name = posixpath.basename(path).lower()
    near = sorted(known for known in entries if posixpath.basename(known).lower() == name)
    fix = f"did you mean `{near[0]}`?" if near else "add the file, or correct the path"
    return UnreadableError(f"there is no file `{path}`", fix)


def _parents(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[:end]) for end in range(1, len(parts))]
