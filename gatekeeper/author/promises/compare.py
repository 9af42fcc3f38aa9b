"""Compares two specifications of one prompt."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gatekeeper.author.specification.prompt_lines import match_lines
from gatekeeper.author.specification.records import (
    InputConstraint,
    Rule,
    Specification,
)
from gatekeeper.gate.promises import Promises, Reworded


def compare_rules(before: Specification, after: Specification) -> Promises:
    """Return the output rules that were added, dropped or reworded."""
    return _compare(before.rules, after.rules)


def compare_input(before: Specification, after: Specification) -> Promises:
    """Return the input constraints that were added, dropped or reworded."""
    return _compare(before.input, after.input)


def changed_lines(before: Sequence[str], after: Sequence[str]) -> frozenset[int]:
    """Return the lines of `before`, counted from 1, that are not in `after` as they were. A line
    that moved is there."""
    there = match_lines(before, after)
    return frozenset(place + 1 for place in range(len(before)) if place not in there)


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
