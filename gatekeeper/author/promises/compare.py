"""Compares two specifications of one prompt."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher

from gatekeeper.author.specification.records import (
    InputConstraint,
    Rule,
    Specification,
)
from gatekeeper.gate.promises import Promises, Reworded

_MOST_LINES = 5_000


def compare_rules(before: Specification, after: Specification) -> Promises:
    """Return the output rules that were added, dropped or reworded."""
    return _compare(before.rules, after.rules)


def compare_input(before: Specification, after: Specification) -> Promises:
    """Return the input constraints that were added, dropped or reworded."""
    return _compare(before.input, after.input)


def changed_lines(before: Sequence[str], after: Sequence[str]) -> frozenset[int]:
    """Return the lines of `before`, counted from 1, that are not in `after` as they were. A line
    that moved is there. None for texts of more than 5,000 lines: comparing them takes too long."""
    if max(len(before), len(after)) > _MOST_LINES:
        return frozenset()
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    changes = [found for found in matcher.get_opcodes() if found[0] != "equal"]
    new = Counter(line for _, _, _, start, end in changes for line in after[start:end])
    gone = []
    for place in (place for _, start, end, _, _ in changes for place in range(start, end)):
        if new[before[place]]:
            new[before[place]] -= 1
        else:
            gone.append(place + 1)
    return frozenset(gone)


def rules_on(rules: Iterable[Rule], lines: frozenset[int]) -> tuple[Rule, ...]:
    """Return the rules that follow from one of the lines."""
    return tuple(rule for rule in rules if not lines.isdisjoint(rule.lines))


def _compare(
    before: Sequence[Rule] | Sequence[InputConstraint],
    after: Sequence[Rule] | Sequence[InputConstraint],
) -> Promises:
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
