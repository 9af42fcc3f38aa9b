"""Runs a contract against the mutants of its prompt."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil, log2
from statistics import fmean
from typing import Literal

from gatekeeper.author.forecast import Planned, cost_lines
from gatekeeper.author.mutation.mutants import MUTATIONS, Mutant, Mutation, make_mutants
from gatekeeper.contract.changes.affected import Affected, AffectedContract
from gatekeeper.contract.policies.policy import Policy
from gatekeeper.contract.reading.size_limits import QuestionTally
from gatekeeper.contract.values.change import Revision
from gatekeeper.contract.values.definition import Contract, GatePolicy, Prompt
from gatekeeper.contract.values.trial import Arm, Completion, Outcome, Trial
from gatekeeper.errors import UsageError
from gatekeeper.gate.forecast.forecast import estimate_calls
from gatekeeper.gate.plan.alpha import levels
from gatekeeper.gate.plan.questions import forecast_judges, forecast_users, joined
from gatekeeper.gate.results.result import ContractResult, GateResult, PairedResult
from gatekeeper.gate.work import Work, plan_contracts
from gatekeeper.numbers import count
from gatekeeper.runs.execute import execute
from gatekeeper.runs.run_plan import RunPlan
from gatekeeper.sampling.calls import distinct_requests
from gatekeeper.stats.interval import ConfidenceInterval
from gatekeeper.stats.intervals.intervals import wilson
from gatekeeper.stats.paired.power import fixtures_needed


def plan_variants(
    contract: Contract,
    variants: Mapping[str, Prompt],
    policy: Policy,
    revision: Revision,
    order_seed: str | None = None,
) -> Work:
    """Plan to compare the contract's prompt (base) with each variant (head), by the rules of the
    gate. All variants share the calls of the base arm, and one alpha (Holm).

    Args:
        contract: Its objectives, tolerance and limits are left out: only the comparison counts.
        variants: The prompts by the name of their comparison, which must not be the contract's.
        policy: Its limits and allowed models hold.
        revision: Where the contract comes from; the code of its checks is read there.
        order_seed: The seed of the order of the trials; None for a new one.

    Raises ContractError and UsageError.
    """
    compared = (_compared(contract, name, prompt) for name, prompt in variants.items())
    affected = Affected(tuple(one for comparisons in compared for one in comparisons))
    sha = revision.sha
    work = plan_contracts("check", sha, sha, policy, affected, (), (revision,), order_seed)
    # What planning says of each variant would be said as often as there are variants.
    return replace(work, affected=replace(work.affected, notices=()))


def variant_of(name: str, variants: Collection[str]) -> str:
    """Return the variant that a planned contract belongs to: its own name, or for a group of
    checks the name before its last dot."""
    return name if name in variants else name.rpartition(".")[0]


def _compared(contract: Contract, name: str, prompt: Prompt) -> Iterator[AffectedContract]:
    """Yield the contract and its groups as if a pull request changed their prompt, under the
    variant's name. They are parts of one contract, so that identical requests are sent once."""
    for part in (contract, *contract.groups):
        group = part.name.removeprefix(f"{part.part_of}.")
        own = name if part is contract else f"{name}.{group}"
        gate = GatePolicy(alpha=part.gate.alpha, margin=part.gate.margin)
        base = replace(part, name=own, slo=(), gate=gate, groups=(), part_of=contract.name)
        head = replace(base, target=replace(base.target, prompt=prompt))
        yield AffectedContract(
            own,
            contract.path,
            base,
            head,
            (),
            prompt_still_there=True,
            base_target=base.target,
            part_of=contract.name,
        )


MOST_TEXT = 500_000_000
"""Characters of the prompts in all requests, of both arms. Planning so many takes some seconds."""


@dataclass(frozen=True, slots=True)
class MutationPlan:
    """What a run will do: the mutants by the name of their comparison, and the work."""

    contract: Contract
    mutants: dict[str, Mutant]
    work: Work


def plan_mutation(
    contract: Contract,
    policy: Policy,
    revision: Revision,
    mutations: Sequence[Mutation] = MUTATIONS,
    order_seed: str | None = None,
    more: Sequence[Mutant] = (),
) -> MutationPlan:
    """Plan to test the contract against each mutant of its prompt, and against `more` mutants that
    a model made. Calls no model.

    Raises:
        UsageError: The prompt has no part that can be changed, or the plan takes too much memory.
        ContractError: A mutant cannot be rendered, or there are too many calls.
    """
    made = [*make_mutants(contract.target.prompt, mutations), *more]
    made.sort(key=lambda mutant: int(mutant.id.partition("-")[0]))
    mutants = {f"{contract.name} {mutant.id}": mutant for mutant in made}
    if not mutants:
        path = contract.target.prompt.path
        raise UsageError(
            f"{path}: this prompt has no sentence, list item or example that can "
            "be changed; mutations never change the text that fixtures fill in"
        )
    prompts = {name: mutant.prompt for name, mutant in mutants.items()}
    _require_room(contract, len(mutants))
    work = plan_variants(contract, prompts, policy, revision, order_seed)
    return MutationPlan(contract, mutants, work)


def _require_room(contract: Contract, mutants: int) -> None:
    """Raise UsageError if the requests of all comparisons do not fit into memory."""
    prompt, fixtures = contract.target.prompt, len(contract.fixtures)
    length = sum(len(message.content) for message in prompt.messages)
    if 2 * mutants * fixtures * length > MOST_TEXT:
        raise UsageError(
            f"{prompt.path}: {count(mutants, 'mutant')} of {length:,} characters, on "
            f"{count(fixtures, 'fixture')}, make more than {MOST_TEXT // 1_000_000:,} MB of "
            "requests; use fewer mutations, such as --mutations drop, or a contract with fewer "
            "fixtures"
        )


def too_few_fixtures(plan: MutationPlan) -> str | None:
    """Return a warning if no mutant can be noticed: the comparisons share one alpha, and even if
    every fixture breaks, the test does not reject at that level. None if it can."""
    jobs = [job for job in plan.work.jobs if job.paired]
    if not jobs:
        return None
    level = min(levels(jobs).values())
    units = max(len(job.evaluations[0].units()) for job in jobs)
    if 0.5**units <= level:
        return None
    clustered = any(job.evaluations[0].clustered for job in jobs)
    unit = "cluster" if clustered else "fixture"
    return (
        f"The contract cannot notice any mutant, because {count(len(jobs), 'comparison')} "
        f"share its alpha and each comparison must be significant at {level:.2g}. "
        f"{count(units, unit)} cannot reach this level, even if every fixture breaks. Add "
        f"{unit}s: the contract needs {ceil(-log2(level))}. Fewer mutations, such as "
        f"--mutations drop, need fewer {unit}s."
    )


def mutation_estimate_lines(plan: MutationPlan) -> Iterator[str]:
    """Yield how many mutants and calls there are, and what the calls cost: about, if the contract
    notices no mutant, and at most."""
    work = plan.work
    requests = distinct_requests(work.trials)
    judged = forecast_judges(work.jobs, QuestionTally())
    played = forecast_users(work.jobs, QuestionTally())
    named = ((len(judged.most), "judges"), (len(played.most), "simulated users"))
    more = "".join(f", and {number:,} to {who}" for number, who in named if number)
    calls = f"at most {count(len(requests), 'call')}"
    yield f"{count(len(plan.mutants), 'mutant')}, {calls}{more}"
    shared = levels(work.jobs)
    each = [
        estimate_calls(
            job, shared, len(distinct_requests(job.trials)), work.policy.limits.concurrency
        )
        for job in work.jobs
    ]
    made = sum(one.expected for one in each) / max(1, sum(one.most for one in each))
    asked = joined((judged, played))
    planned = [Planned(request, request) for request in requests]
    yield from cost_lines((*planned, *map(Planned, *asked)), made)


Finding = Literal["noticed", "too_few_broke", "not_noticed", "no_effect", "unknown"]
"""`noticed`: the gate blocks the mutant. `too_few_broke`: it does not, although more fixtures broke
than were fixed; this can be chance. `not_noticed`: outputs changed, but no more fixtures broke.
`no_effect`: every output is the same as without the mutation. `unknown`: too few were measured."""

_NOTICES = frozenset({"regression", "slice", "broke", "must_pass"})
_UNMEASURED = frozenset({"error", "limit", "interrupted"})


@dataclass(frozen=True, slots=True)
class MutantResult:
    """What the contract says of one mutant.

    `pairs` counts the answers of both prompts to the same fixture until the decision, and
    `changed_outputs` those of them that differ. `broke` and `fixed` count fixtures. `p_value` and
    `level` are those of the test; None without a comparison. `tokens` are the input tokens that
    each call takes for the part; None if it was not dropped or the provider counts none.
    `fixtures_needed` is how many fixtures, or clusters of them, notice such a share of broken ones
    with probability 0.8; None unless too few broke, or if no number is known.
    """

    mutant: Mutant
    finding: Finding
    pairs: int = 0
    changed_outputs: int = 0
    broke: int = 0
    fixed: int = 0
    p_value: float | None = None
    level: float | None = None
    tokens: float | None = None
    fixtures_needed: int | None = None


@dataclass(frozen=True, slots=True)
class MutationResult:
    """The whole `run`: what its comparisons say of each mutant of the contract's prompt."""

    contract: Contract
    mutants: tuple[MutantResult, ...]
    run: GateResult

    @property
    def prompt(self) -> Prompt:
        """Return the prompt that was mutated."""
        return self.contract.target.prompt

    @property
    def fixtures(self) -> int:
        """Return the number of distinct inputs, or of clusters of them if they are `clustered`."""
        return max((paired.units for paired in self._compared), default=0)

    @property
    def clustered(self) -> bool:
        """Return whether related fixtures count as one."""
        return any(paired.clusters for paired in self._compared)

    @property
    def _compared(self) -> list[PairedResult]:
        return [one.paired for one in self.run.contracts if one.paired]

    @property
    def numbered_lines(self) -> tuple[tuple[int, str], ...]:
        """Return each line of the prompt with its number in the file."""
        lines = self.prompt.text.removesuffix("\n").split("\n")
        numbers = self.prompt.text_lines or range(1, len(lines) + 1)
        return tuple(zip(numbers, lines, strict=False))

    @property
    def score(self) -> float | None:
        """Return the mutation score: the share of mutants with an effect that were noticed; None
        if none had one."""
        noticed, counted = self._counts
        return noticed / counted if counted else None

    @property
    def score_interval(self) -> ConfidenceInterval | None:
        """Return Wilson's 95 % interval of the score, with mutants as independent."""
        noticed, counted = self._counts
        return wilson(noticed, counted) if counted else None

    def count(self, finding: Finding) -> int:
        """Return the number of mutants with this finding."""
        return sum(one.finding == finding for one in self.mutants)

    @property
    def _counts(self) -> tuple[int, int]:
        noticed = self.count("noticed")
        return noticed, noticed + self.count("too_few_broke") + self.count("not_noticed")


def measure_mutants(plan: MutationPlan, run: RunPlan) -> MutationResult:
    """Measure every mutant by the run, and return what its comparisons say of each. Raises
    UsageError if the model cannot be called."""
    return summarise_mutants(plan, execute(run))


def summarise_mutants(plan: MutationPlan, result: GateResult) -> MutationResult:
    """Return what the comparisons of a run say of each mutant."""
    mutants = plan.mutants
    found: dict[str, list[ContractResult]] = defaultdict(list)
    for one in result.contracts:
        found[variant_of(one.name, mutants)].append(one)
    pairs = _pairs(result.outcomes, mutants)
    return MutationResult(
        plan.contract,
        tuple(
            _of_mutant(mutant, found.get(name, ()), pairs.get(name, ()))
            for name, mutant in mutants.items()
        ),
        result,
    )


def _of_mutant(
    mutant: Mutant, found: Sequence[ContractResult], pairs: Sequence[tuple[Completion, Completion]]
) -> MutantResult:
    if not found:
        return MutantResult(mutant, "no_effect")
    changed = sum(_said(base) != _said(head) for base, head in pairs)
    deciding = min(found, key=lambda one: (not _is_noticed(one), -_net_broken(one)))
    paired = deciding.paired
    finding: Finding = "not_noticed"
    if any(map(_is_noticed, found)):
        finding = "noticed"
    elif not pairs or any(r.code in _UNMEASURED for one in found for r in one.reasons):
        finding = "unknown"
    elif not changed:
        finding = "no_effect"
    elif _net_broken(deciding) > 0:
        finding = "too_few_broke"
    return MutantResult(
        mutant,
        finding,
        len(pairs),
        changed,
        paired.broke if paired else 0,
        paired.fixed if paired else 0,
        paired.p_value if paired else None,
        paired.alpha if paired else None,
        _tokens(pairs) if mutant.mutation == "drop" else None,
        _fixtures_needed(paired) if paired and finding == "too_few_broke" else None,
    )


def _is_noticed(found: ContractResult) -> bool:
    return any(r.code in _NOTICES and r.verdict == "fail" for r in found.reasons)


def _net_broken(found: ContractResult) -> int:
    """Return how many more fixtures broke than were fixed."""
    return found.paired.broke - found.paired.fixed if found.paired else 0


def _fixtures_needed(paired: PairedResult) -> int | None:
    """Return how many fixtures, or clusters, would probably be enough, if as large a share of them
    breaks and is fixed. None if no number is."""
    counted = paired.clusters or paired
    measured = paired.units - (0 if paired.clusters else paired.unknown)
    if counted.broke <= counted.fixed:
        return None
    return fixtures_needed(
        counted.broke / measured, paired.alpha, fixed_rate=counted.fixed / measured
    )


def _pairs(
    outcomes: Iterable[Outcome], mutants: Mapping[str, Mutant]
) -> Mapping[str, Sequence[tuple[Completion, Completion]]]:
    """Return the answers of both prompts to the same fixture and repetition, by mutant."""
    answers: dict[tuple[str, str, int], dict[Arm, Completion]] = defaultdict(dict)
    for outcome in outcomes:
        trial: Trial = outcome.sample.trial
        if outcome.sample.completion is not None:
            key = variant_of(trial.contract, mutants), trial.fixture, trial.repetition
            answers[key][trial.arm] = outcome.sample.completion
    pairs: dict[str, list[tuple[Completion, Completion]]] = defaultdict(list)
    for (name, _, _), arms in answers.items():
        if len(arms) == 2:
            pairs[name].append((arms["base"], arms["head"]))
    return pairs


def _said(completion: Completion) -> tuple[object, ...]:
    """Return what the model answered, without what differs from call to call."""
    calls = tuple((call.name, call.arguments) for call in completion.tool_calls)
    return completion.text, completion.cut, calls


def _tokens(pairs: Sequence[tuple[Completion, Completion]]) -> float | None:
    """Return the mean of the input tokens that the part takes; None if they are not known."""
    saved = [
        base.prompt_tokens - head.prompt_tokens
        for base, head in pairs
        if base.prompt_tokens is not None and head.prompt_tokens is not None
    ]
    return fmean(saved) if saved else None
