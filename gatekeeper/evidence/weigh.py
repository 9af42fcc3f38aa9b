"""What one judging makes of its outcomes: arms, pairs, objectives, fixtures. Decides nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from gatekeeper.contract.model import Contract
from gatekeeper.contract.trial import Outcome
from gatekeeper.evidence.job import Judging
from gatekeeper.evidence.objectives import slo_results
from gatekeeper.evidence.outcomes import arm_result, by_fixture, fixture_results
from gatekeeper.evidence.pairs import Pairs, count_pairs
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


def weigh(judging: Judging, outcomes: Sequence[Outcome], *, stopped: bool) -> Evidence:
    """The evidence of the outcomes. `stopped` says that sampling ended because head is worse
    for sure: what was then not drawn is left out, and otherwise it is unknown."""
    fixtures = fixture_results(
        judging.contract, by_fixture(outcomes), judging.same_input, paired=judging.base is not None
    )
    # A fixture that only one arm can take is judged, but not compared.
    apart = {*judging.unpaired, *judging.unanswerable}
    comparable = [fixture for fixture in fixtures if fixture.id not in apart]
    head = [outcome for outcome in outcomes if outcome.sample.trial.arm == "head"]
    return Evidence(
        contract=judging.contract,
        base=arm_result(judging.base, "base", outcomes, fixtures) if judging.base else None,
        head=arm_result(judging.head, "head", outcomes, fixtures),
        pairs=count_pairs(comparable) if judging.base else None,
        slo=slo_results(judging.contract, head, _planned(judging, head, stopped=stopped)),
        fixtures=tuple(fixtures),
    )


def _planned(judging: Judging, head: Sequence[Outcome], *, stopped: bool) -> Counter[str]:
    """How many head samples each fixture should have."""
    trials = (o.sample.trial for o in head) if stopped else judging.trials
    return Counter(trial.fixture for trial in trials if trial.arm == "head")
