"""Describes the result of a check or run, and what one would take, in lines for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gatekeeper import numbers
from gatekeeper.contract.values.objectives import label_of
from gatekeeper.gate.results.parts import FixtureResult
from gatekeeper.gate.results.result import ContractResult, GateResult, PairedResult
from gatekeeper.reports.described.failures import describe_each_check, describe_failures
from gatekeeper.reports.document import (
    Block,
    Cell,
    Column,
    Paragraph,
    Quote,
    Strong,
    Table,
    Words,
    joined,
)
from gatekeeper.reports.markdown.decision import rows_of
from gatekeeper.reports.words import columns as figures
from gatekeeper.reports.words.call_counts import (
    describe_calls,
    describe_cost,
    describe_forecast,
    estimate_text,
    nothing_affected,
)
from gatekeeper.reports.words.comparison_text import deciding_test, early_stop, fixtures_wanted
from gatekeeper.reports.words.evidence import broke_at, plain_step, slice_lines
from gatekeeper.reports.words.headline import ICONS, headline_text, reason_icon
from gatekeeper.reports.words.ranking import by_severity, worst_reasons
from gatekeeper.stats.interval import ConfidenceInterval

if TYPE_CHECKING:
    from gatekeeper.gate.forecast.estimate import ContractEstimate, RunEstimate

_MOST_ERRORS = 5
_MOST_WEAKENED = 10
_REASON = 600
_MESSAGE = 200


def describe_result(
    result: GateResult,
    files: Mapping[str, Path],
    notices: Sequence[str] = (),
    *,
    verbose: bool = False,
) -> Iterator[Block]:
    """Describe the worst contract first and the verdict last, and before that each check of each
    fixture if it is `verbose`. `notices` are later than the result."""
    if verbose:
        yield from describe_each_check(result)
    if result.contracts:
        yield _table(result)
        for contract in by_severity(result.contracts):
            yield from _contract(contract)
        yield from describe_failures(result)
    for path in result.uncovered:
        yield Paragraph((Quote(path), " has no contract."), "inconclusive")
    for notice in (*result.notices, *notices):
        yield Paragraph(Quote(notice, _REASON), "quiet")
    yield from _spending(result)
    for folder in sorted({path.parent for path in files.values()}):
        names = [name for name, path in files.items() if path.parent == folder]
        yield Paragraph(Quote(f"{folder}: {', '.join(names)}"), "quiet")
    nothing = not result.contracts and result.verdict == "pass"
    end = ": no contract is affected by this change" if nothing else ""
    said = Quote(f"{ICONS[result.verdict]} {headline_text(result)}{end}", _REASON)
    yield Paragraph(said, result.verdict)


def describe_estimate(estimate: RunEstimate) -> Iterator[Block]:
    """Describe each affected contract with its causes and its price, then the sum."""
    for contract in estimate.contracts:
        yield from _contract_estimate(contract)
    for path in estimate.uncovered:
        yield Paragraph((Quote(path), " changed and has no contract."), "inconclusive")
    for notice in estimate.notices:
        yield Paragraph(Quote(notice, _REASON), "quiet")
    for warning in estimate.warnings:
        end = "" if warning.endswith(("?", ".")) else "."
        yield Paragraph(("⚠️ ", Strong((Quote(warning, _REASON), end), "inconclusive")))
    if not estimate.contracts:
        yield Paragraph(nothing_affected(estimate.unaffected))
        return
    affected = numbers.count(len(estimate.contracts), "contract")
    text = f"{affected} affected, {estimate.unaffected:,} not affected: {estimate_text(estimate)}."
    yield Paragraph(text, "strong")


def describe_methods(result: GateResult) -> Iterator[Block]:
    """Describe what the methods that papers name find in the samples, by their keys in
    `result.json`. They decide nothing."""
    for contract in result.contracts:
        yield Paragraph((Quote(contract.name), ": methods that decide nothing"))
        paired = contract.paired
        for name, p in paired.alternative_methods.items() if paired else ():
            yield Paragraph(f"  {name}: p = {p:.4g}")
        for name, interval in paired.intervals.items() if paired else ():
            yield Paragraph(f"  difference, {name}: {_bounds(interval)}")
        for label, arm in (("base", contract.base), ("head", contract.head)):
            for name, interval in arm.intervals.items() if arm else ():
                yield Paragraph(f"  success rate on {label}, {name}: {_bounds(interval)}")


def _bounds(interval: ConfidenceInterval) -> str:
    return f"{interval.low:.4f} to {interval.high:.4f}"


def _table(result: GateResult) -> Table:
    """Return the comment's table, with each cell on one line."""
    contracts = rows_of(by_severity(result.contracts))
    shown = figures.columns(result, contracts)
    titles = [
        Column(column.title if column.name == "slo" else column.title.lower(), column.is_right)
        for column in shown
    ]
    return Table(
        ["contract", *titles, "verdict"],
        [
            (
                Quote(contract.name, 100),
                *(_cell(column, row, contract) for column in shown),
                Cell(contract.verdict, tone=contract.verdict),
            )
            for row, contract in enumerate(contracts)
        ],
    )


def _cell(column: figures.Column, row: int, contract: ContractResult) -> Words:
    """Return a cell on one line. The reasons below say what could have been detected."""
    if column.name == "slo":
        return _objectives(contract)
    cell = column.cells[row]
    return cell.lines[0] if column.name == "p" else cell.on_one_line()


def _objectives(contract: ContractResult) -> Words:
    if not contract.slo:
        return numbers.NONE
    # The figures stand in the reasons below the table; a narrow terminal has no room for them.
    if all(slo.met for slo in contract.slo):
        return "met"
    shown, rest = figures.shown_objectives(contract)
    named: list[Words] = [
        (
            Quote(label_of(slo.objective)),
            f" {figures.status_text(slo, contract).partition(':')[0]}",
        )
        for slo in shown
    ]
    return joined([*named, *rest], "; ")


def _contract(contract: ContractResult) -> Iterator[Paragraph]:
    for reason in worst_reasons(contract):
        name = (f"{reason_icon(reason)} ", Strong(Quote(contract.name)))
        kind = Strong(f" {reason.code}: ", reason.verdict)
        yield Paragraph((name, kind, Quote(reason.text, _REASON)))
    if contract.paired:
        yield Paragraph(("  ", Quote(_decided(contract, contract.paired), _REASON)), "quiet")
    for category, found in slice_lines(contract).items():
        yield Paragraph(("  category ", Strong(Quote(category)), f": {found}"))
    for text in contract.weakened[:_MOST_WEAKENED]:
        yield Paragraph((Strong("  weakened: ", "inconclusive"), Quote(text, _REASON)))
    if len(contract.weakened) > _MOST_WEAKENED:
        more = len(contract.weakened) - _MOST_WEAKENED
        yield Paragraph(f"  …and weakened in {more:,} more ways", "inconclusive")
    for text in contract.warnings:
        yield Paragraph((Strong("  note: ", "quiet"), Quote(text, _REASON)))
    broke = broke_at(contract, plain_step)
    if broke:
        yield Paragraph(("  ", Quote(broke, _REASON)))
    yield from _not_measured(contract)[:_MOST_ERRORS]


def _not_measured(contract: ContractResult) -> list[Paragraph]:
    """Return a line for each error that kept samples from being measured and that no reason above
    names, with the first of its fixtures."""
    said = " ".join(reason.text for reason in worst_reasons(contract))
    fixtures: dict[str, list[FixtureResult]] = {}
    for fixture in contract.fixtures:
        for error in fixture.errors[:1]:
            fixtures.setdefault(error, []).append(fixture)
    return [
        Paragraph(
            (
                ("  not measured ", Strong(Quote(same[0].id))),
                f" and {len(same) - 1:,} more: " if len(same) > 1 else ": ",
                Strong(Quote(error, _MESSAGE), "quiet"),
            )
        )
        for error, same in fixtures.items()
        if error not in said
    ]


def _decided(contract: ContractResult, paired: PairedResult) -> str:
    """Return what the reasons above leave out."""
    said = any(reason.code == "undecided" for reason in contract.reasons)
    wanted = "" if said else fixtures_wanted(paired)
    return "; ".join(filter(None, (deciding_test(paired), early_stop(paired), wanted)))


def _spending(result: GateResult) -> Iterator[Paragraph]:
    calls = result.calls
    if calls.made or calls.failed or calls.saved or calls.cached:
        took = numbers.duration(result.seconds)
        yield Paragraph(f"{describe_calls(calls)}; {describe_cost(result)}; {took}", "quiet")
        forecast = describe_forecast(result)
        if forecast:
            yield Paragraph(f"forecast before the first call: {forecast}", "quiet")


def _contract_estimate(contract: ContractEstimate) -> Iterator[Paragraph]:
    yield Paragraph((Strong(Quote(contract.name)), Strong(("  ", Quote(contract.path)), "quiet")))
    for affected in contract.affected_by:
        yield Paragraph((f"  {affected.change} ", Quote(affected.path)))
    if contract.removed:
        yield Paragraph("  removed at head, so there is nothing to sample", "inconclusive")
        return
    effect = contract.minimum_detectable_effect
    # The warning says it with what to do.
    sees = ""
    if effect is not None and not contract.warning:
        sees = f", can only show a drop of {numbers.size_in_points(effect)} or more"
    fixtures = numbers.count(contract.fixtures, "fixture")
    model = Quote(contract.model or numbers.UNKNOWN)
    yield Paragraph(("  ", model, f": {fixtures}, {estimate_text(contract)}{sees}"))
    if contract.warning:
        yield Paragraph(("  ⚠️ ", Strong(Quote(contract.warning, _REASON), "inconclusive")))
