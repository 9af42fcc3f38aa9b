"""Compares two versions of a contract by what they would run and evaluate."""

from __future__ import annotations

from gatekeeper.contract.checks.judge_settings import judges_of
from gatekeeper.contract.files.references import recording_path
from gatekeeper.contract.meaning.digests import (
    contract_digest,
    digest,
    evaluation_meaning,
    target_digest,
)
from gatekeeper.contract.meaning.similar_settings import embedding_models
from gatekeeper.contract.values.definition import Contract


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


def recordings_of(contract: Contract) -> set[str]:
    """Return the files that answer instead of a model: of the contract, its judges, its simulated
    users or its embeddings."""
    parts = (contract, *contract.groups)
    judges = (model for part in parts for spec in part.every_check() for model in judges_of(spec))
    users = (fixture.user.model for fixture in contract.fixtures if fixture.user)
    similar = (model for part in parts for model in embedding_models(part))
    models = (contract.target.model, *judges, *users, *similar)
    return {path for path in map(recording_path, models) if path}


def _recorded_answers(contract: Contract) -> dict[str, str | None]:
    return {path: contract.dependencies.get(path) for path in recordings_of(contract)}
