"""Finds what a change does to the promises of prompts. Reads both revisions, and calls no model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from posixpath import dirname, join

from gatekeeper.author.specification.prompt_lines import match_lines
from gatekeeper.author.specification.spec_file import (
    InputConstraint,
    Rule,
    Specification,
    read_specification,
)
from gatekeeper.contract.prompts.reference import prompt_file
from gatekeeper.contract.reading.read import UnreadableError, read_text, require_text
from gatekeeper.contract.reading.specification_path import is_specification
from gatekeeper.contract.values.change import Change, FileTooLargeError, Revision
from gatekeeper.errors import ContractError
from gatekeeper.gate.results.author_results import Promises, PromptPromises, Reworded

_MOST_SPECIFICATIONS = 50
"""Of one change. A pull request can add any number of them."""
_MOST_BYTES, _MOST_BYTES_TOGETHER = 200_000, 1_000_000
"""Of a specification and of all that are compared, because reading them takes time. One of 50 rules
has about 20,000."""


def promises_of_change(change: Change) -> tuple[tuple[PromptPromises, ...], tuple[str, ...]]:
    """Return what changed of each specification whose prompt or file the change touches, and a
    notice for each that cannot be read."""
    found, notices = [], []
    touched = _touched(change)
    left = _MOST_BYTES_TOGETHER
    for path in touched[:_MOST_SPECIFICATIONS]:
        size = _size(change, path)
        if size > min(left, _MOST_BYTES):
            notices.append(
                f"{path}: the promises cannot be compared, because the file is too large"
            )
            continue
        left -= size
        try:
            promises = _promises(change, path)
        except ContractError as error:
            problem = error.problems[0]
            notices.append(f"{problem.path}: the promises cannot be compared: {problem.what}")
            continue
        if promises is not None:
            found.append(promises)
    if len(touched) > _MOST_SPECIFICATIONS:
        more = len(touched) - _MOST_SPECIFICATIONS
        notices.append(f"gatekeeper did not compare the promises of {more:,} more specifications.")
    return tuple(found), tuple(notices)


def _touched(change: Change) -> list[str]:
    """Return the specifications that the change touches, or in whose folder it touches a file: a
    prompt is beside its specification."""
    before, after = change.base.entries, change.head.entries
    paths = {*before, *after}
    specifications = sorted(filter(is_specification, paths))
    if not specifications:
        return []
    changed = {path for path in paths if before.get(path) != after.get(path)}
    folders = set(map(dirname, changed))
    return [path for path in specifications if dirname(path) in folders]


def _size(change: Change, path: str) -> int:
    """Return the bytes of the specification that have to be read. What cannot be read has none:
    reading it says why."""
    sizes = {}
    for side in (change.base, change.head):
        entry = side.entries.get(path)
        if entry is not None and entry.kind == "file":
            with suppress(FileTooLargeError, FileNotFoundError):
                sizes[entry.id] = len(side.read(path))
    return sum(sizes.values())


def _promises(change: Change, path: str) -> PromptPromises | None:
    before = _read(change.base, path)
    is_same = change.base.entries.get(path) == change.head.entries.get(path)
    after = before if is_same else _read(change.head, path)
    known = after or before
    if known is None:
        return None
    reference = join(dirname(path), known.prompt)
    if before is None:
        rules = compare_items((), known.rules)
        return PromptPromises(reference, path, "added", rules)
    if after is None:
        if prompt_file(reference) not in change.head.entries:
            return None  # the prompt is gone, too
        rules = compare_items(before.rules, ())
        return PromptPromises(reference, path, "removed", rules)
    if not is_same:
        rules, inputs = (
            compare_items(before.rules, after.rules),
            compare_items(before.input, after.input),
        )
        if not rules.changed and not inputs.changed:
            return None
        return PromptPromises(reference, path, "changed", rules, inputs)
    lines = changed_lines(*(_lines(side, reference) for side in (change.base, change.head)))
    unsettled = rules_on(after.rules, lines)
    if not unsettled:
        return None
    texts = tuple(" ".join(rule.text.split()) for rule in unsettled)
    return PromptPromises(reference, path, "outdated", unsettled=texts)


def _read(revision: Revision, path: str) -> Specification | None:
    if path not in revision.entries:
        return None
    return read_specification(require_text(revision, path), path)


def _lines(revision: Revision, reference: str) -> list[str]:
    """Return the lines of the prompt's file; none if it cannot be read, which the check reports."""
    try:
        return read_text(revision, prompt_file(reference)).split("\n")
    except UnreadableError:
        return []


def changed_lines(before: Sequence[str], after: Sequence[str]) -> frozenset[int]:
    """Return the lines of `before`, counted from 1, that are not in `after` as they were. A line
    that moved is there."""
    there = match_lines(before, after)
    return frozenset(place + 1 for place in range(len(before)) if place not in there)


def rules_on(rules: Iterable[Rule], lines: frozenset[int]) -> tuple[Rule, ...]:
    """Return the rules that follow from one of the lines."""
    return tuple(rule for rule in rules if not lines.isdisjoint(rule.lines))


def compare_items(
    before: Sequence[Rule | InputConstraint], after: Sequence[Rule | InputConstraint]
) -> Promises:
    """Return the rules, or the input constraints, that were added, dropped or reworded."""
    old = {item.id: _said(item.text) for item in before}
    new = {item.id: _said(item.text) for item in after}
    known, now = frozenset(old.values()), frozenset(new.values())
    return Promises(
        # A sentence under another id is still the same promise.
        tuple(text for name, text in new.items() if name not in old and text not in known),
        tuple(text for name, text in old.items() if name not in new and text not in now),
        tuple(
            Reworded(old[name], text)
            for name, text in new.items()
            if name in old and old[name] != text
        ),
    )


def _said(text: str) -> str:
    return " ".join(text.split())
