"""Writes the comparison of each category that is decided by itself."""

from __future__ import annotations

from gatekeeper.gate.decision.unit_words import paired_p_value, signed
from gatekeeper.gate.results.result import ContractResult, PairedResult
from gatekeeper.reports.comparison_text import is_significant
from gatekeeper.reports.escape import code


def slice_table(contract: ContractResult) -> tuple[list[str], ...]:
    """Return a row of titles, and a row for each category; nothing without slices."""
    found = contract.paired.slices if contract.paired else ()
    titles = ["Category", "Difference", "Fixtures", "p", "Level", "Result"]
    rows = [[code(one.category or "", 60), *_cells(one)] for one in found]
    return (titles, *rows) if rows else ()


def slice_lines(contract: ContractResult) -> dict[str, str]:
    """Return the comparison of each category as a line of text."""
    found = contract.paired.slices if contract.paired else ()
    return {one.category or "": _line(one) for one in found}


def _line(paired: PairedResult) -> str:
    difference, changed, p, level, said = _cells(paired)
    return f"{said}: {difference}, {changed}, p {p}, level {level}"


def _cells(paired: PairedResult) -> list[str]:
    of = f"{paired.broke:,} broke, {paired.fixed:,} fixed of {paired.fixtures:,}"
    p = paired_p_value(paired, equals="")
    return [signed(paired, paired.difference), of, p, f"{paired.alpha:.3g}", _said(paired)]


def _said(paired: PairedResult) -> str:
    if is_significant(paired):
        return "worse"
    if paired.minimum_detectable_effect is None:
        return "too few fixtures"
    return "not worse" if paired.stopped == "not_worse" else "not significantly worse"
