"""Runs a contract against the mutants of its prompt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, log2
from typing import TYPE_CHECKING

from gatekeeper.author.mutation.mutants import MUTATIONS, Mutant, Mutation, make_mutants
from gatekeeper.contract.policies.policy import Policy
from gatekeeper.contract.values.definition import Contract
from gatekeeper.errors import UsageError
from gatekeeper.gate.plan.families import levels
from gatekeeper.gate.variants import plan_variants
from gatekeeper.numbers import count

if TYPE_CHECKING:
    from gatekeeper.author.mutation.result import MutationResult
    from gatekeeper.contract.values.change import Revision
    from gatekeeper.gate.results.result import GateResult
    from gatekeeper.gate.work import Work
    from gatekeeper.runs.session import RunOptions

MOST_TEXT = 500_000_000
"""Characters of the prompts in all requests, of both arms. Planning so many takes some seconds."""


@dataclass(frozen=True, slots=True)
class MutationPlan:
    """What a run will do: the mutants by the name of their comparison, and the work."""

    contract: Contract
    mutants: dict[str, Mutant]
    work: Work
    revision: Revision


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
    return MutationPlan(contract, mutants, work, revision)


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


def measure_mutants(
    plan: MutationPlan, options: RunOptions | None = None
) -> tuple[MutationResult, GateResult]:
    """Measure every mutant. Return what was noticed, and the comparisons with their samples, which
    a replay needs. Raises UsageError if the model cannot be called."""
    from gatekeeper.author.mutation.result import summarise_mutants
    from gatekeeper.runs.session import measure

    result = measure(plan.work, (plan.revision,), options)
    return summarise_mutants(plan.contract, plan.mutants, result), result
