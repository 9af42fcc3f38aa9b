"""Loads several contracts, with all problems of all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gatekeeper.contract.formats.foreign_suite import file_of_contract
from gatekeeper.contract.loading.load import load_contract
from gatekeeper.contract.values.change import Revision
from gatekeeper.contract.values.definition import CheckShape, Contract
from gatekeeper.errors import ContractError, Problem


def load_contracts(
    revision: Revision, paths: Sequence[str], shapes: Mapping[str, CheckShape]
) -> tuple[dict[str, Contract], dict[str, ContractError]]:
    """Return each contract by its path, and the error of each that cannot be loaded."""
    loaded: dict[str, Contract] = {}
    failed: dict[str, ContractError] = {}
    for path in paths:
        try:
            loaded[path] = load_contract(revision, path, shapes)
        except ContractError as error:
            failed[path] = error
    return loaded, failed


def every_problem(failed: Mapping[str, ContractError]) -> list[Problem]:
    """Return the problems of contracts that cannot be loaded, each once."""
    return list(dict.fromkeys(p for error in failed.values() for p in error.problems))


class SharedNameError(ContractError):
    """Contracts that have the same name, so that no result and no waiver can tell them apart."""


def shared_names(names: Mapping[str, Sequence[str]]) -> dict[str, SharedNameError]:
    """Return an error for each contract whose name another one has. `names` maps each name to the
    paths of its contracts."""
    fix = "give each contract its own name"
    found = {}
    for name, paths in names.items():
        for path in paths if len(paths) > 1 else ():
            first = path == paths[0]
            other = f"`{paths[1]}` also has" if first else f"`{paths[0]}` already has"
            what = f"{other} the name `{name}`"
            problem = Problem(file_of_contract(path), what, fix, field="name")
            found[path] = SharedNameError([problem])
    return found
