"""Computes the evidence of one evaluation: arms, pairs, objectives, fixtures. Decides nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from gatekeeper.contract.values.definition import Contract
from gatekeeper.contract.values.events import each_answer_once
from gatekeeper.contract.values.trial import Outcome
from gatekeeper.gate.comparison.missing_answers import missing_answers
from gatekeeper.gate.comparison.must_pass import must_pass_results
from gatekeeper.gate.comparison.pair_counts import Pairs, count_clusters, count_pairs
from gatekeeper.gate.comparison.repairs import repair_result
from gatekeeper.gate.comparison.resource_limits import limit_results
from gatekeeper.gate.measuring.monitor import EvaluationMonitor
from gatekeeper.gate.objectives.error_budgets import Burn, burns
from gatekeeper.gate.objectives.objectives import objective_status, slo_results, undecided
from gatekeeper.gate.plan.plan import Evaluation
from gatekeeper.gate.results.parts import (
    BrokenFixtures,
    Confirmation,
    FixtureResult,
    LimitResult,
    MustPassResult,
    PreferenceResult,
    RepairResult,
    Tally,
    Unit,
)
from gatekeeper.gate.results.result import ArmResult, MissingAnswers, SloResult
from gatekeeper.gate.samples.outcomes import ARMS, arm_result, by_fixture, fixture_results


@dataclass(frozen=True, slots=True)
class Evidence:
    """`pairs` is None if there is nothing to compare with; so is `clusters` if related fixtures do
    not count as one."""

    contract: Contract
    base: ArmResult | None
    head: ArmResult
    pairs: Pairs | None
    slo: tuple[SloResult, ...]
    fixtures: tuple[FixtureResult, ...]
    burns: Mapping[str, Burn] = field(default_factory=dict)
    must_pass: tuple[MustPassResult, ...] = ()
    broken: BrokenFixtures | None = None
    limits: tuple[LimitResult, ...] = ()
    clusters: Pairs | None = None
    preferences: tuple[PreferenceResult, ...] = ()
    repairs: RepairResult | None = None
    missing: MissingAnswers | None = None


def summarise(watch: EvaluationMonitor, *, stopped: bool) -> Evidence:
    """Return the evidence of the watch's outcomes.

    `stopped` says that sampling ended because the result was certain: samples that were not taken
    are then left out, and otherwise they are unknown.
    """
    evaluation, outcomes = watch.evaluation, watch.outcomes
    fixtures = _fixtures(watch, stopped=stopped)
    # A fixture that the base prompt cannot take is evaluated, but not compared.
    apart = evaluation.apart
    comparable = [fixture for fixture in fixtures if fixture.id not in apart]
    units = evaluation.counts_with if evaluation.clustered else None
    answers = each_answer_once(outcomes, evaluation.same_input)
    return Evidence(
        contract=evaluation.contract,
        base=arm_result(evaluation.base, "base", answers, fixtures, units)
        if evaluation.base
        else None,
        head=arm_result(evaluation.head, "head", answers, fixtures, units),
        pairs=count_pairs(comparable) if evaluation.base else None,
        clusters=count_clusters(comparable, units) if evaluation.base and units else None,
        slo=_objectives(watch, stopped=stopped),
        fixtures=tuple(fixtures),
        preferences=watch.preferences,
        burns=burns(evaluation, outcomes),
        must_pass=must_pass_results(
            evaluation.contract, outcomes, watch.broken, complete=watch.complete or not stopped
        ),
        broken=watch.broken,
        limits=limit_results(
            evaluation.contract,
            outcomes,
            watch.level,
            evaluation.counts_with,
            complete=watch.complete,
        ),
        repairs=repair_result(
            evaluation.contract,
            outcomes,
            watch.level,
            evaluation.counts_with,
            compares=evaluation.base is not None,
            complete=watch.complete,
        ),
        missing=missing_answers(
            evaluation.contract,
            outcomes,
            watch.level,
            evaluation.counts_with,
            compares=evaluation.base is not None,
        ),
    )


def _fixtures(watch: EvaluationMonitor, *, stopped: bool) -> list[FixtureResult]:
    """Return the result of each fixture, with its fresh samples."""
    evaluation, broken = watch.evaluation, watch.broken
    planned = max(1, watch.rounds) if stopped else evaluation.contract.sampling.samples
    # A round that was not completed is no part of the comparison, nor of these counts.
    shown = [o for o in watch.outcomes if not stopped or o.sample.trial.repetition < planned]
    fixtures = fixture_results(
        evaluation.contract,
        by_fixture(shown),
        evaluation.same_input,
        planned,
        paired=evaluation.base is not None,
        copies=_copies(evaluation),
    )
    if broken is None or broken.p_value is not None:
        return fixtures
    excused = _excused([o for o in watch.outcomes if o.sample.trial.repetition >= planned])
    again = broken.confirmations
    return [replace(f, confirmation=again.get(Unit(f.id), excused.get(f.id))) for f in fixtures]


def _excused(later: Sequence[Outcome]) -> dict[str, Confirmation]:
    """Return the fixtures that later samples show better on head, so that no fresh ones were
    needed."""
    groups, found = by_fixture(later), {}
    for fixture in dict.fromkeys(fixture for fixture, _ in groups):
        base, head = (
            [o.passed for o in groups.get((fixture, arm), ()) if o.passed is not None]
            for arm in ARMS
        )
        if base and sum(head) > sum(base):
            tallies = Tally(sum(base), len(base)), Tally(sum(head), len(head))
            found[fixture] = Confirmation(*tallies, "kept")
    return found


def _objectives(watch: EvaluationMonitor, *, stopped: bool) -> tuple[SloResult, ...]:
    """Return the objectives, decided at the last look and shown with all samples, like every other
    rate of the report. Before the first look they are open, or not measured."""
    evaluation = watch.evaluation
    head = [outcome for outcome in watch.outcomes if outcome.sample.trial.arm == "head"]
    planned = (
        Counter(outcome.sample.trial.fixture for outcome in head)
        if stopped
        else evaluation.planned_on_head(evaluation.contract.sampling.samples)
    )
    results = slo_results(
        evaluation.contract,
        head,
        planned,
        counts_with=evaluation.counts_with,
        calibrations=evaluation.calibrations,
        same_input=evaluation.same_input,
    )
    if watch.slo is not None:
        return tuple(map(_shown, watch.slo, results))
    return undecided(results) if stopped else results


def _shown(decided: SloResult, now: SloResult) -> SloResult:
    """Return the decision and its interval with the value observed at the end, unless that would
    seem to contradict them."""
    sides = {objective_status(replace(found, met=None)) for found in (decided, now)}
    if decided.met is not None and len(sides) > 1:
        return decided
    shown, seen = decided.interval, now.observed
    if shown and seen is not None and not shown.low <= seen <= shown.high:
        return decided
    return replace(decided, observed=seen)


def _copies(evaluation: Evaluation) -> bool:
    """Return whether every sample of a fixture repeats its first: at temperature 0 on both arms."""
    arms = (evaluation.head, evaluation.base or evaluation.head)
    return all(arm.params.get("temperature") == 0 for arm in arms)
