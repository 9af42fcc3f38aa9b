"""What git says about two trees, applied to the first, gives the second."""

from __future__ import annotations

import os

from hypothesis import given
from hypothesis import strategies as st

from gatekeeper.contract.values.change import Entry, EntryKind
from gatekeeper.git.objects import Difference

MODES: dict[EntryKind, str] = {"file": "100644", "symlink": "120000", "submodule": "160000"}
paths = st.binary(min_size=1, max_size=8).filter(lambda raw: b"\0" not in raw).map(os.fsdecode)
entries = st.builds(
    Entry, st.text("0123456789abcdef", min_size=40, max_size=40), st.sampled_from(list(MODES))
)
trees = st.dictionaries(paths, entries, max_size=8)


def raw(path: str, old: Entry | None, new: Entry | None, status: str) -> bytes:
    modes = " ".join(MODES[entry.kind] if entry else "000000" for entry in (old, new))
    names = " ".join(entry.id if entry else "0" * 40 for entry in (old, new))
    return f":{modes} {names} {status}\0".encode() + os.fsencode(path) + b"\0"


def described(base: dict[str, Entry], head: dict[str, Entry]) -> bytes:
    """The lines of `git diff-tree --raw -z`, in the order of git: by path."""
    lines = []
    for path in sorted(base.keys() | head.keys(), key=os.fsencode):
        old, new = base.get(path), head.get(path)
        if old != new:
            status = "D" if new is None else "A" if old is None else "M"
            lines.append(raw(path, old, new, status))
    return b"".join(lines)


@given(base=trees, head=trees)
def test_difference_turns_base_into_head(base: dict[str, Entry], head: dict[str, Entry]) -> None:
    difference = Difference.parse(described(base, head))
    assert difference.apply(base) == head
    assert not difference.renames


@given(base=trees, old=paths, new=paths, entry=entries)
def test_a_rename_moves_the_entry(base: dict[str, Entry], old: str, new: str, entry: Entry) -> None:
    before = base | {old: Entry("0" * 40)}
    line = raw(old, before[old], entry, "R087") + os.fsencode(new) + b"\0"
    difference = Difference.parse(line)
    assert difference.renames == {old: new}
    expected = {path: there for path, there in before.items() if path != old} | {new: entry}
    assert difference.apply(before) == expected
