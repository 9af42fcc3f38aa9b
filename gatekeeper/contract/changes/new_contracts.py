"""New contracts of a pull request: what they replace, and which objective they get by default.

A contract without a base version only has its own objectives, which the pull request writes. A
prompt could therefore be replaced by another one together with its contract.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import replace

from gatekeeper import numbers
from gatekeeper.contract.changes.affected import Affected, AffectedContract
from gatekeeper.contract.policies.policy import DEFAULT_SUCCESS_RATE, NewContracts, Policy
from gatekeeper.contract.prompts.reference import prompt_file
from gatekeeper.contract.values.change import Change
from gatekeeper.contract.values.definition import Contract
from gatekeeper.contract.values.objectives import Objective

SUCCESS_RATE = "success_rate"


def hold_new_contracts(affected: Affected, change: Change, policy: Policy) -> Affected:
    """Mark the contracts that have no base version, apply the policy's requirements for new
    contracts, and name files that may replace the prompts of removed contracts."""
    known = change.base.entries.keys()
    old_path = {new: old for old, new in change.renames.items()}
    successors = _successors(affected, known, old_path)
    found = []
    notices = list(affected.notices)
    for contract in affected.contracts:
        if contract.head is None:
            gone = not contract.prompt_still_there
            named = " ".join(successors)
            more = (path for path in contract.successors if path not in named)
            every = (*successors, *more) if gone else ()
            found.append(replace(contract, successors=every))
        elif contract.base is None:
            required = policy.at(*contract.head.places).new_contracts
            head = held_to(required, contract.head)
            found.append(replace(contract, head=head, is_new=True))
            notices += _low_promise(required, contract.head)
        else:
            found.append(contract)
    return replace(affected, contracts=tuple(found), notices=tuple(notices))


def held_to(required: NewContracts, contract: Contract) -> Contract:
    """Return the contract with the success rate that the policy requires of new contracts: the
    policy's own rate as a minimum, or the default if the contract has no success rate of its own.
    An objective on a category or a check, or a tolerance, is not a success rate of all fixtures."""
    rate = required.success_rate
    if rate is None:
        return contract
    if not required.floor:
        return _with_default(contract, rate)
    own = _own_rate(contract)
    if own is not None and own.target >= rate:
        return contract
    floor = replace(own or Objective(SUCCESS_RATE, rate), target=rate, by_policy=True)
    return replace(contract, slo=(floor, *(o for o in contract.slo if o is not own)))


def hold_every_contract(suite: Affected, policy: Policy) -> Affected:
    """Apply the default objective to each contract of a full suite that has no objective on what
    passes, because the suite is compared with nothing. The policy's requirements for new contracts
    do not apply: these contracts are merged."""
    held = []
    for contract in suite.contracts:
        head = contract.head
        rate = policy.at(*head.places).new_contracts.success_rate if head else None
        if head is not None and rate is not None and not _promises(head):
            head = _with_default(head, min(rate, DEFAULT_SUCCESS_RATE))
        held.append(replace(contract, head=head))
    return replace(suite, contracts=tuple(held))


def _with_default(contract: Contract, rate: float) -> Contract:
    if _own_rate(contract) is not None:
        return contract
    return replace(contract, slo=(Objective(SUCCESS_RATE, rate, default=True), *contract.slo))


def _promises(contract: Contract) -> bool:
    """Return whether the contract has an objective on what passes.

    This is enough for a merged contract: it was compared with its base, or had to reach the success
    rate when it was new.
    """
    higher = any(objective.measure.better == "higher" for objective in contract.slo)
    return higher or contract.gate.tolerance is not None


def _own_rate(contract: Contract) -> Objective | None:
    return next((o for o in contract.slo if o.name == SUCCESS_RATE), None)


def _low_promise(required: NewContracts, contract: Contract) -> list[str]:
    """Return a notice about a new contract whose own success rate is lower than the policy
    requires."""
    own, rate = _own_rate(contract), required.success_rate
    if own is None or rate is None or own.target >= rate:
        return []
    wanted = numbers.percent(rate)
    held = f", so {wanted} applies" if required.floor else ""
    return [
        f"The new contract {contract.name} sets the success rate {numbers.percent(own.target)}, "
        f"but `new_contracts.success_rate` in the policy is {wanted}{held}."
    ]


def _successors(
    affected: Affected, known: Set[str], old_path: Mapping[str, str]
) -> tuple[str, ...]:
    """Return new contracts, contracts that now name a prompt that the change adds, and the prompts
    that it adds without a contract."""
    contracts = [
        f"{contract.name} ({contract.head.target.prompt.reference})"
        for contract in affected.contracts
        if contract.head is not None and _is_successor(contract, contract.head, known, old_path)
    ]
    files = {path: prompt_file(path) for path in affected.uncovered}
    prompts = [p for p, file in files.items() if file not in known and file not in old_path]
    return (*contracts, *prompts)


def _is_successor(
    contract: AffectedContract, head: Contract, known: Set[str], old_path: Mapping[str, str]
) -> bool:
    if contract.base is None:
        return True
    before = {prompt.path for prompt in contract.base.target.prompts}
    paths = (prompt.path for prompt in head.target.prompts)
    return any(path not in known and old_path.get(path) not in before for path in paths)
