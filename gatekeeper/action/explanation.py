"""What the action adds to a check: the edits that made a prompt worse, what changed of its
promises, and contracts for prompts without one.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from gatekeeper.action.workspace import PROPOSED_BY
from gatekeeper.author.promises import explain_promises
from gatekeeper.contract.policies.policy import Policy
from gatekeeper.contract.values.change import Change
from gatekeeper.errors import GatekeeperError
from gatekeeper.gate.results.result import Measurement
from gatekeeper.gate.work import Work
from gatekeeper.numbers import count
from gatekeeper.runs.run_plan import Explain, Explanation


def explain_with_proposals(change: Change, work: Work, folder: Path) -> Explanation:
    """Propose contracts for the changed prompts without one, write them below the folder of the
    reports for the job's artifact, and return notices that name them."""
    from gatekeeper.author.generation.replace_files import replace_files
    from gatekeeper.author.proposed_contracts import propose_contracts

    if os.path.lexists(folder):
        # A link in it could lead anywhere.
        text = f"No contract was proposed, because {folder} already exists in the checkout."
        return Explanation((text,))
    found = propose_contracts(change, work.policy, work.affected.uncovered)
    notices = [*found.notices]
    try:
        if found.recording:
            replace_files({**found.texts, PROPOSED_BY: found.recording}, folder)
    except GatekeeperError as error:
        notices.append(f"The proposed contracts could not be written: {error}")
    else:
        notices += [
            f"A model proposes a contract for {proposal.prompt}, with "
            f"{count(proposal.rules, 'rule')} and {count(proposal.fixtures, 'fixture')}. "
            f"The proposal is {folder.name}/{proposal.contract} in the artifact of this run. To "
            "get the proposal as a pull request, comment /gatekeeper propose."
            for proposal in found.proposals
        ]
    return Explanation(tuple(notices), found.calls, found.cost_usd)


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
    blame = _blame(change, policy) if trusted and policy.blame.cost_usd else None
    promises = explain_promises(change)
    folder = proposals if trusted and policy.propose.cost_usd else None
    if not blame and not promises and not folder:
        return None

    def explain(work: Work, found: Measurement) -> Explanation:
        explained = blame(work, found) if blame and work.trials else Explanation()
        if promises:
            compared = promises(work, found)
            explained = replace(explained, promises=compared.promises).and_more(compared)
        if folder and work.affected.uncovered:
            explained = explained.and_more(explain_with_proposals(change, work, folder))
        return explained

    return explain


def _blame(change: Change, policy: Policy) -> Explain | None:
    from gatekeeper.author.blame.run import blame_within

    return blame_within(policy, (change.base, change.head))
