"""Explains a failing check in the action: names the edits that made it worse, within a budget."""

from __future__ import annotations

import math
from dataclasses import replace

from gatekeeper.author.blame.result import BlameResult, Revert
from gatekeeper.author.blame.run import find_questions, search_causes
from gatekeeper.author.blame.words import cause_sentence, sentences, why_no_revert
from gatekeeper.contract.policies.policy import Policy
from gatekeeper.contract.values.change import Revision
from gatekeeper.errors import GatekeeperError
from gatekeeper.gate.pipeline import Measurement
from gatekeeper.gate.results.blame_result import (
    ContractBlame,
    HarmfulCause,
    HarmfulEdit,
    ProposedRevert,
)
from gatekeeper.gate.work import Work
from gatekeeper.runs.session import Explain, Explanation


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
        costs = [result.cost_usd for result in results]
        known = [cost for cost in costs if cost is not None]
        return Explanation(
            tuple(f"{result.contract}: {' '.join(sentences(result))}" for result in results),
            sum(result.calls.made for result in results),
            math.fsum(known) if len(known) == len(costs) else None,
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
    revert = _proposed(result.revert) if result.revert else None
    return ContractBlame(result.contract, causes, revert, why_no_revert(result))


def _proposed(revert: Revert) -> ProposedRevert | None:
    written = revert.written
    if written is None:
        return None
    return ProposedRevert(written.diff, revert.passed, revert.measured, written.replacement)
