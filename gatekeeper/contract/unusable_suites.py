"""What a suite of another tool that cannot be used at head means for the contracts that it held.

One such suite does not stop the gate for the others. But a pull request must not remove a contract
by breaking its suite. Contracts that share a name since before the change are such files, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set

from gatekeeper.contract.formats.foreign_suite import NothingToRunError
from gatekeeper.contract.load_contracts import SharedNameError
from gatekeeper.contract.pairing import Side
from gatekeeper.contract.references import Sketch
from gatekeeper.errors import ContractError, Problem


def unusable_suite(sketch: Sketch, error: ContractError) -> str:
    """Return a notice on contracts of another tool's file that are not run."""
    what = "the contracts" if sketch.path == sketch.file else f"the contract {sketch.name}"
    return f"Gatekeeper does not run {what} of {sketch.file}: {error.problems[0]}"


def broken_contracts(
    unusable: Sequence[tuple[Sketch, ContractError]], left: Mapping[str, Side], changed: Set[str]
) -> tuple[dict[str, Problem], dict[str, Problem], list[str]]:
    """Map each contract of base whose suite can no longer be used at head to what is wrong there,
    and each suite with a mistake on both sides of which the change touches a file. `left` are the
    contracts of base that no contract of head continues.

    Return notices, too: on other suites that could not be used at base either, and on new ones of
    which gatekeeper can run nothing. Raises ContractError for a mistake in a suite that base does
    not have.
    """
    broken: dict[str, Problem] = {}
    unknown: dict[str, Problem] = {}
    notices: list[str] = []
    problems: list[Problem] = []
    for sketch, error in unusable:
        if isinstance(error, SharedNameError):
            if sketch.depends_on(changed):
                unknown[sketch.path] = error.problems[0]
            else:
                notices.append(unusable_suite(sketch, error))
            continue
        before = [side for side in left.values() if side.file == sketch.file]
        usable = [side.sketch.path for side in before if side.load() is not None]
        if usable:
            broken |= dict.fromkeys(usable, error.problems[0])
        elif isinstance(error, NothingToRunError) or (before and not sketch.depends_on(changed)):
            notices.append(unusable_suite(sketch, error))
        elif before:
            unknown[sketch.path] = error.problems[0]
        else:
            problems += error.problems
    if problems:
        raise ContractError(list(dict.fromkeys(problems)))
    return broken, unknown, notices
