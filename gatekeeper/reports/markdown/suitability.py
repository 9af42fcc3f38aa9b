"""How often each setting of a sweep breaks the prompt's rules, as Markdown and as plain data."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gatekeeper import numbers
from gatekeeper.gate.sweep.compare import SweepResult
from gatekeeper.gate.sweep.pairs import PairOfSettings
from gatekeeper.gate.sweep.suitability import NonCompliance, Suitability, TestSet
from gatekeeper.reports.escape import code, code_cell

TITLE = "Outputs that break a rule, by kind of test"
TITLES: Mapping[TestSet, str] = {
    "rule": "rules",
    "inverse_rule": "inverse rules",
    "both": "both",
    "valid": "valid ones",
    "baseline": "baseline",
}
_MOST_PAIRS = 30
_MOST_NAMED = 10


def suitability_document(result: SweepResult) -> dict[str, Any] | None:
    """Return the view as plain data; None if no fixture was made from a rule. Rates are shares."""
    found = result.suitability
    if found is None:
        return None
    return {
        "tests": dict(found.tests),
        "units": found.units,
        "units_needed": found.units_needed,
        "tests_without_validity": found.unrated,
        "tests_of_other_categories": found.others,
        "settings": [{name: _rate(rate) for name, rate in rates.items()} for rates in found.rates],
        "pairs": [_pair(pair) for pair in found.pairs],
    }


def render_suitability(result: SweepResult) -> str:
    """Render Markdown: the best setting, the table, the pairs; empty without tests of rules."""
    found = result.suitability
    if found is None:
        return ""
    parts = [f"### {TITLE}", fewest_broken_rules(result, found, code)]
    parts += [rates_table(result, found), *suitability_notes(found)]
    parts += [pairs_table(result, found)] if found.pairs else []
    return "\n\n".join(parts)


def fewest_broken_rules(
    result: SweepResult, found: Suitability, quoted: Callable[[str, int], str]
) -> str:
    """Write which setting breaks the fewest rules, and which ones are significantly worse.

    `quoted` writes a setting's name in so many characters.
    """
    best, *others = found.ranked
    rate = found.rates[best]["both"]
    if not rate.measured:
        return "None of the tests has an output that could be measured."
    names = [quoted(cell.setting.name, 120) for cell in result.cells]
    unknown = f" ({rate.unknown:,} unknown)" if rate.unknown else ""
    lead = (
        f"{names[best]} breaks the fewest rules. On tests of rules and inverse rules, "
        f"{numbers.percent(rate.share)} of its outputs break a rule{unknown}."
    )
    lost = [n for n in others if not found.rates[n]["both"].measured]
    worse = [n for n in others if _is_worse(found, best, n, result.alpha)]
    rest = [n for n in others if n not in worse and n not in lost]
    if rest and found.units < found.units_needed:
        lead += f" {_too_few(result, found)}"
        rest = []
    for what, numbered in (
        ("Significantly worse on these tests", worse),
        ("Not significantly worse on these tests", rest),
        ("Not measured", lost),
    ):
        if numbered:
            lead += f" {what}: {_listed([names[n] for n in numbered])}."
    return lead


def suitability_notes(found: Suitability) -> list[str]:
    """Return what a reader has to know of the table, a sentence or two each."""
    kind = _kind(found)
    notes = [
        "Rules and inverse rules together have "
        f"{numbers.count(found.tests['both'], 'test')} in "
        f"{numbers.count(found.units, kind)}. Intervals (95 %) and p-values count "
        f"each {kind} once; "
        "p-values come from the exact two-sided sign-flip test, with Holm's "
        "correction over all pairs."
    ]
    unknown = sum(rate.unknown for rates in found.rates for rate in _once(rates))
    if unknown:
        notes.append(
            f"Outputs that could not be measured: {unknown:,}. The shares leave these outputs out; "
            "intervals and p-values are valid whether or not these outputs comply."
        )
    if found.unrated == found.tests["both"]:
        notes.append("No test says in `metadata.valid` whether the test is valid.")
    elif found.unrated:
        notes.append(
            f"{found.unrated:,} of {numbers.count(found.tests['both'], 'test')} do not say in "
            "`metadata.valid` whether they are valid. These tests do not count as valid."
        )
    elif "valid" not in found.tests:
        notes.append("No test has `metadata: {valid: true}`.")
    if found.others:
        notes.append(f"Fixtures of other categories that this table leaves out: {found.others:,}.")
    return notes


def rates_table(result: SweepResult, found: Suitability) -> str:
    """Render a Markdown table of the settings, the one that breaks the fewest rules first."""
    sets = list(found.tests)
    head = ["setting", *(f"{TITLES[name]} ({found.tests[name]:,})" for name in sets)]
    rows = [
        [_name_cell(result, number), *(_cell(found.rates[number][name]) for name in sets)]
        for number in found.ranked
    ]
    return "\n".join(_row(cells) for cells in (head, ["---"] * len(head), *rows))


def pairs_table(result: SweepResult, found: Suitability) -> str:
    """Render Markdown with every two settings on the tests of both kinds, the least likely to be
    chance first."""
    pairs = sorted(found.pairs, key=lambda pair: (pair.adjusted, pair.p_value))
    head = ["fewer broken rules", "more", "difference", "p, adjusted", "differs"]
    rows = [_pair_cells(result, pair) for pair in pairs[:_MOST_PAIRS]]
    lines = [_row(cells) for cells in (head, ["---"] * len(head), *rows)]
    if len(pairs) > _MOST_PAIRS:
        more = numbers.count(len(pairs) - _MOST_PAIRS, "more pair")
        lines += ["", f"`sweep.json` has {more}."]
    return "\n".join(lines)


def share_text(rate: NonCompliance) -> str:
    """Write `23 % (9/39)`, and how many outputs are unknown."""
    if rate.share is None:
        return f"{numbers.UNKNOWN} ({numbers.count(rate.unknown, 'output')})"
    unknown = f", {rate.unknown:,} unknown" if rate.unknown else ""
    return f"{numbers.percent(rate.share)} ({rate.failed:,}/{rate.measured:,}{unknown})"


def _kind(found: Suitability) -> str:
    return "cluster" if found.clustered else "distinct input"


def _too_few(result: SweepResult, found: Suitability) -> str:
    return (
        "The tests cannot show whether other settings are worse, because the tests have only "
        f"{numbers.count(found.units, _kind(found))}, and a comparison of "
        f"{numbers.count(len(result.cells), 'setting')} needs at least "
        f"{found.units_needed:,}. Compare fewer settings, or add rules with tests."
    )


def _once(rates: Mapping[TestSet, NonCompliance]) -> Sequence[NonCompliance]:
    """Return the sets that have no test in common."""
    return [rate for name, rate in rates.items() if name in ("both", "baseline")]


def _cell(rate: NonCompliance) -> str:
    return f"{share_text(rate)}, {numbers.percent_interval(rate.interval)}"


def _name_cell(result: SweepResult, number: int) -> str:
    setting = result.cells[number].setting
    return f"{code_cell(setting.name, 120)}{' (today)' if setting.current else ''}"


def _pair_cells(result: SweepResult, pair: PairOfSettings) -> list[str]:
    difference = pair.difference
    fewer, more = (
        (pair.second, pair.first) if (difference or 0.0) > 0 else (pair.first, pair.second)
    )
    return [
        code_cell(result.cells[fewer].setting.name, 120),
        code_cell(result.cells[more].setting.name, 120),
        numbers.UNKNOWN if difference is None else numbers.size_in_points(difference),
        numbers.p_value(pair.adjusted, result.alpha, equals=""),
        "yes" if pair.adjusted <= result.alpha else "not shown",
    ]


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _listed(names: Sequence[str]) -> str:
    if len(names) > _MOST_NAMED:
        return f"{', '.join(names[:_MOST_NAMED])} and {len(names) - _MOST_NAMED:,} more"
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def _is_worse(found: Suitability, best: int, other: int, alpha: float) -> bool:
    pair = next(p for p in found.pairs if {p.first, p.second} == {best, other})
    return pair.adjusted <= alpha


def _rate(rate: NonCompliance) -> dict[str, Any]:
    return {
        "non_compliant": rate.failed,
        "measured": rate.measured,
        "planned": rate.planned,
        "share": rate.share,
        "interval": [rate.interval.low, rate.interval.high],
    }


def _pair(pair: PairOfSettings) -> dict[str, Any]:
    more = None if pair.difference is None else -pair.difference
    return {
        "first": pair.first,
        "second": pair.second,
        "units": pair.inputs,
        "more_non_compliant": more,
        "p_value": pair.p_value,
        "adjusted_p_value": pair.adjusted,
    }
