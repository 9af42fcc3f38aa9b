"""Checks a change in this process, and searches the edits that made it worse."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from gatekeeper.author.blame.measure import Broken, Search, by_evaluation, find_broken
from gatekeeper.author.blame.result import (
    BlameResult,
    cause_sentence,
    sentences,
    why_no_revert,
)
from gatekeeper.contract.policies.policy import Limits, Policy
from gatekeeper.contract.values.change import Revision
from gatekeeper.contract.values.definition import Target
from gatekeeper.contract.values.trial import ContractFrom
from gatekeeper.errors import GatekeeperError
from gatekeeper.gate.plan.plan import Evaluation
from gatekeeper.gate.results.author_results import (
    ContractBlame,
    HarmfulCause,
    HarmfulEdit,
)
from gatekeeper.gate.results.parts import price_if_all_known
from gatekeeper.gate.results.result import ContractResult, GateResult, Measurement
from gatekeeper.gate.work import Work
from gatekeeper.providers.models.cost_estimate import worst_cost
from gatekeeper.reports.redact import environment_redactor
from gatekeeper.runs.models import free_price, open_models
from gatekeeper.runs.run_plan import Explain, Explanation
from gatekeeper.runs.signals import with_signals

_BLAMED = frozenset({"regression", "slice", "broke", "must_pass", "nothing_passes"})


@dataclass(frozen=True, slots=True)
class Question:
    """An evaluation that found head worse, and the fixtures that broke."""

    evaluation: Evaluation
    broken: Broken


def find_questions(work: Work, result: GateResult | Measurement) -> tuple[Question, ...]:
    """Return what to search for: one question for each contract that failed because head is
    worse, by the contract that found it."""
    outcomes = by_evaluation(result.outcomes)
    worse = {
        (contract.name, reason.contract_from): _confirmed(contract, reason.contract_from)
        for contract in result.contracts
        for reason in contract.reasons
        if reason.code in _BLAMED and reason.verdict == "fail"
    }
    found = []
    for job in work.jobs:
        for evaluation in job.evaluations:
            key = job.contract.name, evaluation.contract_from
            broken = find_broken(outcomes.get(key, ()), worse[key]) if key in worse else None
            if broken and evaluation.base is not None:
                found.append(Question(evaluation, broken))
                break
    return tuple(found)


def _confirmed(contract: ContractResult, contract_from: ContractFrom) -> frozenset[str]:
    """Return the fixtures of which fresh samples show that they broke, by one of the contracts that
    apply."""
    found = contract if contract_from == "head" else contract.under_base
    if found is None:
        return frozenset()
    broke = {f.id for f in found.fixtures if f.confirmation and f.confirmation.found == "broke"}
    checks = (m for m in found.must_pass if m.confirmation and m.found == "broke")
    return frozenset(broke | {m.fixture for m in checks})


def search_causes(
    questions: Sequence[Question],
    work: Work,
    revisions: tuple[Revision, ...],
    limits: Limits,
    replay: Path | None = None,
) -> tuple[BlameResult, ...]:
    """Answer the questions one after the other. The results come without the secrets of this
    process's environment. SIGINT and SIGTERM end the search.

    `limits` are for each question. Raises UsageError if a model cannot be called.
    """

    client = open_models(revisions, work.policy.through_litellm, replay)

    async def within(_: object, stop: asyncio.Event) -> tuple[BlameResult, ...]:
        models = {target.model for q in questions for target in _targets(q)}
        await client.require_keys(dict.fromkeys(sorted(models)))
        price = free_price if replay else worst_cost
        searches = (  # one after the other, because the time of each begins with it
            Search(q.evaluation, q.broken, client, limits, price, stop, order_seed=work.order_seed)
            for q in questions
        )
        return tuple([await search.blame((revisions[0], revisions[-1])) for search in searches])

    return environment_redactor().value(asyncio.run(with_signals(client, within)))


def _targets(question: Question) -> Iterable[Target]:
    return [t for t in (question.evaluation.base, question.evaluation.head) if t]


def blame_within(policy: Policy, revisions: tuple[Revision, ...]) -> Explain | None:
    """Return what explains a run within the policy's `blame.cost_usd`; None if that is 0."""
    if not policy.blame.cost_usd:
        return None

    def explain(work: Work, found: Measurement) -> Explanation:
        questions = find_questions(work, found)
        if not questions:
            return Explanation()
        minutes = policy.limits.minutes
        limits = replace(
            policy.limits,
            cost_usd=policy.blame.cost_usd / len(questions),
            minutes=None if minutes is None else minutes / len(questions),
        )
        try:
            results = search_causes(questions, work, revisions, limits)
        except GatekeeperError as error:
            # The verdict is known, and this cannot change it.
            return Explanation((f"The search for harmful edits failed: {error}",))
        return Explanation(
            tuple(f"{result.contract}: {' '.join(sentences(result))}" for result in results),
            sum(result.calls.made for result in results),
            price_if_all_known(result.cost_usd for result in results),
            tuple(finding_of(result) for result in results),
        )

    return explain


def finding_of(result: BlameResult) -> ContractBlame:
    """Return the causes with the lines of their edits, and the revert."""
    causes = tuple(
        HarmfulCause(
            cause_sentence(cause, result.prompt_path),
            tuple(
                HarmfulEdit(edit.text, edit.path, edit.line, edit.end_line) for edit in cause.edits
            ),
        )
        for cause in result.causes
    )
    found, proposed = result.revert, None
    if found and found.written:
        proposed = replace(found.written, passed=found.passed, measured=found.measured)
    return ContractBlame(result.contract, causes, proposed, why_no_revert(result))
