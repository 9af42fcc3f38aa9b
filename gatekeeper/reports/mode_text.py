"""Writes how a contract's mode applied."""

from __future__ import annotations

import json

from gatekeeper.contract.modes import SENDING
from gatekeeper.gate.result import ContractResult
from gatekeeper.reports.escape import code, prose

_MOST = 1_000
"""Characters of what was added; result.json has all of it."""


def mode_details(contract: ContractResult) -> str:
    """Return the mode, why it applies and what it added to each request; empty for a mode that adds
    nothing to any."""
    found = contract.mode
    if found is None or found.requested not in SENDING:
        return ""
    asked = f"{found.requested} applies"
    if found.applied != found.requested:
        asked = f"{found.requested} acts like {found.applied}"
    added = {
        "nothing": "nothing added",
        "text": f"added to the messages: {code(found.text, _MOST)}",
    }.get(found.added)
    if added is None:
        written = json.dumps(found.params.get(found.added), ensure_ascii=False)
        added = f"added as {code(found.added, 40)}: {code(written, _MOST)}"
    return f"mode {asked} ({prose(found.reason, 300)}); {added}"
