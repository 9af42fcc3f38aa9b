"""A notice of changes in the work tree that a comparison of commits leaves out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatekeeper.checks.packages import use_packages
from gatekeeper.checks.registry import SHAPES
from gatekeeper.contract.affected import find_affected
from gatekeeper.errors import ContractError

if TYPE_CHECKING:
    from gatekeeper.contract.policy import Policy
    from gatekeeper.git import Repository

NOTICE = "the work tree has uncommitted changes to prompts or contracts; test them with --worktree"
NOTICE_OF_RUN = (
    "the work tree has uncommitted changes to prompts or contracts; a run "
    "measures a commit, so commit them first"
)


def left_out_of_run(repository: Repository, ref: str, policy: Policy) -> tuple[str, ...]:
    """Return the notice if a run measures HEAD and not the files of the work tree."""
    found = uncommitted(repository, None if ref == "HEAD" else ref, False, policy)
    return (NOTICE_OF_RUN,) if found else ()


def uncommitted(
    repository: Repository, head: str | None, worktree: bool, policy: Policy
) -> tuple[str, ...]:
    """Return the notice if HEAD is tested and the files of the work tree would run contracts."""
    if worktree or head is not None or repository.root is None:
        return ()
    change = repository.worktree_change("HEAD")
    if change.base.entries == change.head.entries:
        return ()
    try:
        use_packages(policy)
        found = find_affected(change, policy, SHAPES)
    except ContractError:
        return (NOTICE,)  # a file that is being written
    return (NOTICE,) if found.contracts or found.uncovered else ()
