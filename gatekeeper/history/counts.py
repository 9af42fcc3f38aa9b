"""Counts the outcomes of a run for a record. An answer that several fixtures share counts once, for
the first of them."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from gatekeeper.contract.values.events import each_answer_once, is_good
from gatekeeper.contract.values.objectives import Objective
from gatekeeper.contract.values.trial import Outcome
from gatekeeper.gate.results.result import ContractResult

Count = tuple[int, int]


def in_categories(
    outcomes: Sequence[Outcome],
    category: Mapping[str, str | None],
    same_input: Mapping[str, str],
) -> Mapping[str | None, Sequence[Outcome]]:
    """Return the outcomes of each category, and those of all as None, with each answer once that
    several fixtures share."""
    found: dict[str | None, list[Outcome]] = {None: [*outcomes]}
    for outcome in outcomes:
        name = category.get(outcome.sample.trial.fixture)
        if name is not None:
            found.setdefault(name, []).append(outcome)
    return {name: each_answer_once(each, same_input) for name, each in found.items()}


def category_counts(in_each: Mapping[str | None, Sequence[Outcome]]) -> dict[str, Count]:
    """Return the evaluated samples of each category."""
    found: dict[str, Count] = {}
    for name, outcomes in in_each.items():
        if name is not None and any(o.passed is not None for o in outcomes):
            found[name] = _count(outcomes)
    return dict(sorted(found.items()))


def objective_events(
    contract: ContractResult, in_each: Mapping[str | None, Sequence[Outcome]]
) -> dict[str, Count]:
    """Return the events of each objective that the contract has, as far as they can be counted."""
    found: dict[str, Count] = {}
    for result in contract.slo:
        objective = Objective(result.objective, result.target)
        events = [
            good
            for o in in_each.get(objective.category, ())
            if (good := is_good(objective, o)) is not None
        ]
        if events:
            found[objective.name] = (len(events), events.count(False))
    return found


def check_counts(outcomes: Sequence[Outcome]) -> dict[str, Count]:
    """Return the evaluations of each check."""
    evaluated = [j for o in outcomes for j in o.check_results if j.passed is not None]
    events = Counter(j.check for j in evaluated)
    failed = Counter(j.check for j in evaluated if not j.passed)
    return {check: (events[check], failed[check]) for check in sorted(events)}


def fixture_counts(outcomes: Sequence[Outcome]) -> dict[str, Count]:
    """Return the evaluated samples of each fixture."""
    found: dict[str, list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        if outcome.passed is not None:
            found[fixture_key(outcome.sample.trial.fixture)].append(outcome)
    return {key: _count(each) for key, each in sorted(found.items())}


def fixture_key(id: str) -> str:  # noqa: A002
    """Return the key of a fixture in a record: 12 hexadecimal digits of its id's SHA-256."""
    return hashlib.sha256(id.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def _count(outcomes: Sequence[Outcome]) -> Count:
    evaluated = [o.passed for o in outcomes if o.passed is not None]
    return len(evaluated), evaluated.count(False)
