"""Proposes contracts for changed prompts that have none, within what the base policy pays for.

A pull request writes the prompts: their text is data for the model, as in every generation
(generation/ask.py). The model, what it may cost, and where contracts belong come from the base
policy. A proposal is files for a person to read. It never becomes a part of a verdict.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from gatekeeper.author.generation.ask import Asker, TooFewCalls, within_limits
from gatekeeper.author.generation.questions import QUESTIONS
from gatekeeper.author.generation.run import (
    Generated,
    GenerateOptions,
    GenerationPlan,
    generate,
    generated_files,
    plan_generation,
)
from gatekeeper.author.generation.tests import Effort
from gatekeeper.contract.models.allowed import AllowedModels, model_problems
from gatekeeper.contract.models.faults import find_faults, with_recordings
from gatekeeper.contract.policies.policy import POLICY_PATH, Limits, Policy
from gatekeeper.contract.values.change import Change, Overlay, Revision
from gatekeeper.contract.values.definition import Position
from gatekeeper.errors import ContractError, GatekeeperError, MeasurementError, UsageError, as_told
from gatekeeper.gate.results.parts import price_if_all_known
from gatekeeper.numbers import count
from gatekeeper.providers import ModelRouter
from gatekeeper.providers.models.cost_estimate import worst_cost
from gatekeeper.providers.models.model_faults import find_model_fault
from gatekeeper.runs.models import open_models
from gatekeeper.runs.signals import with_signals

MOST_PROMPTS = 3
"""For which one run proposes contracts."""
TESTS_PER_RULE = 2
_MOST_CALLS = 60
"""For each prompt."""
_MOST_MINUTES = 6.0
"""For all prompts of a run: the job also has to publish a verdict before its own limit."""
_WORKFLOWS = ".github"


@dataclass(frozen=True, slots=True)
class Proposal:
    """A proposed contract: the prompt's reference, its path, and how much it holds."""

    prompt: str
    contract: str
    rules: int
    fixtures: int


@dataclass(frozen=True, slots=True)
class ProposedContracts:
    """The proposals of one run. `texts` are all their files by their path from the repository root,
    and `recording` every answer of the model. `notices` say for which prompts there is none, and
    why."""

    proposals: tuple[Proposal, ...] = ()
    texts: Mapping[str, str] = field(default_factory=dict)
    recording: str = ""
    notices: tuple[str, ...] = ()
    calls: int = 0
    cost_usd: float | None = 0.0


def propose_contracts(
    change: Change, policy: Policy, uncovered: Sequence[str]
) -> ProposedContracts:
    """Return a proposal for each of the prompts, as far as the budget goes. Raises nothing: a
    failure is a notice.

    Args:
        change: Prompts are read at its head; `recorded/` models only on the branch to merge into.
        policy: The base's.
        uncovered: References of changed prompts without a contract.
    """
    if not policy.propose.cost_usd or not uncovered:
        return ProposedContracts()
    try:
        _require_model(policy, change.base)
        return _propose(change, policy, uncovered)
    except Exception as error:
        # Prompts are a stranger's text, and the verdict must not depend on what becomes of it.
        return ProposedContracts(notices=(f"No contract could be proposed: {as_told(error)}",))


def _require_model(policy: Policy, base: Revision) -> None:
    """Refuse a model that cannot or may not be called, or whose cost cannot be limited."""

    model = policy.propose.model
    named = [(Position(POLICY_PATH), model)]
    faults = find_faults(named, with_recordings(find_model_fault, [base]))
    problems = list(faults.refused)
    if policy.models is not None:  # else its name in the policy is the permission
        problems += model_problems(named, AllowedModels(policy.models, from_policy=True))
    if problems:
        raise ContractError(problems)
    if worst_cost(QUESTIONS["rules"].request(model, {})) is None:
        raise UsageError(
            f"the price of {model} is not known, so gatekeeper cannot limit its cost; choose "
            f"another `propose.model` in {POLICY_PATH}"
        )


def _propose(change: Change, policy: Policy, uncovered: Sequence[str]) -> ProposedContracts:

    client = open_models((change.base,), policy.through_litellm)
    chosen = uncovered[:MOST_PROMPTS]

    async def within(_: object, stop: asyncio.Event) -> ProposedContracts:
        await client.require_keys((policy.propose.model,))
        return await _each(change.head, policy, chosen, client, stop)

    found = asyncio.run(with_signals(client, within))
    left = len(uncovered) - len(chosen)
    if left:
        more = (
            f"No contract was proposed for {count(left, 'more prompt')}, because one run proposes "
            f"contracts for at most {MOST_PROMPTS} prompts."
        )
        found = replace(found, notices=(*found.notices, more))
    return found


async def _each(
    head: Revision,
    policy: Policy,
    references: Sequence[str],
    client: ModelRouter,
    stop: asyncio.Event,
) -> ProposedContracts:
    """Generate for one prompt after the other, so that two never get the same files."""

    until = time.monotonic() + 60 * _MOST_MINUTES
    proposals: list[Proposal] = []
    texts: dict[str, str] = {}
    notices: list[str] = []
    askers: list[Asker] = []
    for reference in references:
        if stop.is_set():
            break
        try:
            plan = plan_generation(Overlay(head, texts) if texts else head, policy, reference)
            _require_new_files(plan, head)
            limits = _limits(policy, len(references), (until - time.monotonic()) / 60)
            lines = plan.prompt.lines_with_text
            asker = Asker(policy.propose.model, client, limits, price=worst_cost, lines=lines)
            askers.append(asker)
            options = GenerateOptions(policy.propose.model, Effort(TESTS_PER_RULE))
            items = await within_limits(generate(plan, asker, options), asker, stop)
            made = generated_files(plan, items, options)
        except TooFewCalls as few:
            notices.append(_too_many_rules(reference, few))
            continue
        except GatekeeperError as error:
            notices.append(f"No contract could be proposed for {reference}: {error}")
            continue
        texts |= made.texts
        proposals.append(_proposal(plan, made))
    return ProposedContracts(
        tuple(proposals),
        texts,
        "".join(asker.recording.text for asker in askers),
        tuple(notices),
        sum(asker.sent for asker in askers),
        price_if_all_known(asker.cost_usd for asker in askers if asker.sent),
    )


def _too_many_rules(reference: str, few: TooFewCalls) -> str:
    return (
        f"No contract could be proposed for {reference}: {few.what}. A proposal can make at "
        f"most {_MOST_CALLS} calls for each prompt; run `gatekeeper generate`, which can make more "
        "calls."
    )


def _limits(policy: Policy, prompts: int, minutes: float) -> Limits:
    """Return what a prompt may take of the budget, and of the minutes that are left."""
    own = policy.limits
    return replace(
        own,
        cost_usd=policy.propose.cost_usd / prompts,
        calls=_MOST_CALLS if own.calls is None else min(own.calls, _MOST_CALLS),
        minutes=minutes if own.minutes is None else min(own.minutes, minutes),
    )


def _proposal(plan: GenerationPlan, made: Generated) -> Proposal:
    rules = len(made.specification.rules)
    return Proposal(plan.prompt.reference, plan.places.contract, rules, len(made.rows))


def _require_new_files(plan: GenerationPlan, head: Revision) -> None:
    """Raise MeasurementError if a proposal would replace a file of the pull request, or write where
    a file is more than a file."""
    for path in plan.places.paths:
        if path in head.entries:
            raise MeasurementError(f"the file {path} already exists; run `gatekeeper generate`")
        if not is_plain_path(path, head):
            raise MeasurementError(f"gatekeeper cannot propose a file at {path!r}")


def is_plain_path(path: str, head: Revision) -> bool:
    """Return whether a new file at the path stays in the repository and is only a file: outside of
    `.git` and `.github`, and not below a link, a submodule or a file."""
    parts = path.split("/")
    above = ("/".join(parts[:length]) for length in range(1, len(parts)))
    return (
        path.isprintable()
        and "\\" not in path
        and not {"", ".", ".."} & {*parts}
        and ".git" not in map(str.lower, parts)
        and parts[0].lower() != _WORKFLOWS
        and head.entries.keys().isdisjoint(above)
    )
