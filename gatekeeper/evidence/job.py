"""One contract's work in a run: who judges, which trials that takes, and what they then show.

Head's contract always judges. The base's judges too, whole and by its own rules, wherever
head's judges differently and the prompt changed or the contract was loosened: whatever a
pull request does to the contract, the prompt must also satisfy the one it found.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter

from gatekeeper.checks.judge import Judge, prepare
from gatekeeper.contract.affected import AffectedContract
from gatekeeper.contract.change import AffectedBy
from gatekeeper.contract.identity import contract_digest, target_digest
from gatekeeper.contract.model import Contract, Fixture, Target
from gatekeeper.contract.policy import Policy
from gatekeeper.contract.trial import Arm, Trial
from gatekeeper.contract.weakening import loosenings
from gatekeeper.errors import ContractError
from gatekeeper.evidence.outcomes import duplicates
from gatekeeper.sampling.plan import as_sent, plan_trials


@dataclass(frozen=True, slots=True)
class Judging:
    """One contract judging what the arms answer to its own fixtures.

    `by` says whose contract it is. `base` is None where there is nothing to compare with:
    then head alone is judged. `unpaired` fixtures have no base arm, `unanswerable` ones no
    head arm. `same_input` maps a fixture to the earlier one whose input it repeats. `trusted`
    says that the rules are those of the base branch.
    """

    by: Arm
    contract: Contract
    base: Target | None
    head: Target
    trials: tuple[Trial, ...]
    unpaired: tuple[str, ...]
    unanswerable: tuple[str, ...]
    same_input: Mapping[str, str]
    judge: Judge
    trusted: bool = False

    def inputs(self) -> Mapping[str, Sequence[str]]:
        """The fixtures of each distinct input that both arms can take, by the first of them."""
        apart = {*self.unpaired, *self.unanswerable}
        members: dict[str, list[str]] = defaultdict(list)
        for fixture in self.contract.fixtures:
            if fixture.id not in apart:
                members[self.same_input.get(fixture.id, fixture.id)].append(fixture.id)
        return members


@dataclass(frozen=True, slots=True)
class Job:
    """A contract that runs. `base` is the contract at the base revision, None where it is new."""

    contract: Contract
    base: Contract | None
    affected_by: tuple[AffectedBy, ...]
    judgings: tuple[Judging, ...]
    weakened: tuple[str, ...]
    left_prompt: str | None
    notices: tuple[str, ...]

    @property
    def paired(self) -> bool:
        """Whether the arms differ, so that both are sampled."""
        return self.judgings[0].base is not None

    @property
    def trials(self) -> tuple[Trial, ...]:
        """Those of all judgings, side by side: one that waited for the other's last would have
        all calls made before it could say that the answer is sure."""
        return tuple(trial for _, trial in sorted(self._placed(), key=itemgetter(0)))

    def _placed(self) -> Iterator[tuple[tuple[int, int], Trial]]:
        for judging in self.judgings:
            drawn: Counter[int] = Counter()
            for trial in judging.trials:
                yield (trial.repetition, drawn[trial.repetition]), trial
                drawn[trial.repetition] += 1


def plan_job(affected: AffectedContract, policy: Policy, order: str = "") -> Job:
    """Plan an affected contract that exists at head. The order of its fixtures is drawn from
    `order`, which names the commits that are compared.

    Raises ContractError where head's prompt does not render or a check cannot be prepared:
    before any model is called.
    """
    head, base = affected.head, affected.base
    if head is None:
        raise ValueError("affected.head: a removed contract has nothing to run")
    target = as_sent(head)
    before = _base_target(affected, head, base)
    if before is not None and target_digest(before) == target_digest(target):
        before = None
    differs = base is not None and _judges_differently(base, head)
    trusted = base is not None and (policy.allow.weakening or not differs)
    judgings = [_judging("head", head, target, before, _by_id(base), order=order, trusted=trusted)]
    weakened = loosenings(base, head) if base else ()
    notices = []
    touched = weakened or before is not None
    if base and touched and differs and not policy.allow.weakening:
        own = replace(base, name=head.name)
        try:
            judgings.append(
                _judging("base", own, target, before, _by_id(head), order=order, trusted=True)
            )
        except ContractError as error:
            # A contract that could never judge must stay repairable by a pull request.
            notices.append(f"The base contract cannot judge: {error.problems[0]}")
    return Job(
        contract=head,
        base=base,
        affected_by=affected.affected_by,
        judgings=tuple(judgings),
        weakened=weakened,
        left_prompt=affected.left_prompt,
        notices=tuple(notices),
    )


def _base_target(
    affected: AffectedContract, head: Contract, base: Contract | None
) -> Target | None:
    """What the base arm sends: by its own contract, or by head's where that is new."""
    if base is not None:
        return as_sent(base)
    if affected.base_target is None:
        return None
    return as_sent(replace(head, target=affected.base_target))


def _judges_differently(base: Contract, head: Contract) -> bool:
    return contract_digest(replace(base, target=head.target)) != contract_digest(head)


def levels(jobs: Sequence[Job]) -> dict[tuple[str, Arm], float]:
    """The strictest level that each comparison of a run is tested at, Holm's first, by contract
    and by who judges.

    There are two families, so that nothing a pull request writes can make the base's contracts
    less sure of what they find: those contracts share alpha among themselves, and what head
    changed or added shares it apart.
    """
    compared = [
        (job.contract.name, judging) for job in jobs for judging in job.judgings if judging.base
    ]
    family = Counter(judging.trusted for _, judging in compared)
    return {
        (name, judging.by): judging.contract.gate.alpha / family[judging.trusted]
        for name, judging in compared
    }


def _judging(
    by: Arm,
    contract: Contract,
    head: Target,
    base: Target | None,
    lent: Mapping[str, Fixture],
    *,
    order: str,
    trusted: bool,
) -> Judging:
    plan = plan_trials(contract, head, base, lent, by, order)
    return Judging(
        by=by,
        contract=contract,
        base=base,
        head=head,
        trials=plan.trials,
        unpaired=plan.unpaired,
        unanswerable=plan.unanswerable,
        same_input=duplicates(plan.trials),
        judge=prepare(contract),
        trusted=trusted,
    )


def _by_id(contract: Contract | None) -> dict[str, Fixture]:
    fixtures: Sequence[Fixture] = contract.fixtures if contract else ()
    return {fixture.id: fixture for fixture in fixtures}
