"""What a merge would make: the branch to merge into, with what head changed since it parted.

Nothing is written to the repository. Files that both sides changed are merged by git, as text. If
their changes are in conflict, head's version stands, and the change names the file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from gatekeeper.contract.values.change import Change, Entry, Revision, prefetch
from gatekeeper.git.command import GitCommand
from gatekeeper.git.objects import MOST_BYTES_AHEAD, blob_id, regular_file
from gatekeeper.git.temporary import temporary_folder


@dataclass(frozen=True, eq=False)
class MergedRevision:
    """The files after the merge. `joined` are those that git merged; `kept` maps a path to the one
    at head that it is read from, and all others are read from the branch to merge into. `renames`
    are those of both sides."""

    head: Revision
    into: Revision
    entries: Mapping[str, Entry]
    kept: Mapping[str, str]
    joined: Mapping[str, bytes] = field(repr=False)
    renames: Mapping[str, str] = field(default_factory=dict)

    @property
    def sha(self) -> str:
        """The name of head's commit."""
        return self.head.sha

    def read(self, path: str) -> bytes:
        """Return the content of a regular file after the merge."""
        regular_file(self.entries, path)
        if path in self.joined:
            return self.joined[path]
        return self.head.read(self.kept[path]) if path in self.kept else self.into.read(path)

    def prefetch(self, paths: Iterable[str]) -> None:
        """Read the files that will be read next."""
        wanted = [path for path in paths if path not in self.joined]
        prefetch(self.head, [self.kept[path] for path in wanted if path in self.kept])
        prefetch(self.into, [path for path in wanted if path not in self.kept])


def merged_change(git: GitCommand, ours: Change, theirs: Change) -> Change:
    """Return the change that merging makes. `ours` is what head changed since it parted, and
    `theirs` what the branch to merge into did since then."""
    merge = _Merge(git, ours, theirs)
    for place in merge.places():
        merge.take(place)
    renames = {**theirs.renames, **ours.renames, **merge.renames}
    sides = ours.head, theirs.head
    merged = MergedRevision(*sides, merge.entries, merge.kept, merge.joined, renames)
    return Change(theirs.head, merged, merge.renames, tuple(sorted(merge.conflicts)))


class _Place(NamedTuple):
    """A file that head changed: its path where both sides parted, and that on each side."""

    before: str
    theirs: str
    ours: str


class _Merge:
    """The merge of one file after the other."""

    def __init__(self, git: GitCommand, ours: Change, theirs: Change) -> None:
        self._git, self._ours, self._theirs = git, ours, theirs
        self._sides = ours.base, theirs.head, ours.head
        self.entries = dict(theirs.head.entries)
        self.kept: dict[str, str] = {}
        self.joined: dict[str, bytes] = {}
        self.renames: dict[str, str] = {}
        self.conflicts: set[str] = set()

    def places(self) -> Iterator[_Place]:
        """Yield every file that head changed."""
        before, now = self._ours.base.entries, self._ours.head.entries
        renamed = self._ours.renames
        for path in sorted(before.keys() | now.keys() - {*renamed.values()}):
            new = renamed.get(path, path)
            if path != new or before.get(path) != now.get(path):
                theirs = self._theirs.renames.get(path, path) if path in before else path
                yield _Place(path, theirs, new)

    def take(self, place: _Place) -> None:
        """Put head's change of the file on top of what the branch to merge into has."""
        before, theirs, ours = (
            side.entries.get(path) for side, path in zip(self._sides, place, strict=True)
        )
        moved = place.ours != place.before
        path = place.ours if moved or ours is None else place.theirs
        taken = self.entries.pop(place.theirs, None)
        if moved and path in self.entries and path != place.theirs:
            self.conflicts.add(path)
        if ours is None:
            if taken not in (None, before):
                self.conflicts.add(path)
            return
        if theirs not in (before, ours):
            joined = self._join(place)
            if joined is None:
                self.conflicts.add(path)
            else:
                self.joined[path] = joined
                ours = Entry(blob_id(joined, "sha256" if len(ours.id) == 64 else "sha1"))
        if moved and taken:
            self.renames[place.theirs] = path
        self.entries[path] = ours
        self.kept[path] = place.ours

    def _join(self, place: _Place) -> bytes | None:
        """Return the file with the changes of both sides; None if they are in conflict."""
        found = [side.entries.get(path) for side, path in zip(self._sides, place, strict=True)]
        if any(entry is None or entry.kind != "file" for entry in found):
            return None
        contents = [side.read(path) for side, path in zip(self._sides, place, strict=True)]
        if max(map(len, contents)) > MOST_BYTES_AHEAD:
            return None
        with temporary_folder() as folder:
            files = [folder / name for name in ("before", "theirs", "ours")]
            for file, content in zip(files, contents, strict=True):
                file.write_bytes(content)
            before, theirs, ours = map(str, files)
            status, output, _ = self._git.attempt("merge-file", "-p", "-q", theirs, before, ours)
        return None if status else output
