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
from gatekeeper.evidence.job import Job, Judging
from gatekeeper.evidence.outcomes import fixture_change
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


class JudgingWatch:
    """One judging's outcomes so far.

    Curtailed sampling (Alling 1963): it stops only when no outcome still to come could
    change the decision that head is worse, so the level of the fixed test is kept exactly.
    `alpha` is the strictest level that the judging can be tested at.
    """

    def __init__(self, judging: Judging, alpha: float) -> None:
        self.judging = judging
        self.outcomes: list[Outcome] = []
        self.regressed = False
        self._alpha = alpha
        self._groups: dict[tuple[str, Arm], list[Outcome]] = defaultdict(list)
        self._clusters: dict[str, list[str]] = defaultdict(list)
        apart = {*judging.unpaired, *judging.unanswerable}
        for fixture in judging.contract.fixtures:
            if fixture.id not in apart:
                self._clusters[self._cluster(fixture.id)].append(fixture.id)
        self._fates: dict[str, Fate] = dict.fromkeys(self._clusters, "unknown")

    @property
    def drawn(self) -> bool:
        """Whether every planned trial has its sample."""
        return len(self.outcomes) >= len(self.judging.trials)

    def add(self, sample: Sample) -> None:
        """Judge the next sample in plan order."""
        outcome = judged(sample, self.judging.contract, self.judging.judge)
        self.outcomes.append(outcome)
        trial = sample.trial
        self._groups[trial.fixture, trial.arm].append(outcome)
        if self.judging.base and self.judging.contract.sampling.mode == "adaptive":
            self._look(self._cluster(trial.fixture))

    def _cluster(self, fixture: str) -> str:
        return self.judging.same_input.get(fixture, fixture)

    def _look(self, cluster: str) -> None:
        members = self._clusters.get(cluster)
        if not members:
            return
        sampling = self.judging.contract.sampling
        changes = [fixture_change(sampling, self._groups, fixture) for fixture in members]
        self._fates[cluster] = fate(changes)
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
    """The watch of a whole run: a JudgingWatch for each judging of each contract."""

    def __init__(self, jobs: Sequence[Job], progress: Progress | None = None) -> None:
        paired = sum(j.base is not None for job in jobs for j in job.judgings)
        self._progress = progress
        self._watches: Mapping[str, Mapping[Arm, JudgingWatch]] = {
            job.contract.name: {
                # Holm's first step is the strictest: who is rejected there is rejected for sure.
                judging.by: JudgingWatch(judging, judging.contract.gate.alpha / max(paired, 1))
                for judging in job.judgings
            }
            for job in jobs
        }

    def of(self, job: Job) -> tuple[JudgingWatch, ...]:
        """The watches of a job, head's first."""
        return tuple(self._watches[job.contract.name].values())

    @property
    def outcomes(self) -> tuple[Outcome, ...]:
        """Every outcome of every judging."""
        each = (watch for watches in self._watches.values() for watch in watches.values())
        return tuple(outcome for watch in each for outcome in watch.outcomes)

    def wants(self, trial: Trial) -> bool:
        """Whether the trial can still change its contract's decision: one failure is enough."""
        return not any(w.regressed for w in self._watches[trial.contract].values())

    def add(self, sample: Sample) -> None:
        """Hand the sample to who judges it."""
        self._watches[sample.trial.contract][sample.trial.judged_by].add(sample)
        if self._progress and not sample.shared:
            cost = sample.completion.cost_usd if sample.completion else None
            self._progress.advanced(cost_usd=cost, failed=sample.completion is None)
