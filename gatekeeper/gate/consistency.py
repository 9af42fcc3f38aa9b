"""Counts how many pairs of a fixture's answers agree. Pure.

A single answer cannot be consistent, so no check of one sample can say it: the objective
`consistency` is about all answers to a fixture. The share of pairs that agree does not depend on
how many samples were taken, as the share of the commonest answer does.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from gatekeeper.checks.output import NotJson, parse_json
from gatekeeper.checks.values.json_equal import canonical_json
from gatekeeper.contract.trial import Outcome, Sample


class Pairs(NamedTuple):
    """The pairs of a fixture's answers: how many agree, of how many."""

    agreeing: int
    total: int


def count_pairs(answers: int) -> int:
    """Return how many pairs that many answers make."""
    return answers * (answers - 1) // 2


def agreeing_pairs(outcomes: Iterable[Outcome]) -> dict[str, Pairs]:
    """Return the pairs of each fixture of one arm. Calls that failed make no pair."""
    answers: dict[str, Counter[str]] = defaultdict(Counter)
    for outcome in outcomes:
        if outcome.sample.completion is not None:
            answers[outcome.sample.trial.fixture][answer_meaning(outcome.sample)] += 1
    return {
        fixture: Pairs(sum(map(count_pairs, counts.values())), count_pairs(counts.total()))
        for fixture, counts in answers.items()
    }


def answer_meaning(sample: Sample) -> str:
    """Return a text that is the same for answers that agree.

    JSON agrees if it is the same value, whatever its layout and the order of its keys; other text
    if it is the same apart from white space. The tools that are called must be the same, too.
    """
    completion = sample.completion
    if completion is None:
        return ""
    calls = [f"{call.name} {_meaning(call.arguments)}" for call in completion.tool_calls]
    if completion.cut is not None:
        return "\n".join([completion.cut.sha256, *calls])
    return "\n".join([_meaning(sample.output), *calls])


def _meaning(text: str) -> str:
    value = parse_json(text)
    return " ".join(text.split()) if isinstance(value, NotJson) else canonical_json(value)
