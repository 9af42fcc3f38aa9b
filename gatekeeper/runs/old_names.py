"""Gives contracts that were renamed the past that the history keeps under their old names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from gatekeeper.contract.values.change import Change
from gatekeeper.gate.work import Work

if TYPE_CHECKING:
    from gatekeeper.history.store import Past

Since = Callable[[str], Change | None]
"""Returns what changed since a commit; None if the commit is not known."""


def with_old_names(past: Past, work: Work, since: Since | None) -> tuple[Past, Mapping[str, str]]:
    """Return the past under the present names, and the old name of each contract that has been
    renamed since it was last measured."""
    from gatekeeper.checks.registry import SHAPES
    from gatekeeper.contract.files.renamed_contracts import renamed_contracts
    from gatekeeper.history.lineage import (
        commits_of_the_gone,
        under_new_names,
        with_groups_of,
    )

    if since is None or not past.records:
        return past, {}
    names = _names(work)
    known = {record.contract for record in past.records}
    found: dict[str, str] = {}
    for sha in commits_of_the_gone(past.records, names):
        change = since(sha)
        if change is None:
            continue
        renamed = renamed_contracts(change, work.policy, SHAPES)
        for new, old in with_groups_of(renamed, past.records).items():
            if new not in known and old not in found.values():
                found.setdefault(new, old)
    return past._replace(records=under_new_names(past.records, found)), found


def _names(work: Work) -> set[str]:
    """Return the names of the contracts that the history is about: those of base, or of the
    revision that is measured."""
    affected = work.affected
    own = (c.head if work.kind == "run" else c.base for c in affected.contracts)
    return {*affected.others, *(contract.name for contract in own if contract)}
