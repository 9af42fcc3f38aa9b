"""Each kind of objective, decided by its interval; and how often a met one is called missed."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from support.outcomes import contract, outcome

from gatekeeper.contract.values.definition import CheckShape, CheckSpec, Fixture
from gatekeeper.contract.values.objectives import read_objectives
from gatekeeper.contract.values.trial import CheckResult, Outcome
from gatekeeper.gate.decision.reasons import slo_reasons
from gatekeeper.gate.measuring.monitor import OBJECTIVE_ERROR
from gatekeeper.gate.objectives.objectives import objective_status, slo_results
from gatekeeper.stats.intervals.gaffke import gaffke_interval
from gatekeeper.stats.intervals.intervals import quantile_bounds
from gatekeeper.stats.paired.sequential import looks


def made(
    name: str,
    repetition: int = 0,
    *,
    evaluated=(),
    repaired=False,
    tokens=None,
    latency=None,
    cost=None,
    **params,
):
    """A sample that passes, with check_results, repairs and tokens of its own."""
    found = outcome(name, "head", repetition, True, latency=latency, cost=cost)
    prompt, completion = tokens or (None, None)
    request = replace(found.sample.trial.request, params=params)
    sample = replace(
        found.sample,
        trial=replace(found.sample.trial, request=request),
        repairs=("lowercase",) if repaired else (),
        completion=replace(
            found.sample.completion, prompt_tokens=prompt, completion_tokens=completion
        ),
    )
    return Outcome(sample, (*found.check_results, *evaluated))


SCORING = CheckSpec("opinion", "opinion", {}, "warn", shape=CheckShape({}, scores=True))


def results(slo, outcomes, *, planned=None, fixtures=None, confidence=0.95):
    names = dict.fromkeys(o.sample.trial.fixture for o in outcomes)
    wanted = planned or Counter(o.sample.trial.fixture for o in outcomes)
    whole = contract(*names, slo=read_objectives(slo))
    if "judge_score" in slo and not fixtures:
        whole = replace(whole, checks=(*whole.checks, SCORING))
    if fixtures:
        whole = replace(whole, fixtures=fixtures)
    return slo_results(whole, outcomes, wanted, confidence)


def only(slo, outcomes, **how):
    (result,) = results(slo, outcomes, **how)
    return result


@pytest.mark.parametrize(
    ("target", "failing", "expected"), [(0.9, 0, "met"), (0.9, 30, "missed"), (0.9, 12, "unlikely")]
)
def test_a_checks_pass_rate(target, failing, expected):
    evaluated = [
        made(f"f{i}", evaluated=(CheckResult("short", i >= failing, severity="warn"),))
        for i in range(100)
    ]
    spec = CheckSpec("length", "short", {}, "warn")
    fixtures = tuple(Fixture(f"f{i}", {}, checks=(spec,)) for i in range(100))
    result = only({"checks": {"short": target}}, evaluated, fixtures=fixtures)
    assert (result.objective, objective_status(result)) == ("checks.short", expected)
    assert result.observed == pytest.approx(1 - failing / 100)


def test_a_check_of_some_fixtures_is_asked_of_those_alone():
    spec = CheckSpec("length", "short", {})
    fixtures = tuple(Fixture(f"f{i}", {}, checks=(spec,) if i < 50 else ()) for i in range(100))
    evaluated = [
        made(f"f{i}", evaluated=(CheckResult("short", True),) if i < 50 else ()) for i in range(100)
    ]
    result = only({"checks": {"short": 0.9}}, evaluated, fixtures=fixtures)
    assert (result.met, result.unmeasured) == (True, False)


def test_a_check_that_could_not_be_applied_leaves_its_objective_unmeasured():
    spec = CheckSpec("length", "short", {})
    fixtures = tuple(Fixture(f"f{i}", {}, checks=(spec,)) for i in range(50))
    evaluated = [
        made(f"f{i}", evaluated=(CheckResult("short", i < 40 or None),)) for i in range(50)
    ]
    result = only({"checks": {"short": 0.9}}, evaluated, fixtures=fixtures)
    assert (result.met, result.unmeasured) == (None, True)


@pytest.mark.parametrize(("repaired", "expected"), [(0, "met"), (40, "missed"), (8, "likely")])
def test_a_repair_rate_is_to_stay_low(repaired, expected):
    outcomes = [made(f"f{i}", repaired=i < repaired) for i in range(100)]
    assert objective_status(only({"repair_rate": 0.1}, outcomes)) == expected


@pytest.mark.parametrize("q", [50, 90, 95, 99])
def test_each_latency_quantile_is_its_own(q):
    values = [float(i) for i in range(1, 2001)]
    outcomes = [made(f"f{i}", latency=value) for i, value in enumerate(values)]
    low, high = quantile_bounds(values, q / 100)
    name = f"latency_p{q}_ms"
    assert only({name: high}, outcomes).met is True
    assert only({name: low - 1}, outcomes).met is False
    found = only({name: (low + high) / 2}, outcomes)
    assert (found.met, found.observed) == (None, 20.0 * q)


@pytest.mark.parametrize(("objectives", "rounds"), [(1, 1), (3, 1), (1, 4)])
def test_the_shown_latency_is_the_range_of_targets_that_stay_open(objectives, rounds):
    """Its ends decide: also with several objectives, and with repeated samples of an input."""
    outcomes = [
        made(f"f{i}", number, latency=10.0 * i + number)
        for i in range(120)
        for number in range(rounds)
    ]
    others = dict(list({"success_rate": 0.5, "repair_rate": 0.5}.items())[: objectives - 1])

    def latency(target):
        found = results({"latency_p90_ms": target, **others}, outcomes)
        return next(one for one in found if one.objective == "latency_p90_ms")

    shown = latency(1000).interval
    assert [
        latency(at).met for at in (shown.low - 0.5, shown.low, shown.high - 0.5, shown.high)
    ] == [
        False,
        None,
        None,
        True,
    ]


def test_an_input_that_is_always_slow_is_one_slow_input():
    """Three of 20, where one is allowed: drawn five times each they are no more than that."""
    slo = {"latency_p95_ms": 100}
    for rounds in (1, 5):
        outcomes = [
            made(f"f{i}", number, latency=500.0 + i if i < 3 else 50.0 + i)
            for number in range(rounds)
            for i in range(20)
        ]
        assert objective_status(only(slo, outcomes)) == "unlikely"


def test_an_answer_whose_latency_is_not_known_is_not_lost():
    known = [made(f"f{i}", latency=50.0 + i) for i in range(200)]
    found = only({"latency_p95_ms": 1000}, [*known, *(made(f"g{i}") for i in range(100))])
    assert (found.met, found.unmeasured) == (True, False)
    alone = only({"latency_p95_ms": 1000}, [made(f"g{i}") for i in range(100)])
    assert (objective_status(alone), alone.unmeasured) == ("unknown", False)


@pytest.mark.parametrize("objective", ["latency_p95_ms", "cost_per_call_usd", "tokens_per_call"])
def test_an_objective_without_a_single_value_is_inconclusive(objective):
    found = only({objective: 1000}, [made(f"f{i}") for i in range(100)])
    assert [(r.code, r.verdict) for r in slo_reasons([found], [])] == [("slo", "inconclusive")]


def test_total_tokens_are_those_of_prompt_and_completion():
    outcomes = [made(f"f{i}", tokens=(80 + i % 5, 20)) for i in range(30)]
    result = only({"tokens_per_call": 200}, outcomes)
    assert (result.observed, objective_status(result)) == (102.0, "likely")
    assert only({"tokens_per_call": 80}, outcomes).met is False


@pytest.mark.parametrize("limit", ["max_tokens", "max_completion_tokens"])
def test_a_mean_is_proven_where_the_parameters_limit_the_answer(limit):
    """Else one answer in a thousand could be endless, and the mean anything."""
    price = 1e-6
    outcomes = [
        made(f"f{i}", tokens=(80 + i % 5, 20), cost=price * (160 + i % 5), **{limit: 40})
        for i in range(100)
    ]
    unlimited = [
        replace(o, sample=made(f"f{i}", tokens=(80, 20), cost=price * 160).sample)
        for i, o in enumerate(outcomes)
    ]
    for slo in ({"tokens_per_call": 150}, {"cost_per_call_usd": price * 500}):
        assert only(slo, outcomes).met is True
        assert objective_status(only(slo, unlimited)) == "likely"


def test_a_price_of_nothing_proves_no_price():
    outcomes = [made(f"f{i}", cost=0.0) for i in range(50)]
    found = only({"cost_per_call_usd": 0.01}, outcomes)
    assert (found.observed, found.met, found.interval) == (0.0, None, None)


def test_what_counts_inputs_and_what_counts_samples_must_agree():
    """One case of forty has 39 fixtures and always fails: of cases 97.5 % pass, and of samples
    hardly half."""
    names = [f"f{i}" for i in range(78)]
    outcomes = [outcome(name, "head", 0, i >= 39) for i, name in enumerate(names)]
    same = dict.fromkeys(names[1:39], names[0])
    whole = contract(*names, slo=read_objectives({"success_rate": 0.7}))
    (found,) = slo_results(whole, outcomes, Counter(names), counts_with=same, same_input={})
    assert (found.observed, found.met, found.inputs) == (0.5, None, 40)


@pytest.mark.parametrize("lost", [False, True])
def test_an_answer_that_fixtures_share_counts_once(lost):
    """If they have one input, it is one answer that fails, or one call that is lost."""
    names = [f"f{i}" for i in range(78)]
    outcomes = [
        outcome(name, "head", 0, None if lost and i < 39 else i >= 39)
        for i, name in enumerate(names)
    ]
    same = dict.fromkeys(names[1:39], names[0])
    whole = contract(*names, slo=read_objectives({"success_rate": 0.7}))
    (found,) = slo_results(whole, outcomes, Counter(names), counts_with=same)
    assert (found.observed, found.met) == (1.0 if lost else 0.975, True)
    assert found.inputs == (39 if lost else 40)


def test_how_many_inputs_it_takes_is_told():
    few = [outcome(f"f{i}", "head", n, True, latency=1.0) for i in range(20) for n in range(10)]
    rate, quick, tokens = results(
        {"success_rate": 0.9, "latency_p95_ms": 100, "tokens_per_call": 9}, few, confidence=0.85
    )
    assert (rate.met, rate.inputs, rate.inputs_needed) == (None, 20, 36)
    assert (quick.met, quick.inputs, quick.inputs_needed) == (None, 20, 72)
    assert tokens.inputs_needed is None


RARE = {"m100": (100, 10, 0.009), "m50": (50, 50, 0.005)}


@pytest.mark.long
@pytest.mark.parametrize("suite", RARE)
def test_inputs_that_always_fail_and_are_rare_are_not_proven_away(suite):
    """Before, 23 % and 57 % of such suites "met" an objective that they keep exactly."""
    inputs, rounds, share = RARE[suite]
    rng = np.random.default_rng(4)
    runs, wrong = 60, 0
    for _ in range(runs):
        rates = np.where(rng.random(inputs) < share, 0.0, 0.99 / (1 - share))
        passed = rng.binomial(rounds, rates)
        outcomes = [
            outcome(f"f{i}", "head", n, bool(n < k))
            for i, k in enumerate(passed)
            for n in range(rounds)
        ]
        wrong += only({"success_rate": 0.99}, outcomes).met is True
    assert wrong <= 5


@pytest.mark.parametrize("tokens", [(80, None), (None, 20), None])
def test_tokens_that_are_not_all_known_decide_nothing(tokens):
    outcomes = [made(f"f{i}", tokens=(80, 20)) for i in range(30)]
    result = only({"tokens_per_call": 200}, [*outcomes, made("g", tokens=tokens)])
    assert (result.observed, result.met, objective_status(result)) == (None, None, "unknown")


class TestAJudgeScore:
    def scored(self, *scores):
        return [
            made(f"f{i}", evaluated=(CheckResult("opinion", True, score=score),))
            for i, score in enumerate(scores)
        ]

    def test_it_is_the_mean_score(self):
        outcomes = self.scored(*[0.8 + 0.01 * (i % 5) for i in range(40)])
        assert only({"judge_score": 0.7}, outcomes).met is True
        assert only({"judge_score": 0.9}, outcomes).met is False
        assert only({"judge_score": 0.7}, outcomes).observed == pytest.approx(0.82)

    def test_what_was_not_scored_could_have_been_anything(self):
        outcomes = self.scored(*[0.8 + 0.01 * (i % 5) for i in range(40)], *[None] * 10)
        assert only({"judge_score": 0.75}, outcomes).unmeasured is True
        assert only({"judge_score": 0.99}, outcomes).met is False

    def test_fixtures_that_no_check_scores_decide_nothing(self):
        scored = self.scored(*[0.8 + 0.01 * (i % 5) for i in range(40)])
        fixtures = tuple(
            Fixture(f"f{i}", {}, checks=(SCORING,) if i < 40 else ()) for i in range(90)
        )
        others = [made(f"f{i}") for i in range(40, 90)]
        found = only({"judge_score": 0.7}, [*scored, *others], fixtures=fixtures)
        assert (found.met, found.unmeasured) == (True, False)
        assert found.observed == pytest.approx(0.82)

    def test_several_scores_of_a_sample_are_one(self):
        both = (CheckResult("a", True, score=1.0), CheckResult("b", True, score=0.5))
        found = only({"judge_score": 0.7}, [made(f"f{i}", evaluated=both) for i in range(3)])
        assert found.observed == 0.75


def test_a_category_is_checked_by_its_fixtures_alone():
    fixtures = tuple(Fixture(f"f{i}", {}, category="hard" if i % 2 else "easy") for i in range(200))
    outcomes = [outcome(f"f{i}", "head", 0, not i % 2, latency=1.0) for i in range(200)]
    slo = {
        "success_rate": 0.4,
        "categories": {"easy": {"success_rate": 0.9}, "hard": {"success_rate": 0.9}},
    }
    found = {r.objective: r for r in results(slo, outcomes, fixtures=fixtures)}
    assert found["categories.easy.success_rate"].met is True
    assert found["categories.hard.success_rate"].met is False
    assert found["success_rate"].observed == 0.5


def test_calls_lost_in_another_category_decide_nothing_here():
    fixtures = tuple(Fixture(f"f{i}", {}, category="a" if i < 100 else "b") for i in range(200))
    outcomes = [outcome(f"f{i}", "head", 0, True if i < 100 else None) for i in range(200)]
    slo = {"categories": {"a": {"success_rate": 0.9}, "b": {"success_rate": 0.9}}}
    a, b = results(slo, outcomes, fixtures=fixtures)
    assert (a.met, a.unmeasured) == (True, False)
    assert (b.observed, b.met) == (None, None)


def test_objectives_share_the_error_rate():
    outcomes = [outcome(f"f{i}", "head", 0, i >= 3, latency=1.0) for i in range(40)]
    both = {"success_rate": 0.8, "latency_p50_ms": 10}
    alone = gaffke_interval([0.0] * 3 + [1.0] * 37, 0, 1, 0.95)
    shared = gaffke_interval([0.0] * 3 + [1.0] * 37, 0, 1, 0.975)
    between = {"success_rate": (alone.low + shared.low) / 2}
    assert only(between, outcomes).met is True
    assert results({**both, **between}, outcomes)[0].met is None


@pytest.mark.long
def test_a_met_objective_is_seldom_called_missed():
    """Four objectives whose targets are exactly what is true, looked at after rounds 1, 2, 3 and 5:
    the chance that any is ever called missed is half of the error rate at most. What an input
    takes is its own: a long answer is slow each time."""
    rng = np.random.default_rng(7)
    rounds, inputs, runs = 5, 25, 120
    slo = read_objectives(
        {
            "success_rate": 0.9,
            "checks": {"short": 0.8},
            "latency_p95_ms": math.exp(0.5 * 1.6448536269514722),
            "tokens_per_call": 100,
        }
    )
    whole = contract(*(f"f{i}" for i in range(inputs)), slo=slo, samples=rounds)
    short = CheckSpec("length", "short", {}, "warn")
    whole = replace(whole, checks=(*whole.checks, short))
    wrong = 0
    for _ in range(runs):
        passing, short_enough = rng.beta(9, 1, inputs), rng.beta(4, 1, inputs)
        length, slowness = rng.normal(80, 15, inputs), rng.lognormal(0, 0.5, inputs)
        drawn: list[Outcome] = []
        missed = False
        for number in range(rounds):
            for i in range(inputs):
                evaluated = CheckResult(
                    "short", bool(rng.random() < short_enough[i]), severity="warn"
                )
                own = made(
                    f"f{i}",
                    number,
                    evaluated=(evaluated,),
                    tokens=(float(length[i]), float(rng.normal(20, 5))),
                    latency=float(slowness[i]),
                )
                verdict = CheckResult("says ok", bool(rng.random() < passing[i]))
                drawn.append(replace(own, check_results=(verdict, evaluated)))
            share = {look.rounds: look.own for look in looks(rounds)}.get(number + 1)
            if share is not None and not missed:
                planned = Counter(o.sample.trial.fixture for o in drawn)
                found = slo_results(whole, drawn, planned, 1 - OBJECTIVE_ERROR * share)
                missed = any(r.met is False for r in found)
        wrong += missed
    # More than 8 of 120 has a chance of 0.4 % where the rate is 2.5 %.
    assert wrong <= 8
