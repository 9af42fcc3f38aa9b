"""What the action adds to a check: the edits that made a prompt worse, and what changed of its
promises."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from gatekeeper.contract.specification_path import is_specification

if TYPE_CHECKING:
    from gatekeeper.contract.change import Change
    from gatekeeper.contract.policy import Policy
    from gatekeeper.gate.pipeline import Measurement
    from gatekeeper.gate.work import Work
    from gatekeeper.runs.session import Explain, Explanation


def explain_check(change: Change, policy: Policy, *, trusted: bool) -> Explain | None:
    """Return what explains the check of a change; None if nothing could.

    The harmful edits are searched if the policy pays for it and the change is trusted: a fork's
    pull request spends nothing beyond its check. Comparing promises calls no model.
    """
    blame = _blame(change, policy) if trusted and policy.blame_usd else None
    if not any(map(is_specification, {*change.base.entries, *change.head.entries})):
        return blame
    from gatekeeper.author.promises.change import promises_of_change
    from gatekeeper.runs.session import Explanation

    def explain(work: Work, found: Measurement) -> Explanation:
        explained = blame(work, found) if blame else Explanation()
        promises, notices = promises_of_change(change)
        return replace(explained, promises=promises, notices=(*explained.notices, *notices))

    return explain


def _blame(change: Change, policy: Policy) -> Explain | None:
    from gatekeeper.author.blame.explain import blame_within

    return blame_within(policy, (change.base, change.head))
