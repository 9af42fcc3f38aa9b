"""Two revisions of a repository as read-only values, independent of git."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, Protocol

EntryKind = Literal["file", "symlink", "submodule"]
PathChange = Literal["modified", "added", "deleted", "renamed"]


@dataclass(frozen=True, slots=True)
class Entry:
    """One path of a revision. `id` is the same exactly when the content is the same."""

    id: str
    kind: EntryKind = "file"


class FileTooLargeError(Exception):
    """A file of a revision that is too large to be read. `size` in bytes."""

    def __init__(self, path: str, size: int) -> None:
        super().__init__(f"{path}: {size:,} bytes")
        self.path, self.size = path, size


class Revision(Protocol):
    """A revision of the repository: a commit, or the work tree."""

    @property
    def sha(self) -> str:
        """The commit's full hexadecimal name; `worktree` for uncommitted files."""
        ...

    @property
    def entries(self) -> Mapping[str, Entry]:
        """Map every path from the repository root, with forward slashes, to its entry."""
        ...

    def read(self, path: str) -> bytes:
        """Return the content of a regular file.

        Raises FileNotFoundError for anything else, and FileTooLargeError.
        """
        ...


def prefetch(revision: Revision, paths: Iterable[str]) -> None:
    """Prefetch the files that will be read next, if the revision reads many files in less time than
    one after the other."""
    read = getattr(revision, "prefetch", None)
    if read is not None:
        read(paths)


def _renames_of(revision: Revision) -> Mapping[str, str]:
    """Return the later paths of files by the earlier ones, if the revision knows what the change
    that led to it renamed."""
    renames: Mapping[str, str] = getattr(revision, "renames", {})
    return renames


def renamed_to(revision: Revision, path: str) -> str | None:
    """Return the path that a missing file has in the revision by git's renames; None if none is
    known. Two branches can rename a file one after the other."""
    renames = _renames_of(revision)
    seen = {path}
    while path in renames and renames[path] not in seen:
        path = renames[path]
        seen.add(path)
        if path in revision.entries:
            return path
    return None


@dataclass
class ReadFiles:
    """A revision that remembers which of its files were read."""

    revision: Revision
    paths: set[str] = field(default_factory=set)

    @property
    def sha(self) -> str:
        """The name of the revision."""
        return self.revision.sha

    @property
    def entries(self) -> Mapping[str, Entry]:
        """Every path of the revision."""
        return self.revision.entries

    @property
    def renames(self) -> Mapping[str, str]:
        """Map earlier paths of the revision to later ones."""
        return _renames_of(self.revision)

    def read(self, path: str) -> bytes:
        """Return the content of a file, and remember that it was read."""
        self.paths.add(path)
        return self.revision.read(path)


@dataclass(frozen=True)
class MemoryRevision:
    """A revision made of a dictionary, for tests and for files that are in no repository."""

    files: Mapping[str, bytes]
    sha: str = "memory"

    @cached_property
    def entries(self) -> Mapping[str, Entry]:
        return {
            path: Entry(hashlib.sha256(content).hexdigest()) for path, content in self.files.items()
        }

    def read(self, path: str) -> bytes:
        try:
            return self.files[path]
        except KeyError:
            raise FileNotFoundError(path) from None


@dataclass(frozen=True)
class Overlay:
    """A revision as if these texts, by their paths, stood in it too."""

    below: Revision
    texts: Mapping[str, str]
    sha: str = "proposed"

    @cached_property
    def entries(self) -> Mapping[str, Entry]:
        own = MemoryRevision({path: text.encode() for path, text in self.texts.items()})
        return {**self.below.entries, **own.entries}

    def read(self, path: str) -> bytes:
        """Return the content of a file. Raises FileNotFoundError and FileTooLargeError."""
        text = self.texts.get(path)
        return self.below.read(path) if text is None else text.encode()


@dataclass(frozen=True, slots=True)
class Change:
    """What merging a pull request changes. `base` is the tip of the branch to merge into, and
    `head` what it would be after the merge. Where the pull request started is of no importance: its
    author chose it, and the contracts and the policy of that commit may be looser.

    `renames` maps a path at base to its path at head. `conflicts` are files that both sides changed
    and that cannot be merged; head has the pull request's version.
    """

    base: Revision
    head: Revision
    renames: Mapping[str, str] = field(default_factory=dict)
    conflicts: tuple[str, ...] = ()

    @property
    def changed(self) -> set[str]:
        """Return the paths whose entries differ, or that only one side has."""
        before, now = self.base.entries, self.head.entries
        return {path for path in before.keys() | now.keys() if before.get(path) != now.get(path)}


@dataclass(frozen=True, slots=True)
class AffectedBy:
    """One changed path of a contract's dependency closure: why the contract runs."""

    path: str
    change: PathChange
