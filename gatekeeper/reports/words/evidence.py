"""Writes the evidence beside the comparison: cost and latency, repairs, categories, and steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gatekeeper import numbers
from gatekeeper.contract.values.objectives import LimitName, ResourceLimit
from gatekeeper.gate.decision.unit_words import paired_p_value, signed
from gatekeeper.gate.results.parts import (
    LimitFinding,
    LimitResult,
    RepairResult,
    RepairTally,
    Resource,
    ResourceChange,
    StepResult,
)
from gatekeeper.gate.results.result import ArmResult, ContractResult, PairedResult
from gatekeeper.reports.escape import code
from gatekeeper.reports.words.comparison_text import is_significant

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
_LIMITS: dict[LimitFinding, str] = {
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
        return "unknown" if limit.found == "unmeasured" else _LIMITS[limit.found]
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
    return "; ".join(_limit_text(found) for found in contract.limits)


def _limit_text(found: LimitResult) -> str:
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
    return f"{limit}: {_LIMITS[found.found]}, {numbers.change(found.relative)}{proof}{needs}"


def _around(found: ResourceChange) -> str:
    if found.relative is None:
        return ""
    interval = numbers.change_interval(found.interval)
    return f", {numbers.change(found.relative)}{f' {interval}' if interval else ''}"


_REPAIRED = {
    "worse": "significantly more often on head",
    "kept": "not significantly more often on head",
    "unknown": "unknown, because calls failed",
    "untested": "not compared",
}


def repair_details(contract: ContractResult) -> str:
    """Return how often each arm needed repairs, and what they changed; empty if no output did."""
    found = contract.repairs
    if found is None or not _any_repairs(found):
        return ""
    arms = [("base", found.base), ("head", found.head)]
    said = "; ".join(f"{label} {_repaired_on(tally)}" for label, tally in arms if tally)
    proof = ""
    if found.p_value is not None:
        proof = f", p {numbers.p_value(found.p_value, found.level)}"
    return f"{said}; {_REPAIRED[found.found]}{proof}"


def repair_table(contract: ContractResult) -> tuple[list[str], ...]:
    """Return the pass rate of each arm by how many of its repairs are applied: a row of titles, and
    a row for each depth; nothing if no output was repaired."""
    found = contract.repairs
    if found is None or not _any_repairs(found):
        return ()
    tallies = [tally for tally in (found.base, found.head) if tally]
    titles = ["Repairs applied", *(("Base passes", "Head passes")[-len(tallies) :])]
    rows = [
        [
            "none" if depth == 0 else f"at most {depth:,}",
            *(numbers.percent(tally.by_depth[depth].rate) for tally in tallies),
        ]
        for depth in range(len(found.head.by_depth))
    ]
    return (titles, *rows)


def _any_repairs(found: RepairResult) -> bool:
    return bool(found.head.repaired or (found.base and found.base.repaired))


def _repaired_on(tally: RepairTally) -> str:
    text = f"{tally.repaired:,} of {numbers.count(tally.answered, 'answer')}"
    if not tally.repaired:
        return text
    steps = ", ".join(f"{code(name, 40)} {count:,}" for name, count in sorted(tally.steps.items()))
    unknown = f", unknown in {tally.unknown:,}" if tally.unknown else ""
    return f"{text} ({steps}; meaning changed in {tally.changed:,}{unknown})"


def slice_table(contract: ContractResult) -> tuple[list[str], ...]:
    """Return a row of titles, and a row for each category; nothing without slices."""
    found = contract.paired.slices if contract.paired else ()
    titles = ["Category", "Difference", "Fixtures", "p", "Level", "Result"]
    rows = [[code(one.category or "", 60), *_slice_cells(one)] for one in found]
    return (titles, *rows) if rows else ()


def slice_lines(contract: ContractResult) -> dict[str, str]:
    """Return the comparison of each category as a line of text."""
    found = contract.paired.slices if contract.paired else ()
    return {one.category or "": _slice_line(one) for one in found}


def _slice_line(paired: PairedResult) -> str:
    difference, changed, p, level, said = _slice_cells(paired)
    return f"{said}: {difference}, {changed}, p {p}, level {level}"


def _slice_cells(paired: PairedResult) -> list[str]:
    of = f"{paired.broke:,} broke, {paired.fixed:,} fixed of {paired.fixtures:,}"
    p = paired_p_value(paired, equals="")
    return [signed(paired, paired.difference), of, p, f"{paired.alpha:.3g}", _slice_said(paired)]


def _slice_said(paired: PairedResult) -> str:
    if is_significant(paired):
        return "worse"
    if paired.minimum_detectable_effect is None:
        return "too few fixtures"
    return "not worse" if paired.stopped == "not_worse" else "not significantly worse"


LAST = "last prompt"
"""How the last step is called, which has no name."""


def plain_step(step: StepResult) -> str:
    """Return what text without markup calls a step."""
    return f"the {LAST}" if step.name is None else f"step {step.name}"


def code_step(step: StepResult) -> str:
    """Return what Markdown calls a step."""
    return f"the {LAST}" if step.name is None else f"step {code(step.name, 40)}"


def broke_at(contract: ContractResult, named: Callable[[StepResult], str]) -> str:
    """Return at which step most of head's failed samples broke first; empty for a single prompt and
    without failures."""
    steps = contract.head.steps if contract.head else ()
    failed = sum(step.broke for step in steps)
    if not failed:
        return ""
    worst = max(steps, key=lambda step: step.broke)
    return f"broke at {named(worst)} in {worst.broke:,} of {numbers.count(failed, 'failed sample')}"


def step_table(contract: ContractResult) -> tuple[list[str], ...]:
    """Return the pass rate of each step on both arms: a row of titles, and a row for each step of
    head; nothing for a single prompt."""
    if contract.head is None or not contract.head.steps:
        return ()
    before = {step.name: step for step in contract.base.steps} if contract.base else {}
    titles = ["Step", *(["Base passes"] if contract.base else []), "Head passes", "Broke first"]
    rows = [
        [
            f"the {LAST}" if step.name is None else code(step.name, 40),
            *([_step_rate(before.get(step.name))] if contract.base else []),
            _step_rate(step),
            f"{step.broke:,}",
        ]
        for step in contract.head.steps
    ]
    return (titles, *rows)


def prompt_texts(arm: ArmResult) -> str:
    """Return the text of an arm's prompt; of a chain those of all steps, each under its name."""
    if not arm.steps:
        return arm.prompt_text
    return "\n\n".join(f"[{step.name or LAST}]\n{step.prompt_text}" for step in arm.steps)


def _step_rate(step: StepResult | None) -> str:
    if step is None or step.rate is None:
        return numbers.NONE
    return f"{numbers.percent(step.rate)} ({step.passed:,}/{step.samples:,})"
