"""A notice of changes in the work tree that a comparison of commits leaves out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gatekeeper import numbers
from gatekeeper.checks.packages import use_packages
from gatekeeper.checks.registry import SHAPES
from gatekeeper.contract.changes.affected import find_affected
from gatekeeper.errors import ContractError

if TYPE_CHECKING:
    from gatekeeper.contract.policies.policy import Policy
    from gatekeeper.git import Repository

NOT_TESTED = "uncommitted changes are not tested"
_COMMIT = "commit these changes first"
_COMMIT_OR_WORKTREE = "commit these changes, or test these changes with --worktree"
_MOST_NAMED = 3


def left_out_of_run(repository: Repository, ref: str, policy: Policy) -> tuple[str, ...]:
    """Return the notice if a run measures HEAD and not the files of the work tree."""
    return () if ref != "HEAD" else _notice(repository, policy, _COMMIT)


def uncommitted(
    repository: Repository, head: str | None, worktree: bool, policy: Policy
) -> tuple[str, ...]:
    """Return the notice if HEAD is tested and the files of the work tree would run contracts."""
    if worktree or head is not None:
        return ()
    return _notice(repository, policy, _COMMIT_OR_WORKTREE)


def _notice(repository: Repository, policy: Policy, advice: str) -> tuple[str, ...]:
    """Return the notice, with the contracts that the changes affect, or the prompts without one."""
    if repository.root is None or not repository.has_uncommitted_changes():
        return ()
    change = repository.worktree_change("HEAD")
    try:
        use_packages(policy)
        found = find_affected(change, policy, SHAPES)
    except ContractError:
        # A file that is being written.
        return (f"{NOT_TESTED}: {advice}",)
    named = _named([contract.path for contract in found.contracts] or found.uncovered)
    return (f"{NOT_TESTED}, although they affect {named}; {advice}",) if named else ()


def _named(paths: Sequence[str]) -> str:
    """Name the first of the files; "" for none."""
    rest = len(paths) - _MOST_NAMED
    more = [numbers.count(rest, "more file")] if rest > 0 else []
    return " and ".join(filter(None, [", ".join(paths[:_MOST_NAMED]), *more]))
