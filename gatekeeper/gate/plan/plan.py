"""One contract's work in a run: which contracts apply, which trials they need, and their results.

Head's contract always applies. The base contract also applies, completely and by its own rules:

- both arms as they would run, if head's contract evaluates differently and the prompt changed or
  the contract was weakened;
- head's prompt file with the base contract's own model, parameters and mode, if head's contract
  sets others and the prompt changed. Otherwise a stronger model could hide a worse prompt;
- head's prompt file read like base's, if head shows another template style, front matter or role
  lines. Otherwise a comment could hide text that the program sends.

Whatever a pull request does to the contract, the prompt must therefore also satisfy the old one.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, partial
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

from gatekeeper.contract.calls.calls import written_by_prompts
from gatekeeper.contract.changes.affected import AffectedContract
from gatekeeper.contract.changes.readings import (
    computed_changes,
    reading_changes,
    reading_weakenings,
)
from gatekeeper.contract.changes.renaming import find_renaming
from gatekeeper.contract.files.references import recording_path
from gatekeeper.contract.meaning.digests import (
    canonical,
    contract_digest,
    params_meaning,
    prompt_digest,
    target_digest,
)
from gatekeeper.contract.meaning.modes import SENDING, Negotiation, negotiate
from gatekeeper.contract.policies.policy import Policy
from gatekeeper.contract.values.calibration_record import Calibrations
from gatekeeper.contract.values.change import AffectedBy
from gatekeeper.contract.values.clusters import (
    clusters_of,
    count_as_one,
    may_count_otherwise,
    members_of,
)
from gatekeeper.contract.values.definition import Contract, Fixture, Target
from gatekeeper.contract.values.nested_texts import nested_texts
from gatekeeper.contract.values.trial import ContractFrom, Trial
from gatekeeper.contract.weakening.weakening import setting_changes, weakenings
from gatekeeper.errors import ContractError, Problem
from gatekeeper.gate.samples.outcomes import duplicates, requests_by_arm
from gatekeeper.sampling.trials import in_order, plan_trials

if TYPE_CHECKING:
    from gatekeeper.checks.evaluate import Evaluator
    from gatekeeper.contract.models.faults import ModelFault
    from gatekeeper.contract.templates.structure import NewLine


# Applies a contract's mode to what it sends.


def negotiated(contract: Contract) -> Negotiation:
    """Return how the contract's mode applies to its model. Raises ContractError for a mode that is
    not possible."""
    if contract.mode not in SENDING:
        return negotiate(contract, None)
    from gatekeeper.providers.native.dialects import find_enforcement

    return negotiate(contract, find_enforcement(contract.target.model))


def as_sent(contract: Contract) -> Target:
    """Return the contract's target with what its mode adds to each request. Raises ContractError
    for a mode that is not possible."""
    found, target = negotiated(contract), contract.target
    if target.steps and contract.mode in SENDING:
        # Only of the base contract applied to head's prompts: the loader refuses one's own.
        what = f"`{contract.mode}` is not possible for a prompt with `steps`"
        fix = "change `mode` and `steps` in separate pull requests"
        raise ContractError([Problem(contract.path, what, fix, field="mode")])
    if found.added == "nothing":
        return target
    return replace(target, params={**target.params, **found.params}, appended=found.text)


def as_evaluated(contract: Contract) -> Contract:
    """Return the contract that repairs outputs as its mode applies: none if `auto` became
    `observe`."""
    if contract.mode == "auto" and negotiated(contract).applied == "observe":
        return replace(contract, mode="observe")
    return contract


def mode_notices(contract: Contract) -> tuple[str, ...]:
    """Return what `auto` became, and why."""
    if contract.mode != "auto":
        return ()
    found = negotiated(contract)
    return (f"`mode: auto` acts like `mode: {found.applied}`, because {found.reason}.",)


@dataclass(frozen=True, slots=True)
class Evaluation:
    """One contract applied to what the arms answer to its own fixtures.

    `by` says whose contract it is. `base` is None if there is nothing to compare with:
    then head alone is evaluated. `unpaired` fixtures have no base arm and are not compared.
    `unanswerable` ones have no head arm; what head would have answered to them is unknown, so
    it may speak for head or against it. `same_input` maps a fixture to the earlier one whose
    input it repeats, `counts_with` to the one that stands for its unit: its input, or its cluster.
    `trusted` says that the rules are those of the base branch. `weights` are those of the units in
    the paired test, from the history; each is 1 if there are none.
    """

    contract_from: ContractFrom
    contract: Contract
    base: Target | None
    head: Target
    trials: tuple[Trial, ...]
    unpaired: tuple[str, ...]
    unanswerable: tuple[str, ...]
    same_input: Mapping[str, str]
    evaluator: Evaluator
    trusted: bool = False
    calibrations: Calibrations = field(default_factory=dict, repr=False)
    weights: Mapping[str, int] = field(default_factory=dict, repr=False)
    counts_with: Mapping[str, str] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        units = count_as_one(self.same_input, clusters_of(self.contract.fixtures))
        object.__setattr__(self, "counts_with", units)

    @property
    def clustered(self) -> bool:
        """Whether related fixtures count as one, so that there are fewer units than inputs."""
        return len(self.counts_with) > len(self.same_input)

    @property
    def apart(self) -> frozenset[str]:
        """Return the fixtures that are not compared: they have no base arm, or are in
        quarantine."""
        held = (f.id for f in self.contract.fixtures if f.quarantine)
        return frozenset((*self.unpaired, *held))

    @property
    def may_repeat(self) -> bool:
        """Whether an arm has temperature 0, so that repeated requests may get the same answer."""
        arms = (self.head, self.base or self.head)
        return any(arm.params.get("temperature") == 0 for arm in arms)

    @property
    def unknown_on_head(self) -> tuple[str, ...]:
        """Return the fixtures that base can answer and that cannot be sent to head."""
        apart = self.apart
        return tuple(f for f in self.unanswerable if f not in apart)

    @property
    def asks_the_same(self) -> bool:
        """Whether both arms are sent the same requests for every fixture."""
        if self.base is None:
            return False
        settings = (canonical([t.model, params_meaning(t.params)]) for t in (self.base, self.head))
        return len(set(settings)) < 2 and self.has_same_messages

    @property
    def has_same_messages(self) -> bool:
        """Whether both prompts make the same messages for every fixture, whatever the models and
        parameters."""
        if self.base is None or self.unpaired or self.unanswerable:
            return False
        base, head = (
            {fixture: prompt_digest(request) for fixture, request in each.items()}
            for each in requests_by_arm(self.trials).values()
        )
        return base == head

    def without_comparison(self) -> Evaluation:
        """Return the same job on head alone. Nothing is rendered again."""
        trials = tuple(trial for trial in self.trials if trial.arm == "head")
        return replace(self, base=None, trials=trials, unpaired=(), same_input=duplicates(trials))

    def planned_on_head(self, rounds: int) -> Counter[str]:
        """Return how many samples of each fixture the first rounds should take on head.

        Fixtures that head cannot take count: their outcome is unknown.
        """
        planned = Counter(
            trial.fixture
            for trial in self.trials
            if trial.arm == "head" and trial.repetition < rounds
        )
        planned.update(dict.fromkeys(self.unanswerable, rounds))
        return planned

    def units(self) -> Mapping[str, Sequence[str]]:
        """Return the fixtures of each unit that both arms can take, by the one that stands for
        it."""
        apart = self.apart.union(self.unanswerable)
        compared = [f.id for f in self.contract.fixtures if f.id not in apart]
        return members_of(self.counts_with, compared)

    def slices(self) -> Mapping[str, Evaluation]:
        """Return the part of each category that has a comparison of its own."""
        fixtures, named = self.contract.fixtures, self.contract.slices if self.base else ()
        return {name: self._part({f.id for f in fixtures if f.category == name}) for name in named}

    def _part(self, ids: Set[str]) -> Evaluation:
        trials = tuple(trial for trial in self.trials if trial.fixture in ids)
        contract = self.contract
        return replace(
            self,
            contract=replace(contract, fixtures=tuple(f for f in contract.fixtures if f.id in ids)),
            trials=trials,
            unpaired=tuple(f for f in self.unpaired if f in ids),
            unanswerable=tuple(f for f in self.unanswerable if f in ids),
            same_input=duplicates(trials),
        )

    def inputs_of(self, fixtures: Sequence[str]) -> Sequence[Sequence[str]]:
        """Group the fixtures by the input that they share."""
        return tuple(members_of(self.same_input, fixtures).values())


@dataclass(frozen=True)  # no slots: the trials are kept
class Job:
    """A contract that runs. `base` is the contract at the base revision, None if it is new.

    `order_seed` gives the order of the trials. `base_problem` says why the base contract, which
    should also apply, cannot be applied. `folder` is that of the policy nearest to the contract at
    base, or at head if it is new; it is empty for the repository's policy.
    """

    contract: Contract
    base: Contract | None
    affected_by: tuple[AffectedBy, ...]
    evaluations: tuple[Evaluation, ...]
    weakened: tuple[str, ...]
    left_prompt: str | None
    notices: tuple[str, ...]
    left_as: str | None = None
    base_problem: Problem | None = None
    is_new: bool = False
    lost_prompt: str | None = None
    successors: tuple[str, ...] = ()
    order_seed: str = ""
    folder: str = ""
    flickering: tuple[str, ...] = ()
    """The fixtures whose result went back and forth in earlier runs of base."""

    @property
    def places(self) -> tuple[str, ...]:
        """Return the paths whose policies apply to it."""
        return (*self.contract.places, *(self.base.places if self.base else ()))

    @property
    def paired(self) -> bool:
        """Whether the arms differ, so that both are sampled."""
        return self.evaluations[0].base is not None

    @property
    def leaves_requests(self) -> bool:
        """Whether the prompt, the model and the parameters send what they sent at base, whatever
        the change does to checks and fixtures."""
        if self.base is None or self.left_prompt or self.successors or self.base_problem:
            return False
        return self.keeps_model and not any(evaluation.base for evaluation in self.evaluations)

    @property
    def keeps_model(self) -> bool:
        """Whether base has a contract with the same model."""
        return self.base is not None and self.base.target.model == self.contract.target.model

    @property
    def leaves_messages(self) -> bool:
        """Whether the prompt makes the messages that it made at base for every fixture, even if
        they are sent to another model or with other parameters."""
        if self.base is None or self.left_prompt or self.successors or self.base_problem:
            return False
        # What is no longer compared sends the same requests, so the same messages.
        return all(e.has_same_messages for e in self.evaluations if e.base)

    @property
    def changes_nothing(self) -> bool:
        """Return whether the same requests are evaluated as at base, with the same answers if the
        model is a recording."""
        base, head = self.base, self.contract
        if base is None or not self.leaves_requests:
            return False
        recording = recording_path(head.target.model)
        recorded = [c.dependencies.get(recording) for c in (base, head)] if recording else []
        return len(set(recorded)) < 2 and not evaluates_differently(base, head)

    @property
    def changes_template(self) -> bool:
        """Whether the prompt's template differs from base's in more than comments and layout, or in
        comments that the program may send."""
        from gatekeeper.contract.templates.structure import is_same_chain

        base, head = self.base, self.contract
        if base is None:
            return False
        renaming = find_renaming(base.fixtures, head.fixtures)
        same = is_same_chain(base.target, head.target, renaming)
        return not same or any(line.in_comment for line in self.unseen_lines)

    @cached_property
    def unseen_lines(self) -> tuple[NewLine, ...]:
        """The new lines of the prompts that no prompt of head writes in any request."""
        from gatekeeper.contract.templates.structure import new_lines

        if self.base is None:
            return ()
        left = new_lines(self.base.target, self.contract.target)
        for text, values in self._written_by_prompts() if left else ():
            left = tuple(line for line in left if not _says(text, line.text.casefold(), values))
        return left

    def _written_by_prompts(self) -> Iterator[tuple[str, Sequence[str]]]:
        """Yield each text that head's prompts write, with the texts of its fixture, without
        case."""
        for evaluation in self.evaluations:
            values = {f.id: nested_texts(f.vars) for f in evaluation.contract.fixtures}
            known = {name: [text.casefold() for text in each] for name, each in values.items()}
            for trial in evaluation.trials:
                if trial.arm == "head" and not trial.repetition:
                    for text in written_by_prompts(trial.request):
                        yield text.casefold(), known[trial.fixture]

    @cached_property
    def trials(self) -> tuple[Trial, ...]:
        """Return the trials of all evaluations, side by side and pair by pair. If one evaluation
        waited for another to finish, all calls would be made before its result could stop the
        sampling."""
        return tuple(trial for _, trial in sorted(self._placed(), key=itemgetter(0)))

    def _placed(self) -> Iterator[tuple[tuple[int, int], Trial]]:
        for evaluation in self.evaluations:
            fixtures: dict[int, dict[str, int]] = defaultdict(dict)
            for trial in evaluation.trials:
                places = fixtures[trial.repetition]
                yield (trial.repetition, places.setdefault(trial.fixture, len(places))), trial

    def in_order(self, order_seed: str) -> Job:
        """Return the same job with its trials in the order of another seed."""
        evaluations = tuple(
            replace(evaluation, trials=in_order(evaluation.trials, order_seed))
            for evaluation in self.evaluations
        )
        return replace(self, evaluations=evaluations, order_seed=order_seed)


def _says(text: str, line: str, values: Sequence[str]) -> bool:
    """Return whether the text has the line elsewhere than in a fixture's values, which a change can
    write as it likes."""
    for value in values if line in text else ():
        text = text.replace(value, "\0") if line in value else text
    return line in text


def plan_job(affected: AffectedContract, policy: Policy, order_seed: str = "") -> Job:
    """Plan an affected contract that exists at head. The order of its trials comes from
    `order_seed`, see sampling/trials.py.

    Raises ContractError if head's prompt does not render or a check cannot be prepared:
    before any model is called.
    """
    head, base = affected.head, affected.base
    if head is None:
        raise ValueError("affected.head: a removed contract has nothing to run")
    fault = _lost_model(base, head)
    if base and fault:
        compared = _called_like(head, base)
        job = plan_job(replace(affected, base=compared, base_target=None), policy, order_seed)
        said = f"The model of base cannot be called: {fault.what}. {_INSTEAD[compared is None]}"
        return replace(job, base=compared and base, notices=(said, *job.notices))
    arms = _arms(affected, head, base)
    differs = base is not None and evaluates_differently(base, head)
    # The base contract is prepared first, so that nothing in head can use up what it needs.
    others: tuple[Evaluation, ...] = ()
    problem = None
    applied = _applied(base, head, policy)
    if applied is not None:
        try:
            differ = differs and applied is base
            others = _evaluations_of_base(applied, head, arms, order_seed, differs=differ)
        except ContractError as error:
            problem = error.problems[0]
    trusted = base is not None and (policy.allow.weakening or not differs)
    lent = _by_id(base)
    own = _evaluation(
        "head", head, arms.head, arms.base, lent, order_seed=order_seed, trusted=trusted
    )
    requests = tuple(requests_by_arm(own.trials).values())
    weakened = weakenings(base, head, requests) if base else ()
    if problem is None:
        own, others = _what_compares(own, others, weakened=bool(weakened))
    if own.base and not own.has_same_messages:
        # Who mends a contract may also loosen it, and nobody can tell.
        problem = problem or affected.base_fault
    if policy.on_weakening == "require_waiver":
        weakened += tuple(reading_weakenings(base.target, head.target)) if base else ()
        weakened += (_UNKNOWN_BASE,) if affected.base_fault else ()
    return Job(
        contract=head,
        base=base,
        affected_by=affected.affected_by,
        evaluations=(own, *others),
        weakened=weakened,
        left_prompt=affected.left_prompt,
        notices=plan_notices(base, head, [other.contract_from for other in others], problem),
        left_as=affected.left_as,
        base_problem=problem,
        is_new=affected.is_new,
        lost_prompt=affected.lost_prompt,
        successors=affected.successors,
        order_seed=order_seed,
        folder=policy.folder_of((base or head).path),
    )


_UNKNOWN_BASE = "the version of base cannot be loaded, so nobody knows what it required"
_INSTEAD = (
    "The prompt and the contract of base are tested with the model of this change.",
    "Base is not compared: the contract is tested like a new one.",
)


def _lost_model(base: Contract | None, head: Contract) -> ModelFault | None:
    """Return why base's model cannot be called, such as that of a provider that closed, if head
    replaces it: base could only end the run."""
    if base is None or base.target.model == head.target.model:
        return None
    from gatekeeper.providers.models.model_faults import find_model_fault

    fault = find_model_fault(base.target.model)
    return fault if fault and fault.certain else None


def _called_like(head: Contract, base: Contract) -> Contract | None:
    """Return base's contract with the model and the parameters of head's, to which it still
    applies; None if the prompt is the same and nothing is weaker, so that nothing is left to
    compare."""
    target = replace(base.target, model=head.target.model, params=head.target.params)
    if target_digest(target) == target_digest(head.target) and not weakenings(base, head):
        return None
    return replace(base, target=target, own_model=head.own_model, own_params=head.own_params)


_BESIDES_TARGET = [one.name for one in fields(Contract) if one.name != "target"]


def _applied(base: Contract | None, head: Contract, policy: Policy) -> Contract | None:
    """Return the contract that applies besides head's. If the policy allows any other contract, it
    is head's own with base's prompt: how that is read is no matter of the contract."""
    if base is None or not policy.allow.weakening:
        return base
    return replace(head, target=base.target) if base.template == head.template else None


class _Arms(NamedTuple):
    """The requests of the arms as they would run. `base` is None if there is nothing to compare
    with: no version at base, or the same requests."""

    head: Target
    base: Target | None


def _arms(affected: AffectedContract, head: Contract, base: Contract | None) -> _Arms:
    target, before = as_sent(head), _base_target(affected, head, base)
    if before is not None and target_digest(before) == target_digest(target):
        before = None
    return _Arms(target, before)


def _evaluations_of_base(
    base: Contract, head: Contract, arms: _Arms, order_seed: str, *, differs: bool
) -> tuple[Evaluation, ...]:
    """Return the base contract's evaluations of the change. Raises ContractError."""
    own, lent = replace(base, name=head.name), _by_id(head)
    plan = partial(_evaluation, order_seed=order_seed, trusted=True)
    found = []
    before = as_sent(own)
    prompt_alone = as_sent(replace(own, target=base.target_for(head.target)))
    unlike = {target_digest(target) for target in (before, arms.head)}
    if target_digest(prompt_alone) not in unlike:
        alike = _settings(prompt_alone) == _settings(arms.head)
        named: ContractFrom = "base_reading" if alike else "base_settings"
        found.append(plan(named, own, prompt_alone, before, lent))
    # Whether fixtures were joined is only known once head's prompt has rendered them.
    weakened = may_count_otherwise(base, head) or weakenings(base, head)
    if differs and (arms.base is not None or weakened):
        found.append(plan("base", own, arms.head, arms.base, lent))
    return tuple(found)


def _settings(target: Target) -> str:
    task = target.task.content if target.task else ""
    return canonical([target.model, params_meaning(target.params), target.appended, task])


def _what_compares(
    own: Evaluation, others: Sequence[Evaluation], *, weakened: bool
) -> tuple[Evaluation, tuple[Evaluation, ...]]:
    """Leave out comparisons of the same requests: they can find nothing, and would take alpha
    from those that can.

    Head's own stays if any of the base contract's compares something, because the prompt did
    change: head may have removed the fixtures that show it.
    """
    kept = tuple(
        evaluation for evaluation in others if evaluation.base and not evaluation.asks_the_same
    )
    alone = [j for j in others if j.contract_from == "base" and j not in kept and weakened]
    if own.asks_the_same and not kept:
        own = own.without_comparison()
    return own, (*kept, *(j.without_comparison() if j.base else j for j in alone))


def _base_target(
    affected: AffectedContract, head: Contract, base: Contract | None
) -> Target | None:
    """Return what the base arm sends: by its own contract, or by head's if that is new."""
    if base is not None:
        return as_sent(base)
    if affected.base_target is None:
        return None
    return as_sent(replace(head, target=affected.base_target))


def evaluates_differently(base: Contract, head: Contract) -> bool:
    """Return whether the contracts differ in more than what is sent."""
    if all(getattr(base, name) is getattr(head, name) for name in _BESIDES_TARGET):
        return False  # variants of one contract, whose digests would take long
    return contract_digest(replace(base, target=head.target)) != contract_digest(head)


def _evaluation(
    contract_from: ContractFrom,
    contract: Contract,
    head: Target,
    base: Target | None,
    lent: Mapping[str, Fixture],
    *,
    order_seed: str,
    trusted: bool,
) -> Evaluation:
    # Here and not above: a change that affects no contract evaluates nothing.
    from gatekeeper.checks.evaluate import prepare

    plan = plan_trials(contract, head, base, lent, contract_from, order_seed)
    return Evaluation(
        contract_from=contract_from,
        contract=as_evaluated(contract),
        base=base,
        head=head,
        trials=plan.trials,
        unpaired=plan.unpaired,
        unanswerable=plan.unanswerable,
        same_input=duplicates(plan.trials),
        evaluator=prepare(contract, targets={"head": head, "base": base or head}),
        trusted=trusted,
    )


def _by_id(contract: Contract | None) -> dict[str, Fixture]:
    fixtures: Sequence[Fixture] = contract.fixtures if contract else ()
    return {fixture.id: fixture for fixture in fixtures}


def plan_notices(
    base: Contract | None,
    head: Contract,
    others: Sequence[ContractFrom],
    problem: Problem | None,
) -> tuple[str, ...]:
    """Return the notices about a contract that runs. `others` are its evaluations besides that by
    head's contract, `problem` is why the base contract cannot be applied."""
    notices = [*mode_notices(head)]
    changes = setting_changes(base, head) if base else ()
    if changes:
        text = f"The contract changes the settings of the model's calls: {'; '.join(changes)}."
        if "base_settings" in others:
            text += " The new prompt is also tested with the settings of the base contract."
        notices.append(text)
    reads_twice = "base_settings" in others or "base_reading" in others
    if base and reads_twice and base.template == head.template:
        notices += reading_changes(base.target, head.target)
    if base:
        notices += (f"{change}." for change in computed_changes(base.target, head.target))
    if problem is not None:
        notices.append(f"The base contract cannot be applied: {problem}")
    return tuple(notices)
