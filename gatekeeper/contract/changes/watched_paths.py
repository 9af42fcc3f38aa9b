"""Finds what replaced a prompt that a contract of the base branch names.

A program that reads `prompts/a.md` follows symbolic links and submodules. The gate does not. A path
that leads through one may therefore give the program another prompt than the one that was tested.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

from gatekeeper.contract.values.change import Entry

_KINDS = {"symlink": "symbolic link", "submodule": "submodule"}


@dataclass(frozen=True)
class WatchedPaths:
    """The paths of a pull request's head, to find what is now at a path of its base."""

    entries: Mapping[str, Entry]

    def replacement(self, path: str, known: str | None = None) -> str | None:
        """Describe what a program finds at the path instead of a regular file of that name.

        None if the path is a regular file, or if nothing is there. Letter case and the form of
        accents do not count: file systems of macOS and Windows do not tell them apart. The file
        `known` is left out, because it is watched under its own name.
        """
        entry = self.entries.get(path)
        if entry is not None and entry.kind == "file":
            return None
        folded = _folded(path)
        for part in accumulate(folded.split("/"), "{}/{}".format):
            for name in self._links.get(part, ()):
                kind = _KINDS[self.entries[name].kind]
                place = "now a" if part == folded else f"reached through `{name}`, now a"
                return f"{place} {kind}"
        if folded in self._folders:
            return "now a folder"
        others = [name for name in self._files.get(folded, ()) if name != known]
        return f"now `{others[0]}`, which differs only in upper and lower case" if others else None

    @staticmethod
    def is_same_name(path: str, other: str) -> bool:
        """Return whether the paths differ at most in letter case and in the form of accents."""
        return _folded(path) == _folded(other)

    @cached_property
    def _links(self) -> Mapping[str, list[str]]:
        return _by_folded(path for path, entry in self.entries.items() if entry.kind != "file")

    @cached_property
    def _files(self) -> Mapping[str, list[str]]:
        return _by_folded(path for path, entry in self.entries.items() if entry.kind == "file")

    @cached_property
    def _folders(self) -> frozenset[str]:
        parts = (_folded(path).rpartition("/")[0] for path in self.entries)
        return frozenset(
            folder
            for parent in set(parts)
            for folder in accumulate(parent.split("/"), "{}/{}".format)
        )


def _by_folded(paths: Iterable[str]) -> Mapping[str, list[str]]:
    found: dict[str, list[str]] = {}
    for path in paths:
        found.setdefault(_folded(path), []).append(path)
    return found


def _folded(path: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", path).casefold())
