"""What a record keeps of a contract's mode: how it was called, for whoever audits a past run."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from gatekeeper.contract.definition import RepairMode
from gatekeeper.contract.digests import canonical
from gatekeeper.contract.modes import Added, Negotiation


@dataclass(frozen=True, slots=True)
class ModeRecord:
    """The mode that a contract asked for, the one that applied, and why. `added` says what each
    request got, and `digest` is the SHA-256 of the text, or of the parameters as canonical JSON;
    empty if nothing was added."""

    requested: RepairMode
    applied: RepairMode
    reason: str = ""
    added: Added = "nothing"
    digest: str = ""


def mode_record(found: Negotiation | None) -> ModeRecord | None:
    """Return what to keep of a mode. None for `repair`, the default, and if the mode is not
    known."""
    if found is None or found.requested == "repair":
        return None
    text = found.text or (canonical(found.params) if found.params else "")
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest() if text else ""
    return ModeRecord(found.requested, found.applied, found.reason, found.added, digest)
