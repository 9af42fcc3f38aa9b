"""Applies a contract's mode to what it sends."""

from __future__ import annotations

from dataclasses import replace

from gatekeeper.contract.meaning.modes import SENDING, Negotiation, negotiate
from gatekeeper.contract.values.definition import Contract, Target
from gatekeeper.errors import ContractError, Problem


def negotiated(contract: Contract) -> Negotiation:
    """Return how the contract's mode applies to its model. Raises ContractError for a mode that is
    not possible."""
    if contract.mode not in SENDING:
        return negotiate(contract, None)
    from gatekeeper.providers.native.output_format import find_enforcement

    return negotiate(contract, find_enforcement(contract.target.model))


def as_sent(contract: Contract) -> Target:
    """Return the contract's target with what its mode adds to each request. Raises ContractError
    for a mode that is not possible."""
    found, target = negotiated(contract), contract.target
    if target.steps and contract.mode in SENDING:
        # Only of the base contract applied to head's prompts: the loader refuses one's own.
        what = f"`{contract.mode}` is not possible for a prompt with `steps`"
        fix = "change `mode` and `steps` in separate pull requests"
        raise ContractError([Problem(contract.path, what, fix, field="mode")])
    if found.added == "nothing":
        return target
    return replace(target, params={**target.params, **found.params}, appended=found.text)


def as_evaluated(contract: Contract) -> Contract:
    """Return the contract that repairs outputs as its mode applies: none if `auto` became
    `observe`."""
    if contract.mode == "auto" and negotiated(contract).applied == "observe":
        return replace(contract, mode="observe")
    return contract


def mode_notices(contract: Contract) -> tuple[str, ...]:
    """Return what `auto` became, and why."""
    if contract.mode != "auto":
        return ()
    found = negotiated(contract)
    return (f"`mode: auto` acts like `mode: {found.applied}`, because {found.reason}.",)
