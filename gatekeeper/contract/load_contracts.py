"""Loads several contracts, with all problems of all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gatekeeper.contract.change import Revision
from gatekeeper.contract.definition import CheckShape, Contract
from gatekeeper.contract.formats.foreign_suite import file_of_contract
from gatekeeper.contract.load import load_contract
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


def shared_names(names: Mapping[str, Sequence[str]]) -> list[Problem]:
    """Return a problem for each contract whose name another one has. `names` maps each name to the
    paths of its contracts."""
    fix = "give each contract its own name"
    return [
        Problem(
            file_of_contract(path), f"`{paths[0]}` already has the name `{name}`", fix, field="name"
        )
        for name, paths in names.items()
        for path in paths[1:]
    ]
