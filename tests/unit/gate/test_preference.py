"""Comparisons in pairs: order, unmeasured pairs, and how often a harmless change is blocked."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from support.evaluations import evaluation_of
from support.outcomes import contract, outcome, target

from gatekeeper.checks.check import PASSED, Finding
from gatekeeper.checks.evaluate import Evaluator, PreparedCheck
from gatekeeper.checks.pair_check import PairFinding, Preferred
from gatekeeper.contract.values.definition import GatePolicy
from gatekeeper.contract.values.trial import Outcome, Request, Sample
from gatekeeper.gate.comparison.preference import EvaluationPreferences
from gatekeeper.gate.decision.reasons import preference_reasons
from gatekeeper.gate.plan.alpha import alpha_shares
from gatekeeper.gate.results.parts import PreferenceResult


@dataclass
class Scripted:
    """Prefers for each fixture and repetition what it is given."""

    chosen: dict[tuple[str, int], Preferred | None]
    judge_models: tuple[str, ...] = ("openai/judge",)
    contradictions: int = 0

    def __call__(self, sample: Sample) -> Finding:
        return PASSED

    def pair_questions(self, base: Sample, head: Sample) -> tuple[Request, ...]:
        return ()

    def compare(self, base: Sample, head: Sample) -> PairFinding:
        trial = head.trial
        preferred = self.chosen[trial.fixture, trial.repetition]
        return PairFinding(preferred, orders=2, contradictions=self.contradictions)


def compared(
    chosen: dict[tuple[str, int], Preferred | None],
    *,
    samples: int = 1,
    lost: tuple[str, ...] = (),
    level: float = 0.05,
    margin: float = 0.1,
    contradictions: int = 0,
) -> PreferenceResult:
    """The result for one choice per fixture and repetition; head has no answer to `lost` ones."""
    names = list(dict.fromkeys(fixture for fixture, _ in chosen))
    made = contract(*names, samples=samples, gate=GatePolicy(margin=margin))
    outcomes: list[Outcome] = [
        outcome(name, arm, repetition, None if arm == "head" and name in lost else True)
        for repetition in range(samples)
        for name in names
        for arm in ("base", "head")
    ]
    check = PreparedCheck("better", "error", Scripted(chosen, contradictions=contradictions))
    evaluation = evaluation_of(
        made,
        base=target(),
        trials=tuple(o.sample.trial for o in outcomes),
        evaluator=Evaluator(dict.fromkeys(names, (check,))),
    )
    pairs = EvaluationPreferences(evaluation, level, outcomes)
    for head in pairs.heads():
        if pairs.settled:
            break
        pairs.take(head.sample)
    (found,) = pairs.finish()
    return found


def choices(*each: Preferred | None) -> dict[tuple[str, int], Preferred | None]:
    return {(f"f{number}", 0): choice for number, choice in enumerate(each)}


def verdict(found: PreferenceResult) -> tuple[str, str]:
    (reason,) = preference_reasons([found])
    return reason.code, reason.verdict


def test_answers_that_are_liked_less_fail_before_the_last_pair():
    found = compared(choices(*["base"] * 40))
    assert found.worse
    assert found.stopped == "regressed"
    assert found.pairs < 15
    assert found.p_value <= 0.05
    assert verdict(found) == ("preference", "fail")


def test_ties_and_better_answers_pass():
    assert verdict(compared(choices(*["tie"] * 40))) == ("preference", "pass")
    found = compared(choices(*["head"] * 40))
    assert found.base_preferred == 0
    assert verdict(found) == ("preference", "pass")


@pytest.mark.parametrize(("of_two", "found"), [(0, "pass"), (1, "pass"), (2, "inconclusive")])
def test_ties_of_judges_who_contradict_themselves_show_nothing(of_two, found):
    """A judge that always names the first place ties every pair, however bad head's answers are."""
    chosen = choices(*["tie"] * 40)
    assert verdict(compared(chosen, contradictions=of_two)) == ("preference", found)
    chosen = choices(*["base"] * 40)
    assert verdict(compared(chosen, contradictions=of_two)) == ("preference", "fail")


def test_a_drop_that_can_be_chance_is_open():
    found = compared(choices("base", "base", "head", "tie", "base", "tie"))
    assert not found.worse
    assert found.difference == pytest.approx(-2 / 6)
    assert verdict(found) == ("preference", "inconclusive")


def test_pairs_without_a_result_may_speak_against_head():
    found = compared(choices(*["tie"] * 10, *[None] * 10))
    assert (found.pairs, found.unmeasured) == (10, 10)
    assert verdict(found) == ("error", "error")
    found = compared(choices(*["tie"] * 10, *["tie"] * 10), lost=tuple(f"f{i}" for i in range(10)))
    assert found.unmeasured == 10
    assert verdict(found) == ("error", "error")


def test_nothing_asked_is_not_measured():
    assert verdict(compared(choices(*[None] * 8))) == ("error", "error")


def test_every_sample_of_a_fixture_is_a_round():
    chosen: dict[tuple[str, int], Preferred | None] = {
        (f"f{number}", repetition): "base" if repetition else "tie"
        for repetition in range(5)
        for number in range(8)
    }
    found = compared(chosen, samples=5)
    assert found.worse
    assert 8 < found.pairs <= 40


def test_the_comparison_has_its_own_share_of_alpha():
    from gatekeeper.contract.values.definition import CheckSpec

    prefer = CheckSpec("judge", "better", {"judge": "prefer"})
    other = CheckSpec("contains", "says ok", {"value": "ok"})
    alone, both = contract("f", checks=(prefer,)), contract("f", checks=(prefer, other))
    assert alpha_shares(contract("f")).preference == 0
    assert alpha_shares(both).preference == pytest.approx(0.49)
    assert alpha_shares(alone).preference == pytest.approx(0.9)
    for made in (alone, both):
        assert sum(alpha_shares(made)) == pytest.approx(1)


@pytest.mark.long
@pytest.mark.parametrize("tied", [0.0, 0.5])
def test_a_harmless_change_is_blocked_at_most_as_often_as_the_level(tied):
    source, blocked, runs = np.random.default_rng(11), 0, 1000
    for _ in range(runs):
        drawn = source.random(30)
        each: list[Preferred | None] = [
            "tie" if x < tied else "base" if x < tied + (1 - tied) / 2 else "head" for x in drawn
        ]
        blocked += compared(choices(*each)).worse
    assert blocked <= runs * 0.05 + 3 * np.sqrt(runs * 0.05 * 0.95)
