"""Writes the repairs of both arms in words and as a table."""

from __future__ import annotations

from gatekeeper import numbers
from gatekeeper.gate.results.parts import RepairResult, RepairTally
from gatekeeper.gate.results.result import ContractResult
from gatekeeper.reports.escape import code

_FOUND = {
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
    said = "; ".join(f"{label} {_arm(tally)}" for label, tally in arms if tally)
    proof = ""
    if found.p_value is not None:
        proof = f", p {numbers.p_value(found.p_value, found.level)}"
    return f"{said}; {_FOUND[found.found]}{proof}"


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


def _arm(tally: RepairTally) -> str:
    text = f"{tally.repaired:,} of {numbers.count(tally.answered, 'answer')}"
    if not tally.repaired:
        return text
    steps = ", ".join(f"{code(name, 40)} {count:,}" for name, count in sorted(tally.steps.items()))
    unknown = f", unknown in {tally.unknown:,}" if tally.unknown else ""
    return f"{text} ({steps}; meaning changed in {tally.changed:,}{unknown})"
