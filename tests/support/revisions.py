"""Revisions and changes that are held in memory, from texts by path."""

from __future__ import annotations

from collections.abc import Mapping

from gatekeeper.contract.values.change import Change, MemoryRevision


def revision(files: Mapping[str, str], sha: str = "") -> MemoryRevision:
    contents = {path: text.encode() for path, text in files.items()}
    return MemoryRevision(contents, sha) if sha else MemoryRevision(contents)


def change(
    base: Mapping[str, str], head: Mapping[str, str], renames: Mapping[str, str] | None = None
) -> Change:
    return Change(revision(base, "base"), revision(head, "head"), renames or {})
