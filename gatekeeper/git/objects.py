"""git's objects as revisions: what a commit lists, and the content of its files."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from gatekeeper.contract.values.change import Change, Entry, EntryKind, FileTooLargeError
from gatekeeper.errors import MeasurementError
from gatekeeper.git.command import GitCommand

# Partial clones: contents that were left out are fetched together, not one by one.
#
# git itself fetches each when it is read: a second for each of hundreds of contracts.


_PROMISOR = re.compile(rb"remote\.(.*)\.promisor true")


def fetch_left_out(git: GitCommand, names: Sequence[str]) -> None:
    """Fetch those of the blobs that a partial clone left out; do nothing in any other clone.

    A blob that cannot be fetched causes an error when it is read.
    """
    _, output, _ = git.attempt("config", "--bool", "--get-regexp", r"^remote\..*\.promisor$")
    found = _PROMISOR.match(output)
    if found is None:
        return
    # Without --missing git would fetch the objects in question.
    options = ("--objects", "--no-object-names", "--no-walk", "--ignore-missing")
    _, here, _ = git.attempt("rev-list", *options, "--missing=allow-any", "--stdin", lines=names)
    missing = sorted(set(names) - set(here.decode().split()))
    if not missing:
        return
    # As git does it: without saying what is here, or the remote would leave out again what
    # belongs to a commit that is here.
    quiet = ("--quiet", "--no-tags", "--no-write-fetch-head", "--recurse-submodules=no")
    git.attempt(
        "fetch", *quiet, "--filter=blob:none", "--stdin", "--", found[1].decode(),
        lines=missing, option="fetch.negotiationAlgorithm=noop",
    )  # fmt: skip


MOST_BYTES = 100_000_000
"""Of one file. A recording of 50,000 answers has less."""
MOST_BYTES_AHEAD = 1_000_000
"""The most bytes of a file that is read in advance."""
MOST_BYTES_HELD = 500_000_000
"""The most bytes of all files that are read from a repository, because each stays in memory."""


def text(raw: bytes) -> str:
    """Decode git's paths, which are bytes; those that are not UTF-8 are restored when encoded."""
    return raw.decode("utf-8", "surrogateescape")


def records(output: bytes) -> list[str]:
    """Split git's output with -z, in which no path needs quoting."""
    return [text(record) for record in output.split(b"\0") if record]


def kind(mode: str) -> EntryKind:
    """Return what git's octal file mode stands for."""
    if mode == "120000":
        return "symlink"
    return "submodule" if mode == "160000" else "file"


def blob_id(content: bytes, algorithm: str) -> str:
    """Return the name that git gives to a blob."""
    # git's name for a blob, not a signature: https://git-scm.com/book/en/v2/Git-Internals-Git-Objects
    digest = hashlib.new(algorithm, b"blob %d\0" % len(content), usedforsecurity=False)
    digest.update(content)
    return digest.hexdigest()


@dataclass(frozen=True, slots=True)
class Difference:
    """The differences between the entries of two revisions."""

    removed: tuple[str, ...] = ()
    put: Mapping[str, Entry] = field(default_factory=dict)
    renames: Mapping[str, str] = field(default_factory=dict)

    def apply(self, entries: Mapping[str, Entry]) -> Mapping[str, Entry]:
        """Return the entries of the other revision."""
        if not self.removed and not self.put:
            return entries
        gone = set(self.removed)
        kept = {path: entry for path, entry in entries.items() if path not in gone}
        return kept | dict(self.put)

    @classmethod
    def parse(cls, output: bytes) -> Difference:
        """Parse the output of `git diff-tree --raw -z`:

        `:mode mode id id status NUL path NUL [path NUL]`.
        """
        listing = iter(records(output))
        removed: list[str] = []
        put: dict[str, Entry] = {}
        renames: dict[str, str] = {}
        for record in listing:
            _, mode, _, name, status = record.split(" ")
            path = next(listing)
            if status == "D":
                removed.append(path)
                continue
            if status.startswith("R"):
                removed.append(path)
                renames[path] = path = next(listing)
            put[path] = Entry(name, kind(mode))
        return cls(tuple(removed), put, renames)


@dataclass(frozen=True)
class CommitRevision:
    """A commit, read from git objects on demand. Implements `Revision`."""

    sha: str
    objects: Objects = field(repr=False, compare=False)
    origin: CommitRevision | None = field(default=None, repr=False, compare=False)
    difference: Difference = field(default=Difference(), repr=False, compare=False)

    @cached_property
    def entries(self) -> Mapping[str, Entry]:
        """Return every path of the commit. Two commits with few differences are listed once."""
        if self.origin is not None:
            return self.difference.apply(self.origin.entries)
        return self.objects.tree(self.sha)

    @property
    def renames(self) -> Mapping[str, str]:
        """Map paths of the origin to those that the commit gives the files."""
        return self.difference.renames

    def read(self, path: str) -> bytes:
        """Return the content of a regular file as it was committed."""
        return self.objects.blob(path, regular_file(self.entries, path).id)

    def prefetch(self, paths: Iterable[str]) -> None:
        """Read the regular files among the paths at once."""
        found = (self.entries.get(path) for path in paths)
        self.objects.prefetch(entry.id for entry in found if entry and entry.kind == "file")


def regular_file(entries: Mapping[str, Entry], path: str) -> Entry:
    """Return the entry of a file that has content. Raises FileNotFoundError for anything else."""
    entry = entries.get(path)
    if entry is None or entry.kind != "file":
        raise FileNotFoundError(path)
    return entry


class Objects:
    """Lists commits and reads blobs, each once."""

    def __init__(self, git: GitCommand) -> None:
        self._git = git
        self._blobs: dict[str, bytes] = {}
        self._held = 0

    def between(self, base: str, head: str) -> Change:
        """Return two commits; the second is listed by its differences from the first."""
        # -l bounds the time spent on inexact renames; exact ones are always found.
        options = ("-r", "-z", "-M", "-l400", "--no-abbrev", "--ignore-submodules=none")
        output = self._git.run("diff-tree", "--raw", *options, "--no-ext-diff", base, head)
        difference = Difference.parse(output)
        origin = CommitRevision(base, self)
        return Change(origin, CommitRevision(head, self, origin, difference), difference.renames)

    def tree(self, sha: str) -> Mapping[str, Entry]:
        """Return every path of a commit."""
        entries: dict[str, Entry] = {}
        for record in records(self._git.run("ls-tree", "-r", "-z", "--full-tree", sha)):
            about, path = record.split("\t", 1)
            mode, _, name = about.split(" ")
            entries[path] = Entry(name, kind(mode))
        return entries

    def blob(self, path: str, name: str) -> bytes:
        """Return the content of the blob `name`; `path` is for messages."""
        if name not in self._blobs:
            self._keep({name: self._read(path, name)})
        return self._blobs[name]

    def _keep(self, blobs: Mapping[str, bytes]) -> None:
        self._held += sum(map(len, blobs.values()))
        if self._held > MOST_BYTES_HELD:
            # Not the author's mistake in any one file, and never a reason to leave base's out.
            raise MeasurementError(
                "the prompts, contracts and fixtures of this change take more "
                f"than {MOST_BYTES_HELD // 1_000_000} MB together; make the files "
                "or the change smaller"
            )
        self._blobs |= blobs

    def prefetch(self, names: Iterable[str]) -> None:
        """Read the blobs that are not known yet, by one process.

        For a blob that cannot be read, `blob` raises an error with its path.
        """
        wanted = [name for name in dict.fromkeys(names) if name not in self._blobs]
        if len(wanted) < 2:
            return
        fetch_left_out(self._git, wanted)
        sizes = self._git.sizes(wanted)
        room = MOST_BYTES_HELD - self._held
        ahead = []
        for name in wanted:
            room -= sizes.get(name, 0)
            if sizes.get(name, 0) <= MOST_BYTES_AHEAD and room >= 0:
                ahead.append(name)
        self._keep(self._git.blobs(ahead))

    def _read(self, path: str, name: str) -> bytes:
        content = self._git.blob(name, MOST_BYTES)
        if isinstance(content, int):
            raise FileTooLargeError(path, content)
        if content is None:
            raise MeasurementError(
                f"{path}: its content ({name}) is not in this clone and could not be fetched; "
                "clone without --filter, or fetch the content yourself"
            )
        return content
