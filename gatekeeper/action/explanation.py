"""What the action adds to a check: the edits that made a prompt worse, what changed of its
promises, and contracts for prompts without one."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from gatekeeper.contract.specification_path import is_specification

if TYPE_CHECKING:
    from pathlib import Path

    from gatekeeper.contract.change import Change
    from gatekeeper.contract.policy import Policy
    from gatekeeper.gate.pipeline import Measurement
    from gatekeeper.gate.work import Work
    from gatekeeper.runs.session import Explain, Explanation


def explain_check(
    change: Change, policy: Policy, *, trusted: bool, proposals: Path | None = None
) -> Explain | None:
    """Return what explains the check of a change; None if nothing could.

    The harmful edits are searched and contracts proposed if the policy pays for it and the change
    is trusted: a fork's pull request spends nothing beyond its check. Comparing promises calls no
    model.

    Args:
        change: The change.
        policy: The base's.
        trusted: Whether the change is from the repository itself.
        proposals: The folder for proposed contracts; None to propose none.
    """
    blame = _blame(change, policy) if trusted and policy.blame_usd else None
    specified = any(map(is_specification, {*change.base.entries, *change.head.entries}))
    folder = proposals if trusted and policy.propose.cost_usd else None
    if not blame and not specified and not folder:
        return None
    from gatekeeper.runs.session import Explanation

    def explain(work: Work, found: Measurement) -> Explanation:
        explained = blame(work, found) if blame and work.trials else Explanation()
        if specified:
            from gatekeeper.author.promises.change import promises_of_change

            promises, notices = promises_of_change(change)
            explained = replace(explained, promises=promises).and_more(Explanation(notices))
        if folder and work.affected.uncovered:
            from gatekeeper.action.proposals import explain_with_proposals

            explained = explained.and_more(explain_with_proposals(change, work, folder))
        return explained

    return explain


def _blame(change: Change, policy: Policy) -> Explain | None:
    from gatekeeper.author.blame.explain import blame_within

    return blame_within(policy, (change.base, change.head))
