"""What one judging makes of its outcomes: arms, pairs, objectives, fixtures. Decides nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from gatekeeper.contract.model import Contract
from gatekeeper.contract.trial import Outcome
from gatekeeper.evidence.collect import JudgingWatch
from gatekeeper.evidence.job import Judging
from gatekeeper.evidence.objectives import slo_results, undecided
from gatekeeper.evidence.outcomes import arm_result, by_fixture, fixture_results
from gatekeeper.evidence.pairs import Pairs, count_pairs
from gatekeeper.evidence.spending import Burn, burns
from gatekeeper.result import ArmResult, FixtureResult, SloResult


@dataclass(frozen=True, slots=True)
class Evidence:
    """`pairs` is None where there is nothing to compare with."""

    contract: Contract
    base: ArmResult | None
    head: ArmResult
    pairs: Pairs | None
    slo: tuple[SloResult, ...]
    fixtures: tuple[FixtureResult, ...]
    burns: Mapping[str, Burn] = field(default_factory=dict)


def weigh(watch: JudgingWatch, *, stopped: bool) -> Evidence:
    """The evidence of the watch's outcomes. `stopped` says that sampling ended because the
    answer was sure: what was then not drawn is left out, and otherwise it is unknown."""
    judging, outcomes = watch.judging, watch.outcomes
    fixtures = fixture_results(
        judging.contract,
        by_fixture(outcomes),
        judging.same_input,
        max(1, watch.rounds) if stopped else judging.contract.sampling.samples,
        paired=judging.base is not None,
        copies=_copies(judging),
    )
    # A fixture that only one arm can take is judged, but not compared.
    apart = {*judging.unpaired, *judging.unanswerable}
    comparable = [fixture for fixture in fixtures if fixture.id not in apart]
    return Evidence(
        contract=judging.contract,
        base=arm_result(judging.base, "base", outcomes, fixtures) if judging.base else None,
        head=arm_result(judging.head, "head", outcomes, fixtures),
        pairs=count_pairs(comparable) if judging.base else None,
        slo=_objectives(watch, stopped=stopped),
        fixtures=tuple(fixtures),
        burns=burns(judging, outcomes),
    )


def _objectives(watch: JudgingWatch, *, stopped: bool) -> tuple[SloResult, ...]:
    """As last looked at; before the first look they are open, or not measured."""
    if watch.slo is not None:
        return watch.slo
    head = [outcome for outcome in watch.outcomes if outcome.sample.trial.arm == "head"]
    planned = _planned(watch, head, stopped=stopped)
    results = slo_results(
        watch.judging.contract, head, planned, same_input=watch.judging.same_input
    )
    return undecided(results) if stopped else results


def _planned(watch: JudgingWatch, head: Sequence[Outcome], *, stopped: bool) -> Counter[str]:
    """How many head samples each fixture should have."""
    trials = (o.sample.trial for o in head) if stopped else watch.judging.trials
    return Counter(trial.fixture for trial in trials if trial.arm == "head")


def _copies(judging: Judging) -> bool:
    """Whether every sample of a fixture repeats its first: at temperature 0 on both arms."""
    arms = (judging.head, judging.base or judging.head)
    return all(arm.params.get("temperature") == 0 for arm in arms)
