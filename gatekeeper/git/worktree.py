"""The work tree as a revision: the files as they stand, committed or not."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from gatekeeper.contract.values.change import Change, Entry, FileTooLargeError
from gatekeeper.git.command import GitCommand
from gatekeeper.git.objects import (
    MOST_BYTES,
    CommitRevision,
    Difference,
    Objects,
    blob_id,
    kind,
    records,
    regular_file,
)

_STATUS = ("status", "--porcelain=v1", "-z", "-uall", "--no-renames", "--ignore-submodules=all")


@dataclass(frozen=True)
class WorktreeRevision:
    """The files as they stand, committed or not; `on_disk` differ from the index, and
    `find_renames` finds those since a commit, if there is one to compare with."""

    entries: Mapping[str, Entry]
    objects: Objects = field(repr=False, compare=False)
    root: Path
    on_disk: frozenset[str]
    sha: str = "worktree"
    find_renames: Callable[[], Mapping[str, str]] = field(default=dict, repr=False, compare=False)

    @cached_property
    def renames(self) -> Mapping[str, str]:
        """Map earlier paths to later ones."""
        return self.find_renames()

    def read(self, path: str) -> bytes:
        """Return the content that a commit of the file would store now."""
        entry = regular_file(self.entries, path)
        if path not in self.on_disk:
            return self.objects.blob(path, entry.id)
        size = (self.root / path).stat().st_size
        if size > MOST_BYTES:
            raise FileTooLargeError(path, size)
        content = (self.root / path).read_bytes()
        # Where git is set to store LF for CRLF, both sides are to be read with LF.
        unix = content.replace(b"\r\n", b"\n")
        algorithm = "sha256" if len(entry.id) == 64 else "sha1"
        return unix if blob_id(unix, algorithm) == entry.id else content

    def prefetch(self, paths: Iterable[str]) -> None:
        """Read at once the regular files among the paths that are unchanged since the commit."""
        found = (self.entries.get(path) for path in paths if path not in self.on_disk)
        self.objects.prefetch(entry.id for entry in found if entry and entry.kind == "file")


def worktree_change(git: GitCommand, objects: Objects, root: Path, base: str) -> Change:
    """Return the change of the work tree below `root` against the commit `base`."""
    origin = CommitRevision(base, objects)
    head = with_renames(git, read_worktree(git, objects, root), lambda: base)
    return Change(origin, head, head.renames)


def with_renames(
    git: GitCommand, head: WorktreeRevision, find_base: Callable[[], str | None]
) -> WorktreeRevision:
    """Return the work tree with the renames since the commit, which is looked for when someone asks
    for them."""

    def renames() -> Mapping[str, str]:
        base = find_base()
        if base is None:
            return {}
        options = ("--raw", "-z", "-M", "-l400", "--no-abbrev", "--ignore-submodules=all")
        tracked = Difference.parse(git.run("diff-index", *options, base)).renames
        moved = {old: new for old, new in tracked.items() if new in head.entries}
        before = CommitRevision(base, head.objects).entries
        return _untracked_renames(before, head.entries) | moved

    return replace(head, find_renames=renames)


def has_changes(git: GitCommand) -> bool:
    """Return whether the index or a file differs from the last commit. A new file does, unless git
    ignores it."""
    return bool(git.run(*_STATUS))


def read_worktree(git: GitCommand, objects: Objects, root: Path) -> WorktreeRevision:
    """Return the files below `root` as they are now, without ignored ones."""
    entries: dict[str, Entry] = {}
    for record in records(git.run("ls-files", "-s", "-z")):
        about, path = record.split("\t", 1)
        mode, name, _ = about.split(" ")
        entries[path] = Entry(name, kind(mode))
    listing = records(git.run(*_STATUS))
    # `XY path`: Y tells the work tree from the index, and the index is what was listed.
    touched = [record[3:] for record in listing if record[1] != " "]
    known = set(touched)
    touched += [path for path in _skipped(git) if path not in known and _type(root / path)]
    for path in touched:
        entries.pop(path, None)
    files = [path for path in touched if _type(root / path) == stat.S_IFREG]
    entries |= {path: Entry(name) for path, name in zip(files, _hash(git, files), strict=True)}
    for path in (path for path in touched if _type(root / path) == stat.S_IFLNK):
        target = os.fsencode((root / path).readlink())
        entries[path] = Entry(blob_id(target, git.object_format()), "symlink")
    return WorktreeRevision(entries, objects, root, frozenset(files))


def _skipped(git: GitCommand) -> Iterator[str]:
    """Yield the files that git was told not to look at (`skip-worktree`, `assume-unchanged`), so
    that their changes are in no listing."""
    for record in records(git.run("ls-files", "-v", "-z")):
        if record[0] == "S" or record[0].islower():
            yield record[2:]


def _type(file: Path) -> int | None:
    try:
        return stat.S_IFMT(file.lstat().st_mode)
    except OSError:
        return None


def _hash(git: GitCommand, paths: Sequence[str]) -> list[str]:
    """Return the names under which the files would be stored, after the filters that git is
    configured to use."""
    # The list is a line a path, unquoted where it starts with a quote.
    odd = [path for path in paths if "\n" in path or path.startswith('"')]
    plain = [path for path in paths if path not in set(odd)]
    names = {path: git.run("hash-object", "--", path).decode().strip() for path in odd}
    if plain:
        output = git.run("hash-object", "--stdin-paths", lines=plain)
        names |= zip(plain, output.decode().split(), strict=True)
    return [names[path] for path in paths]


def _untracked_renames(base: Mapping[str, Entry], head: Mapping[str, Entry]) -> dict[str, str]:
    """Return renames that git does not look for: the same content, at a path that is not yet
    added."""
    appeared = {entry: path for path, entry in head.items() if path not in base}
    gone = {entry: path for path, entry in base.items() if path not in head}
    return {path: appeared[entry] for entry, path in gone.items() if entry in appeared}
