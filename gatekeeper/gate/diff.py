"""Compares two sets of evaluated samples of any time, without calling a model.

The later set counts as head and the earlier one as base, and the analysis is the same as in a
check: paired tests on the fixtures that both have, one family of all contracts. Unlike in a check,
the samples were not taken side by side, so a change of the provider's model looks like a difference
between them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from gatekeeper.checks.evaluate import Evaluator
from gatekeeper.contract.policies.policy import Allow, BudgetPolicy, Policy
from gatekeeper.contract.values.change import Change
from gatekeeper.contract.values.definition import (
    Contract,
    Fixture,
    GatePolicy,
    Prompt,
    SamplingPolicy,
    Target,
)
from gatekeeper.contract.values.trial import Arm, Outcome
from gatekeeper.gate.decision.conclude import conclude
from gatekeeper.gate.decision.verdict import exit_code, worst
from gatekeeper.gate.measuring.monitor import Watches
from gatekeeper.gate.plan.plan import Evaluation, Job
from gatekeeper.gate.results.parts import Calls
from gatekeeper.gate.results.result import ContractResult, GateResult
from gatekeeper.gate.samples.outcomes import duplicates
from gatekeeper.gate.work import Work, plan_check
from gatekeeper.sampling.runner import Run

NOT_SIDE_BY_SIDE = (
    "The earlier and the later side were measured at different times. If a provider changed its "
    "model between these times, the new model causes differences too."
)
_NOTHING_DRAWN = Run((), 0, 0, 0, 0, None, "done")


@dataclass(frozen=True, slots=True)
class Side:
    """The measurements of one side: its evaluated samples, with their commit and prompts.

    `prompts` maps a contract's name to the path of its prompt.
    """

    name: str
    outcomes: tuple[Outcome, ...]
    sha: str | None = None
    prompts: Mapping[str, str] | None = None


def plan_diff(change: Change, policy: Policy, names: Sequence[str] = ()) -> Work:
    """Plan the comparison of a change's sides, without the policy's limits on what may merge."""
    never = BudgetPolicy(freeze=False)
    free = replace(policy, allow=Allow(True, True), require_contract=False, error_budget=never)
    work = plan_check(change, free, names)
    return replace(work, kind="diff", affected=replace(work.affected, uncovered=()))


def compare_sides(earlier: Side, later: Side, names: Sequence[str] = ()) -> GateResult:
    """Return the result of kind `diff`: what got worse from the earlier side to the later one.

    `names` narrows it to those contracts. The level and the margin are those of a contract that
    sets none: samples do not say what theirs set.
    """
    started = datetime.now(UTC)
    before, after = _by_contract(earlier.outcomes), _by_contract(later.outcomes)
    shared = [n for n in before if n in after and (not names or n in names)]
    jobs, notices = [], [NOT_SIDE_BY_SIDE]
    taken: dict[str, tuple[Outcome, ...]] = {}
    for name in shared:
        outcomes, left_out = _paired(before[name], after[name])
        notices += [f"{name}: {text}" for text in left_out]
        if outcomes:
            taken[name] = outcomes
            jobs.append(_job(name, outcomes, earlier, later))
    notices += _of_one_side(before, after, earlier, later, names)
    watches = Watches(jobs)
    for job in jobs:
        (watch,) = watches.of(job)
        for outcome in taken[job.contract.name]:
            watch.take(outcome)
    contracts = conclude(jobs, watches, _NOTHING_DRAWN, None, Policy(), started)
    return _result(earlier, later, contracts, watches.outcomes, notices, started)


def _by_contract(outcomes: Iterable[Outcome]) -> dict[str, list[Outcome]]:
    """Return what the head arm of each contract answered, as its own contract evaluated it."""
    found: dict[str, list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        trial = outcome.sample.trial
        if (trial.arm, trial.contract_from) == ("head", "head"):
            found[trial.contract].append(outcome)
    return found


def _paired(
    before: Sequence[Outcome], after: Sequence[Outcome]
) -> tuple[tuple[Outcome, ...], list[str]]:
    """Return the samples of fixtures that both have, in whole rounds, base and head in turn, and a
    notice about what was left out."""
    samples = {"base": _placed(before), "head": _placed(after)}
    fixtures = [f for f in samples["base"] if f in samples["head"]]
    notices = []
    lone = len({*samples["base"], *samples["head"]}) - len(fixtures)
    if lone:
        notices.append(
            f"{lone} fixtures are left out, because only one side has samples of these fixtures"
        )
    rounds = min((len(samples[arm][f]) for arm in samples for f in fixtures), default=0)
    used = tuple(
        _as_arm(samples[arm][fixture][number], arm, number)
        for number in range(rounds)
        for fixture in fixtures
        for arm in samples
    )
    more = sum(len(d[f]) - rounds for d in samples.values() for f in fixtures)
    if more:
        notices.append(
            f"{more} samples are left out, so that every fixture has the same number of samples on "
            "both sides"
        )
    return used, notices


def _placed(outcomes: Sequence[Outcome]) -> dict[str, list[Outcome]]:
    """Return the samples of each fixture, by repetition."""
    found: dict[str, list[Outcome]] = defaultdict(list)
    for outcome in sorted(outcomes, key=lambda o: o.sample.trial.repetition):
        found[outcome.sample.trial.fixture].append(outcome)
    return found


def _as_arm(outcome: Outcome, arm: str, number: int) -> Outcome:
    stands_for: Arm = "base" if arm == "base" else "head"
    trial = replace(outcome.sample.trial, arm=stands_for, repetition=number)
    return replace(outcome, sample=replace(outcome.sample, trial=trial))


def _job(name: str, outcomes: Sequence[Outcome], earlier: Side, later: Side) -> Job:
    """Return a contract with the fixtures and samples that exist. Nothing is evaluated again."""
    trials = tuple(outcome.sample.trial for outcome in outcomes)
    clusters = {trial.fixture: trial.cluster for trial in trials}
    targets = {
        arm: Target(
            Prompt((side.prompts or {}).get(name, ""), (), ""),
            next(t.request.model for t in trials if t.arm == arm),
            {},
        )
        for arm, side in (("base", earlier), ("head", later))
    }
    contract = Contract(
        name=name,
        path="",
        target=targets["head"],
        fixtures=tuple(Fixture(name, {}, cluster=cluster) for name, cluster in clusters.items()),
        checks=(),
        sampling=SamplingPolicy(samples=1 + max(t.repetition for t in trials), mode="fixed"),
        gate=GatePolicy(),
    )
    evaluation = Evaluation(
        contract_from="head",
        contract=contract,
        base=targets["base"],
        head=targets["head"],
        trials=trials,
        unpaired=(),
        unanswerable=(),
        same_input=duplicates(trials),
        evaluator=Evaluator({}),
        trusted=True,
    )
    return Job(contract, contract, (), (evaluation,), (), None, ())


def _of_one_side(
    before: Mapping[str, object],
    after: Mapping[str, object],
    earlier: Side,
    later: Side,
    names: Sequence[str],
) -> list[str]:
    """Return the contracts that cannot be compared, and the requested ones that were not found."""
    lone = [
        f"the contract {name} has samples only in {side.name}, so it is not compared"
        for side, mine, others in ((earlier, before, after), (later, after, before))
        for name in mine
        if name not in others and (not names or name in names)
    ]
    return lone + [
        f"the contract {name} has no samples on either side"
        for name in names
        if name not in {*before, *after}
    ]


def _result(
    earlier: Side,
    later: Side,
    contracts: Sequence[ContractResult],
    outcomes: tuple[Outcome, ...],
    notices: Sequence[str],
    started: datetime,
) -> GateResult:
    # Nothing compared is nothing shown: it must not read as "not worse".
    verdict = worst(c.verdict for c in contracts) if contracts else "error"
    return GateResult(
        kind="diff",
        verdict=verdict,
        exit_code=exit_code(verdict, "pass"),
        base_sha=earlier.sha,
        head_sha=later.sha or later.name,
        started=started,
        seconds=(datetime.now(UTC) - started).total_seconds(),
        contracts=tuple(contracts),
        calls=Calls(),
        cost_usd=0.0,
        notices=tuple(notices),
        outcomes=outcomes,
    )
