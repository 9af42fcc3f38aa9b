"""The fixtures that a change broke, and the rates that a search on them can expect."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from support.outcomes import outcome

from gatekeeper.author.blame.measure import find_broken
from gatekeeper.contract.values.trial import Outcome

BROKE, FAILED_BEFORE = [f"b{n}" for n in range(6)], [f"f{n}" for n in range(4)]


def at(found: Outcome, params: dict[str, Any]) -> Outcome:
    """The outcome, of a request with these parameters."""
    trial = found.sample.trial
    request = replace(trial.request, params=params)
    return replace(found, sample=replace(found.sample, trial=replace(trial, request=request)))


@pytest.mark.parametrize(
    ("params", "harmless"), [({"temperature": 0}, 0.98), ({"temperature": 0.7}, 0.6), ({}, 0.6)]
)
def test_fixtures_that_fail_on_base_count_only_where_answers_vary(params, harmless):
    """Six of ten fixtures pass on base, and none on head."""
    outcomes = [
        at(outcome(name, arm, 0, arm == "base" and name in BROKE), params)
        for name in BROKE + FAILED_BEFORE
        for arm in ("base", "head")
    ]
    found = find_broken(outcomes)
    assert found is not None
    assert found.fixtures == tuple(BROKE)
    assert found.rates.harmless == pytest.approx(harmless)


def test_a_third_that_still_fails_at_temperature_0_is_no_chance():
    """Another edit broke them. With base's rate over all fixtures, eight of twelve would do."""
    answers = [True] * 8 + [False] * 4
    names = [f"b{n}" for n in range(12)]
    outcomes = [
        outcome(name, arm, 0, arm == "base" and name in names)
        for name in [*names, *FAILED_BEFORE]
        for arm in ("base", "head")
    ]
    varies = find_broken(outcomes)
    repeats = find_broken([at(found, {"temperature": 0}) for found in outcomes])
    assert varies is not None
    assert repeats is not None
    assert varies.rates.evidence(answers) < 0 < repeats.rates.evidence(answers)
