"""Writes the change of cost, tokens and latency of a call from base to head in words."""

from __future__ import annotations

from collections.abc import Sequence

from gatekeeper import numbers
from gatekeeper.contract.values.resource_limits import LimitName, ResourceLimit
from gatekeeper.gate.results.parts import (
    LimitFinding,
    LimitResult,
    Resource,
    ResourceChange,
)
from gatekeeper.gate.results.result import ContractResult
from gatekeeper.reports.escape import code

_LABELS: dict[Resource, str] = {
    "cost_per_call_usd": "cost",
    "tokens_per_call": "tokens",
    "latency_p50_ms": "latency p50",
    "latency_p95_ms": "latency p95",
}
_UNITS: dict[Resource, numbers.Unit] = {
    "cost_per_call_usd": "usd",
    "tokens_per_call": "tokens",
    "latency_p50_ms": "ms",
    "latency_p95_ms": "ms",
}
_LIMITED: dict[LimitName, Resource] = {
    "cost": "cost_per_call_usd",
    "tokens": "tokens_per_call",
    "latency_p50": "latency_p50_ms",
    "latency_p95": "latency_p95_ms",
}
_FOUND: dict[LimitFinding, str] = {
    "kept": "kept",
    "exceeded": "exceeded",
    "open": "above, could be chance",
    "unknown": "open, samples missing",
}
_MOST = 3
"""Contracts named in one line."""


def changed(contract: ContractResult) -> tuple[ResourceChange, ...]:
    """Return the resources that differ significantly and by an amount that matters."""
    return tuple(r for r in contract.paired.resources if r.differs) if contract.paired else ()


def cell_lines(contract: ContractResult) -> tuple[str, ...]:
    """Return a line for each resource that differs:

    `cost +330 % [+318, +341]`, and one for each other that exceeds a limit or may exceed it.
    """
    found = changed(contract)
    limited = {_LIMITED[limit.name]: limit for limit in contract.limits if limit.found != "kept"}
    for resource in found:
        limited.pop(resource.resource, None)
    return (
        *(
            f"{_LABELS[r.resource]} {numbers.change(r.relative)} "
            f"{numbers.change_interval(r.interval)}"
            for r in found
        ),
        *(f"{_LABELS[name]} {_in_short(limit)}" for name, limit in limited.items()),
    )


def _in_short(limit: LimitResult) -> str:
    if limit.relative is None:
        return "unknown" if limit.found == "unmeasured" else _FOUND[limit.found]
    return numbers.change(limit.relative)


def rise(contracts: Sequence[ContractResult]) -> str:
    """Write the largest rise for the title: `a call of `x` costs 330 % more`; empty without one."""
    risen = [
        (found, contract)
        for contract in contracts
        for found in changed(contract)
        if (found.relative or 0) > 0
    ]
    if not risen:
        return ""
    # Tokens are what cost and latency come from.
    found, contract = min(
        risen,
        key=lambda pair: (pair[0].resource == "tokens_per_call", -(pair[0].relative or 0)),
    )
    more = numbers.percent(found.relative)
    name = code(contract.name, 60)
    if found.resource == "cost_per_call_usd":
        return f"a call of {name} costs {more} more"
    if found.resource == "tokens_per_call":
        return f"a call of {name} takes {more} more tokens"
    return f"the {_LABELS[found.resource]} of {name} is {more} higher"


def sentence(contracts: Sequence[ContractResult], *, only_changes: bool) -> str:
    """Write one line on cost and latency.

    Unless `only_changes`, it also says that nothing changed.
    """
    found = [(contract, changed(contract)) for contract in contracts]
    differing = [(contract, changes) for contract, changes in found if changes]
    if differing:
        several = len(contracts) > 1
        said = "; ".join(
            f"{code(contract.name, 60) + ' ' if several else ''}"
            f"{', '.join(f'{describe(c)} ({numbers.change(c.relative)})' for c in changes)}"
            for contract, changes in differing[:_MOST]
        )
        left = len(differing) - _MOST
        more = f"; and {numbers.count(left, 'more contract')}" if left > 0 else ""
        return f"**Cost and latency:** {said}{more}."
    measured = [c for contract in contracts if contract.paired for c in contract.paired.resources]
    evaluated = [c for c in measured if c.interval is not None]
    if only_changes or not evaluated:
        return ""
    if len(contracts) == 1:
        shown = ", ".join(describe(c) for c in evaluated)
        return f"**Cost and latency:** no clear change: {shown}."
    return "**Cost and latency:** no clear change."


def describe(found: ResourceChange) -> str:
    """Write `cost 0.0010 → 0.0043 USD`."""
    changed_amount = numbers.transition(found.base, found.head, _UNITS[found.resource])
    return f"{_LABELS[found.resource]} {changed_amount}"


def details(contract: ContractResult) -> str:
    """Return every resource with its interval, for how a contract was decided."""
    resources = contract.paired.resources if contract.paired else ()
    return "; ".join(f"{describe(found)}{_around(found)}" for found in resources)


def limit_details(contract: ContractResult) -> str:
    """Return every limit with its result, for how a contract was decided."""
    return "; ".join(_limit(found) for found in contract.limits)


def _limit(found: LimitResult) -> str:
    label = _LABELS[_LIMITED[found.name]]
    limit = f"{label} {ResourceLimit(found.name, found.limit)}"
    if found.found == "unmeasured":
        return f"{limit}: unknown for some calls"
    proof = ""
    if found.found == "exceeded":
        least = None if found.low is None else numbers.change(found.low)
        low = "" if least in (None, numbers.change(found.relative)) else f"at least {least}, "
        proof = f" ({low}p {numbers.p_value(found.p_value, found.level)})"
    needs = ""
    if found.inputs < found.inputs_needed:
        needs = f", needs {found.inputs_needed:,} inputs, has {found.inputs:,}"
    return f"{limit}: {_FOUND[found.found]}, {numbers.change(found.relative)}{proof}{needs}"


def _around(found: ResourceChange) -> str:
    if found.relative is None:
        return ""
    interval = numbers.change_interval(found.interval)
    return f", {numbers.change(found.relative)}{f' {interval}' if interval else ''}"
