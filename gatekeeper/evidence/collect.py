"""Judges samples as they arrive and knows when a contract's answer is sure.

The runner hands samples over in plan order, never in completion order: slow outputs fail
more often, so evidence taken as it completes would lean towards what is quick.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from gatekeeper.checks.judge import Judge
from gatekeeper.contract.model import Contract
from gatekeeper.contract.trial import Arm, Outcome, Sample, Trial
from gatekeeper.evidence.outcomes import fixture_result
from gatekeeper.evidence.pairs import Fate, fate
from gatekeeper.sampling.repair import repair
from gatekeeper.stats.curtail import certain_decision


def judged(sample: Sample, contract: Contract, judge: Judge) -> Outcome:
    """The sample after the contract's repairs, with what each of its checks says."""
    if sample.completion is None:
        return Outcome(sample)
    output, repairs = repair(sample.completion.text, contract.repair, contract.mode)
    repaired = replace(sample, output=output, repairs=repairs)
    return Outcome(repaired, judge.judge(repaired))


class ContractWatch:
    """One contract's outcomes so far.

    Curtailed sampling (Alling 1963): it stops only when no outcome still to come could
    change the decision that head is worse, so the level of the fixed test is kept exactly.
    `alpha` is the strictest level that the contract can be tested at.
    """

    def __init__(
        self,
        contract: Contract,
        judge: Judge,
        same_input: Mapping[str, str],
        *,
        paired: bool,
        alpha: float,
    ) -> None:
        self.contract = contract
        self.samples: list[Sample] = []
        self.outcomes: list[Outcome] = []
        self.regressed = False
        self._judge = judge
        self._same_input = same_input
        self._paired = paired
        self._alpha = alpha
        self._fixtures = {fixture.id: fixture for fixture in contract.fixtures}
        self._groups: dict[tuple[str, Arm], list[Outcome]] = defaultdict(list)
        self._clusters: dict[str, list[str]] = defaultdict(list)
        for fixture in self._fixtures:
            self._clusters[same_input.get(fixture, fixture)].append(fixture)
        self._fates: dict[str, Fate] = dict.fromkeys(self._clusters, "unknown")

    def add(self, sample: Sample) -> None:
        """Judge the next sample in plan order."""
        self.samples.append(sample)
        trial = sample.trial
        if trial.fixture not in self._fixtures:
            return  # a fixture that head removed: only the base contract judges it
        outcome = judged(sample, self.contract, self._judge)
        self.outcomes.append(outcome)
        self._groups[trial.fixture, trial.arm].append(outcome)
        if self._paired and self.contract.sampling.mode == "adaptive":
            self._look(self._same_input.get(trial.fixture, trial.fixture))

    def _look(self, cluster: str) -> None:
        members = [
            fixture_result(self.contract, self._fixtures[name], self._groups, None, paired=True)
            for name in self._clusters[cluster]
        ]
        self._fates[cluster] = fate(members)
        counts = Counter(self._fates.values())
        certain = certain_decision(counts["broke"], counts["fixed"], counts["unknown"], self._alpha)
        self.regressed = certain == "regressed"


class Progress(Protocol):
    """Who shows a person how far the run is."""

    def started(self, total: int) -> None:
        """`total` calls will be made at most."""
        ...

    def advanced(self, *, cost_usd: float | None, failed: bool) -> None:
        """One call is done; a `cost_usd` of None is not known."""
        ...


class Watches:
    """The watch of a whole run: one ContractWatch a contract, by name."""

    def __init__(
        self, watches: Mapping[str, ContractWatch], progress: Progress | None = None
    ) -> None:
        self._watches = watches
        self._progress = progress

    def wants(self, trial: Trial) -> bool:
        """Whether the trial can still change its contract's decision."""
        return not self._watches[trial.contract].regressed

    def add(self, sample: Sample) -> None:
        """Hand the sample to its contract."""
        self._watches[sample.trial.contract].add(sample)
        if self._progress and not sample.shared:
            cost = sample.completion.cost_usd if sample.completion else None
            self._progress.advanced(cost_usd=cost, failed=sample.completion is None)


def judged_by(contract: Contract, judge: Judge, samples: Sequence[Sample]) -> list[Outcome]:
    """The same samples judged by another contract, for the fixtures that it has."""
    known = {fixture.id for fixture in contract.fixtures}
    return [judged(sample, contract, judge) for sample in samples if sample.trial.fixture in known]
