"""Describes a sweep: the one setting to take, all of them, every two compared, and how often each
breaks the rules of the prompt."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gatekeeper import numbers
from gatekeeper.gate.results.result import ArmResult
from gatekeeper.gate.sweep.compare import Cell as SettingResult
from gatekeeper.gate.sweep.compare import PairOfSettings, SweepResult
from gatekeeper.gate.sweep.grid import said
from gatekeeper.gate.sweep.lift import NONE, Lift
from gatekeeper.gate.sweep.suitability import NonCompliance, Suitability, TestSet
from gatekeeper.reports.document import (
    Cell,
    Document,
    Paragraph,
    Quote,
    Row,
    Section,
    Strong,
    Table,
    Words,
    code,
    columns,
    heat_map,
    joined,
    listed,
)
from gatekeeper.reports.formats.result_json import picked

_TITLES: Mapping[TestSet, str] = {
    "rule": "rules",
    "inverse_rule": "inverse rules",
    "both": "both",
    "valid": "valid ones",
    "baseline": "baseline",
}
_MOST_PAIRS = 30
_MOST_NAMED = 10
_MOST_SEEDS = 5
_DARKEST = 0.66
_NAME = 120


def describe_sweep(result: SweepResult) -> Document:
    """Describe the recommendation, the settings, the pairs that differ, and the tests of rules."""
    found = result.suitability
    return Document(
        ("Sweep of ", code(result.contract, 80)),
        "inconclusive" if result.recommendation.setting is None else "pass",
        (
            *(_lift(lift, result.alpha) for lift in result.lifts),
            *(_recommendation(result), _visible_drop(result)),
        ),
        (
            Section("Map", [_map(result)], drawn=True),
            Section("Settings", [_settings_table(result), _seeds_sent(result)]),
            Section("What differs significantly", [*_differences(result)], id="pairs"),
            *([describe_suitability(result, found)] if found else ()),
        ),
    )


def describe_suitability(result: SweepResult, found: Suitability) -> Section:
    """Describe which setting breaks the fewest rules, each share, and every two compared."""
    return Section(
        "Outputs that break a rule, by kind of test",
        [
            Paragraph(_fewest_broken_rules(result, found)),
            _rates_table(result, found),
            *(Paragraph(note, "quiet") for note in _suitability_notes(found)),
            *([_pairs_table(result, found)] if found.pairs else []),
        ],
        id="suitability",
    )


def sweep_document(result: SweepResult) -> dict[str, Any]:
    """Return the sweep as plain data. Rates are shares; latencies milliseconds; costs USD."""
    calls = result.measured.calls
    return {
        "sweep": 1,
        **picked(result, "contract inputs samples alpha visible_drop=visible"),
        **picked(result.recommendation, "recommended=setting reason"),
        "settings": [_setting_document(cell) for cell in result.cells],
        "pairs": [
            picked(pair, "first second inputs difference p_value adjusted_p_value=adjusted")
            for pair in result.pairs
        ],
        "calls": picked(calls, "made cached failed"),
        **picked(result.measured, "cost_usd ended"),
        "lifts": [
            picked(lift, "than inputs difference interval p_value prompt_tokens=tokens")
            for lift in result.lifts
        ],
        "suitability": _suitability_document(result.suitability) if result.suitability else None,
    }


def _name(result: SweepResult, number: int) -> Quote:
    return code(result.cells[number].setting.name, _NAME)


def _recommendation(result: SweepResult) -> Words:
    found = result.recommendation
    if found.setting is None:
        return (Strong("No recommendation:"), " ", Quote(found.reason), ".")
    setting = result.cells[found.setting].setting
    today = " (as it is today)" if setting.current else ""
    named = (" ", code(setting.name, 200), f"{today}: ")
    return (Strong("Recommended:"), named, Quote(found.reason, 600), ".")


def _lift(lift: Lift, alpha: float) -> Words:
    """Say how much today's instructions add to those of base, or to none, and what they cost."""
    than: Words = "no instructions" if lift.than == NONE else ("those of ", code(lift.than, 80))
    shown = lift.p_value <= alpha and lift.difference
    effect = "no difference is shown" if not shown else "better" if shown > 0 else "worse"
    interval = numbers.points_interval(lift.interval) or numbers.UNKNOWN
    tokens = ""
    if lift.tokens:
        more = "more" if lift.tokens >= 0 else "fewer"
        tokens = f" A call takes {numbers.tokens(abs(lift.tokens))} {more} tokens of prompts."
    p_value = numbers.p_value(lift.p_value, alpha)
    return (
        Strong("Instructions against "),
        than,
        f": {effect}; {numbers.points(lift.difference)}, 95 % interval {interval} "
        f"(p {p_value}).{tokens}",
    )


def _visible_drop(result: SweepResult) -> str:
    """Return what this sweep could not have detected."""
    on = numbers.count(result.inputs, "cluster" if result.clustered else "distinct input")
    if result.visible is None:
        return f"With {on}, no difference between two settings could have been detected."
    return (
        f"With {on}, a sweep has a probability of 80 % or more to detect a drop of at least "
        f"{numbers.size_in_points(result.visible)} between two settings. Smaller drops may go "
        "undetected."
    )


def _settings_table(result: SweepResult) -> Table:
    """Return a row for every setting, the best pass rate first and unmeasured ones last."""
    rates = [cell.arm.success_rate for cell in result.cells]
    order = sorted(range(len(rates)), key=lambda i: (rates[i] is None, -(rates[i] or 0.0)))
    titles = ("pass rate", "95 % interval", "p95 latency", "tokens a call", "cost a call")
    rows = [_setting_row(result, number) for number in order]
    return Table(columns("", "setting", right=titles), rows, "Settings")


def _setting_row(result: SweepResult, number: int) -> Row:
    cell = result.cells[number]
    arm, current = cell.arm, cell.setting.current
    chosen = number == result.recommendation.setting
    lost = f", {numbers.count(arm.failed_calls, 'call')} failed" if arm.failed_calls else ""
    cells: list[Words] = [
        "→" if chosen else ("today" if current else ""),
        (_name(result, number), " (today)" if chosen and current else ""),
        f"{numbers.percent(arm.success_rate)} ({arm.passed:,}/{arm.samples:,}{lost})",
        numbers.percent_interval(arm.interval),
        numbers.milliseconds(arm.latency_p95_ms),
        numbers.tokens(cell.tokens_per_call),
        numbers.dollars(arm.cost_per_call_usd),
    ]
    return Row(cells, "strong" if chosen else ("quiet" if current else "plain"))


def _seeds_sent(result: SweepResult) -> Paragraph:
    """Say which seeds the models got, and for which settings if these differ."""
    names: dict[tuple[int, ...], list[str]] = {}
    for cell in result.cells:
        names.setdefault(cell.seeds, []).append(cell.setting.name)
    if len(names) == 1:
        return Paragraph(f"Seeds sent: {_seeds(*names)}.", "quiet")
    parts: list[Words] = [
        (
            f"{_seeds(seeds)} (",
            joined([Quote(name, _NAME) for name in of[:_MOST_SEEDS]], "; "),
            "; …)" if len(of) > _MOST_SEEDS else ")",
        )
        for seeds, of in names.items()
    ]
    return Paragraph(("Seeds sent: ", joined(parts), "."), "quiet")


def _seeds(seeds: tuple[int, ...]) -> str:
    if len(seeds) > 1:
        return f"{seeds[0]} to {seeds[-1]}, one for each sample of a fixture"
    return str(seeds[0]) if seeds else "none"


def _differences(result: SweepResult) -> Iterator[Paragraph | Table]:
    """Say how many pairs differ, and show these, the most significant first."""
    found = [pair for pair in result.pairs if pair.adjusted <= result.alpha]
    yield Paragraph(_said_of_pairs(result, len(found)))
    if found:
        rows = [_pair_cells(result, pair) for pair in sorted(found, key=lambda pair: pair.adjusted)]
        titles = ("better", "worse", "difference", "p, adjusted")
        yield _table_of_pairs(titles, rows, "What differs significantly")


def _said_of_pairs(result: SweepResult, significant: int) -> str:
    pairs = numbers.count(len(result.pairs), "pair")
    if len(result.pairs) == 1:
        if not significant:
            return "The two settings do not differ significantly."
        return "The two settings differ significantly (exact sign-flip test, two-sided)."
    if not significant:
        return f"None of {pairs} of settings differs significantly."
    return (
        f"{significant:,} of {pairs} of settings "
        f"{'differs' if significant == 1 else 'differ'} significantly "
        "(exact sign-flip test, two-sided, with Holm's correction over all pairs)."
    )


def _pair_cells(result: SweepResult, pair: PairOfSettings) -> list[Words]:
    """Return the better setting, the other one, by how much, and the p-value."""
    difference = pair.difference
    better, worse = pair.first, pair.second
    if (difference or 0.0) > 0:
        better, worse = worse, better
    return [
        _name(result, better),
        _name(result, worse),
        numbers.UNKNOWN if difference is None else numbers.size_in_points(difference),
        numbers.p_value(pair.adjusted, result.alpha, equals=""),
    ]


def _table_of_pairs(titles: Sequence[str], rows: Sequence[Sequence[Words]], label: str) -> Table:
    def left_out(left: int) -> str:
        return f"`sweep.json` has {numbers.count(left, 'more pair')}."

    return Table(titles, rows, label, _MOST_PAIRS, left_out)


def _map(result: SweepResult) -> Table:
    """Return a table coloured by how far below the best each setting is: the last axis across, all
    others down."""
    *down, across = result.cells[0].setting.varied
    rates = [c.arm.success_rate for c in result.cells if c.arm.success_rate is not None]
    cells: dict[tuple[str, str], Cell] = {}
    for number in sorted(range(len(result.cells)), key=lambda n: _place(result, n)):
        found = result.cells[number]
        varied = found.setting.varied
        row = ", ".join(f"{axis} {said(varied[axis])}" for axis in down) or result.contract
        cells[row, f"{across} {said(varied[across])}"] = Cell(
            numbers.percent(found.arm.success_rate),
            (_note(found.arm),),
            level=_below_best(found.arm.success_rate, rates),
            marked=number == result.recommendation.setting,
        )
    caption = (
        "Pass rate: a darker cell is further below the best setting; a frame "
        "marks the recommended setting"
    )
    return heat_map(caption, cells)


def _place(result: SweepResult, number: int) -> tuple[tuple[float, int], ...]:
    """Return the order of a setting: numbers by their size, others in the order of the request."""
    varied = [cell.setting.varied for cell in result.cells]
    return tuple(
        (float(value), 0)
        if isinstance(value, int | float)
        else (-math.inf, next(n for n, other in enumerate(varied) if other[axis] == value))
        for axis, value in varied[number].items()
    )


def _below_best(rate: float | None, rates: Sequence[float]) -> float | None:
    if rate is None:
        return None
    spread = max(rates) - min(rates)
    return _DARKEST * (max(rates) - rate) / spread if spread else 0.0


def _note(arm: ArmResult) -> str:
    interval = numbers.percent_interval(arm.interval)
    cost = arm.cost_per_call_usd
    return interval if cost is None else f"{interval}, {numbers.dollars(cost)} a call"


def _fewest_broken_rules(result: SweepResult, found: Suitability) -> Words:
    """Say which setting breaks the fewest rules, and which ones are significantly worse."""
    best, *others = found.ranked
    rate = found.rates[best]["both"]
    if not rate.measured:
        return "None of the tests has an output that could be measured."
    unknown = f" ({rate.unknown:,} unknown)" if rate.unknown else ""
    lead: list[Words] = [
        _name(result, best),
        " breaks the fewest rules. On tests of rules and inverse rules, "
        f"{numbers.percent(rate.share)} of its outputs break a rule{unknown}.",
    ]
    lost = [n for n in others if not found.rates[n]["both"].measured]
    worse = [n for n in others if _is_worse(found, best, n, result.alpha)]
    rest = [n for n in others if n not in worse and n not in lost]
    if rest and found.units < found.units_needed:
        lead.append(f" {_too_few(result, found)}")
        rest = []
    for what, numbered in (
        ("Significantly worse on these tests", worse),
        ("Not significantly worse on these tests", rest),
        ("Not measured", lost),
    ):
        if numbered:
            lead += [f" {what}: ", listed([_name(result, n) for n in numbered], _MOST_NAMED), "."]
    return tuple(lead)


def _suitability_notes(found: Suitability) -> Iterator[str]:
    """Yield what a reader has to know of the table, a sentence or two each."""
    kind = _kind(found)
    tests = numbers.count(found.tests["both"], "test")
    yield (
        f"Rules and inverse rules together have {tests} in {numbers.count(found.units, kind)}. "
        f"Intervals (95 %) and p-values count each {kind} once; p-values come from the exact "
        "two-sided sign-flip test, with Holm's correction over all pairs."
    )
    # The sets that have no test in common.
    unknown = sum(rates[name].unknown for rates in found.rates for name in _APART if name in rates)
    if unknown:
        yield (
            f"Outputs that could not be measured: {unknown:,}. The shares leave these outputs out; "
            "intervals and p-values are valid whether or not these outputs comply."
        )
    if found.unrated == found.tests["both"]:
        yield "No test says in `metadata.valid` whether the test is valid."
    elif found.unrated:
        yield (
            f"{found.unrated:,} of {tests} do not say in `metadata.valid` whether they are valid. "
            "These tests do not count as valid."
        )
    elif "valid" not in found.tests:
        yield "No test has `metadata: {valid: true}`."
    if found.others:
        yield f"Fixtures of other categories that this table leaves out: {found.others:,}."


_APART: Sequence[TestSet] = ("both", "baseline")


def _rates_table(result: SweepResult, found: Suitability) -> Table:
    """Return a row for each setting, the one that breaks the fewest rules first."""
    titles = ("setting", *(f"{_TITLES[name]} ({count:,})" for name, count in found.tests.items()))
    rows: list[list[Words | Cell]] = [
        [
            (_name(result, number), " (today)" if result.cells[number].setting.current else ""),
            *(_rate_cell(found.rates[number][name]) for name in found.tests),
        ]
        for number in found.ranked
    ]
    caption = "Share of outputs that break a rule; a darker cell has a higher share"
    return Table(titles, rows, caption, kind="heat")


def _rate_cell(rate: NonCompliance) -> Cell:
    """Write `23 % (9/39), 12 % – 40 %`, and how many outputs are unknown."""
    interval = numbers.percent_interval(rate.interval)
    if rate.share is None:
        return Cell(f"{numbers.UNKNOWN} ({numbers.count(rate.unknown, 'output')}), {interval}")
    unknown = f", {rate.unknown:,} unknown" if rate.unknown else ""
    share = f"{numbers.percent(rate.share)} ({rate.failed:,}/{rate.measured:,}{unknown})"
    return Cell(f"{share}, {interval}", level=_DARKEST * rate.share)


def _pairs_table(result: SweepResult, found: Suitability) -> Table:
    """Return every two settings on the tests of both kinds, the least likely to be chance first."""
    pairs = sorted(found.pairs, key=lambda pair: (pair.adjusted, pair.p_value))
    rows = [
        [*_pair_cells(result, pair), "yes" if pair.adjusted <= result.alpha else "not shown"]
        for pair in pairs
    ]
    titles = ("fewer broken rules", "more", "difference", "p, adjusted", "differs")
    return _table_of_pairs(titles, rows, "Pairs of settings")


def _kind(found: Suitability) -> str:
    return "cluster" if found.clustered else "distinct input"


def _too_few(result: SweepResult, found: Suitability) -> str:
    return (
        "The tests cannot show whether other settings are worse, because the tests have only "
        f"{numbers.count(found.units, _kind(found))}, and a comparison of "
        f"{numbers.count(len(result.cells), 'setting')} needs at least "
        f"{found.units_needed:,}. Compare fewer settings, or add rules with tests."
    )


def _is_worse(found: Suitability, best: int, other: int, alpha: float) -> bool:
    pair = next(p for p in found.pairs if {p.first, p.second} == {best, other})
    return pair.adjusted <= alpha


def _setting_document(cell: SettingResult) -> dict[str, Any]:
    return {
        **picked(cell.setting, "varied current model=target.model prompt=target.prompt.reference"),
        **picked(cell, "params=setting.target.params seeds"),
        **picked(cell.arm, "passed samples failed_calls success_rate interval latency_p95_ms"),
        **picked(cell, "tokens_per_call cost_per_call_usd=arm.cost_per_call_usd"),
    }


def _suitability_document(found: Suitability) -> dict[str, Any]:
    """Return the tests of rules as plain data. Rates are shares."""
    left_out = "tests_without_validity=unrated tests_of_other_categories=others"
    return {
        **picked(found, f"tests units units_needed {left_out}"),
        "settings": [
            {
                name: picked(rate, "non_compliant=failed measured planned share interval")
                for name, rate in rates.items()
            }
            for rates in found.rates
        ],
        "pairs": [
            {
                **picked(pair, "first second units=inputs"),
                "more_non_compliant": None if pair.difference is None else -pair.difference,
                **picked(pair, "p_value adjusted_p_value=adjusted"),
            }
            for pair in found.pairs
        ],
    }
