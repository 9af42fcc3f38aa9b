"""Finds the calibration files that a pull request adds, changes or removes.

A calibration corrects what judges say, so labels that nobody gave can make an objective look met.
The change itself is decided by the calibrations of the base branch; its own count after the merge.
"""

from __future__ import annotations

from collections.abc import Iterator

from gatekeeper.contract.checks.judge_calibration import SUFFIX
from gatekeeper.contract.values.change import Change
from gatekeeper.contract.weakening.policy_weakening import Weakening

_OF_CONTRACTS = (".yaml", ".yml", ".json")


def calibration_weakenings(change: Change) -> tuple[Weakening, ...]:
    """Return each calibration of a contract of base that the change adds, changes or removes."""
    return tuple(
        Weakening(path, text, what="The calibration of judges changes")
        for path, text in _changed(change)
        if _is_at_base(change, path)
    )


def brought_calibrations(change: Change) -> tuple[str, ...]:
    """Return a notice for each calibration of a contract that base does not have: it counts in this
    run, because there is no other."""
    return tuple(
        (
            f"The change adds or edits the calibration {path}. Check that people, not a model, "
            "wrote the labels in this file."
        )
        for path, _ in _changed(change)
        if not _is_at_base(change, path)
    )


def _changed(change: Change) -> Iterator[tuple[str, str]]:
    before, now = change.base.entries, change.head.entries
    named = {path for entries in (before, now) for path in entries if path.endswith(SUFFIX)}
    for path in sorted(named):
        if path not in now:
            yield path, "was removed"
        elif path not in before:
            yield path, "was added"
        elif before[path] != now[path]:
            yield path, "has other labels or verdicts than on base"


def _is_at_base(change: Change, path: str) -> bool:
    """Return whether base has the calibration or a contract that it may belong to. A contract that
    is a part of a file of another tool has the part's name in the path too."""
    stem = path.removesuffix(SUFFIX)
    folder, _, name = stem.rpartition("/")
    parts = name.split(".")
    stems = (f"{folder}/{'.'.join(parts[:n])}".lstrip("/") for n in range(1, len(parts) + 1))
    files = {f"{found}{suffix}" for found in stems for suffix in _OF_CONTRACTS}
    return path in change.base.entries or bool(files & change.base.entries.keys())
