"""Adds what changed of the promises of prompts to the result of a check. Calls no model.

Every check asks this, so it imports the comparison only if a prompt has a specification.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatekeeper.contract.reading.specification_path import is_specification

if TYPE_CHECKING:
    from gatekeeper.contract.values.change import Change
    from gatekeeper.gate.results.result import Measurement
    from gatekeeper.gate.work import Work
    from gatekeeper.runs.run_plan import Explain, Explanation


def explain_promises(change: Change) -> Explain | None:
    """Return what compares the promises of a change; None if no prompt has a specification."""
    if not any(map(is_specification, {*change.base.entries, *change.head.entries})):
        return None

    def explain(_: Work, __: Measurement) -> Explanation:
        from gatekeeper.author.specification.promises import promises_of_change
        from gatekeeper.runs.run_plan import Explanation

        promises, notices = promises_of_change(change)
        return Explanation(notices, promises=promises)

    return explain
