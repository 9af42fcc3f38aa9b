"""Writes proposed contracts below the folder of the reports, for the job's artifact."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from gatekeeper.action.workspace import PROPOSED_BY
from gatekeeper.author.generation.replace_files import replace_files
from gatekeeper.author.proposed_contracts import propose_contracts
from gatekeeper.errors import GatekeeperError
from gatekeeper.numbers import count
from gatekeeper.runs.run_plan import Explanation

if TYPE_CHECKING:
    from gatekeeper.contract.values.change import Change
    from gatekeeper.gate.work import Work


def explain_with_proposals(change: Change, work: Work, folder: Path) -> Explanation:
    """Propose contracts for the changed prompts without one, write them, and return notices that
    name them."""
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
