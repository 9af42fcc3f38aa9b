"""Compares two versions of a contract by what they would run and evaluate."""

from __future__ import annotations

from gatekeeper.contract.definition import Contract
from gatekeeper.contract.digests import contract_digest, digest, evaluation_meaning, target_digest
from gatekeeper.contract.references import recording_path


def differs(base: Contract, head: Contract) -> bool:
    """Return whether head runs or evaluates anything else, or its prompt file alone would: a
    contract that overrides the prompt's front matter must not hide a change of it."""
    # What takes least to digest comes first.
    target = target_digest(base.target)
    return (
        target != target_digest(head.target)
        or target != target_digest(base.target_for(head.target))
        or _recorded_answers(base) != _recorded_answers(head)
        or digest(evaluation_meaning(base)) != digest(evaluation_meaning(head))
        or contract_digest(base) != contract_digest(head)
    )


def _recorded_answers(contract: Contract) -> str | None:
    """Return the digest of the recording that answers instead of a model; None without one."""
    recording = recording_path(contract.target.model)
    return contract.dependencies.get(recording) if recording else None
