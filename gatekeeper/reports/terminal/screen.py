"""The result and the estimate on a terminal: a table, the reasons, the files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from gatekeeper import numbers
from gatekeeper.contract.values.objectives import label_of
from gatekeeper.gate.results.parts import FixtureResult
from gatekeeper.gate.results.result import ContractResult, GateResult, PairedResult, Verdict
from gatekeeper.reports.escape import clip, log_text, plain, visible
from gatekeeper.reports.markdown.decision import rows_of
from gatekeeper.reports.words.call_counts import (
    describe_calls,
    describe_cost,
    describe_forecast,
    estimate_text,
    nothing_affected,
)
from gatekeeper.reports.words.columns import Column, columns, shown_objectives, status_text
from gatekeeper.reports.words.comparison_text import deciding_test, early_stop, fixtures_wanted
from gatekeeper.reports.words.evidence import broke_at, plain_step, slice_lines
from gatekeeper.reports.words.headline import ICONS, headline_text, reason_icon
from gatekeeper.reports.words.ranking import by_loss, by_severity
from gatekeeper.reports.words.ranking import worst_reasons as reasons_of

if TYPE_CHECKING:
    from gatekeeper.gate.forecast.estimate import ContractEstimate, RunEstimate

_STYLES: dict[Verdict, str] = {
    "pass": "green",
    "fail": "bold red",
    "inconclusive": "yellow",
    "error": "magenta",
}
_MOST_BROKEN = 5
_MOST_ERRORS = 5
_MOST_WEAKENED = 10


def show_result(
    result: GateResult, files: Mapping[str, Path], console: Console, notices: Sequence[str] = ()
) -> None:
    """Print the worst contract first and the verdict last."""
    if result.contracts:
        console.print(_table(result, console))
        for contract in by_severity(result.contracts):
            _print_contract(console, contract)
    for path in result.uncovered:
        console.print(_text(f"{path} has no contract.", "yellow"))
    for notice in (*result.notices, *notices):
        console.print(_text(notice, "dim"))
    _print_spending(console, result)
    _print_files(console, files)
    style = _STYLES[result.verdict]
    verdict = Text(f"{ICONS[result.verdict]} ", style).append(_text(headline_text(result), style))
    if not result.contracts and result.verdict == "pass":
        verdict.append(": no contract is affected by this change")
    console.print(verdict)


def _sentence(text: str) -> str:
    return text if text.endswith(("?", ".")) else f"{text}."


def show_estimate(estimate: RunEstimate, console: Console) -> None:
    """Print each affected contract with its causes and its price, then the sum."""
    for contract in estimate.contracts:
        _print_contract_estimate(console, contract)
    for path in estimate.uncovered:
        console.print(_text(f"{path} changed and has no contract.", "yellow"))
    for notice in estimate.notices:
        console.print(_text(notice, "dim"))
    for warning in estimate.warnings:
        console.print(Text("⚠️ ").append(_text(_sentence(warning), "yellow")))
    if not estimate.contracts:
        console.print(Text(nothing_affected(estimate.unaffected)))
        return
    affected = numbers.count(len(estimate.contracts), "contract")
    text = f"{affected} affected, {estimate.unaffected:,} not affected: {estimate_text(estimate)}."
    console.print(Text(text, "bold"))


def _table(result: GateResult, console: Console) -> Table:
    """Return the comment's table for the terminal."""
    contracts = rows_of(by_severity(result.contracts))
    table = Table(box=SIMPLE_HEAD if console.is_terminal else None, pad_edge=False)
    table.add_column("contract", overflow="fold")
    shown = columns(result, contracts)
    for column in shown:
        heading = column.title if column.name == "slo" else column.title.lower()
        table.add_column(heading, justify=column.justify)
    table.add_column("verdict")
    for row, contract in enumerate(contracts):
        table.add_row(
            _text(contract.name, limit=100),
            *(_cell(column, row, contract) for column in shown),
            Text(contract.verdict, _STYLES[contract.verdict]),
        )
    return table


def _cell(column: Column, row: int, contract: ContractResult) -> Text:
    """Return a cell on one line. The reasons below say what could have been detected."""
    if column.name == "slo":
        return _objectives(contract)
    cell = column.cells[row]
    first, *others = cell.lines
    if not others or column.name == "p":
        return Text(first)
    second = others[0] if cell.bracketed else f"({others[0]})"
    return Text(f"{first} {second}")


def _print_contract(console: Console, contract: ContractResult) -> None:
    for reason in reasons_of(contract):
        style = _STYLES[reason.verdict]
        line = Text(f"{reason_icon(reason)} ").append(_text(contract.name, "bold"))
        console.print(line.append(f" {reason.code}: ", style).append(_text(reason.text)))
    if contract.paired:
        console.print(Text("  ").append(_text(_decided(contract, contract.paired), "dim")))
    for category, found in slice_lines(contract).items():
        console.print(Text("  category ").append(_text(category, "bold")).append(f": {found}"))
    for text in contract.weakened[:_MOST_WEAKENED]:
        console.print(Text("  weakened: ", "yellow").append(_text(text)))
    if len(contract.weakened) > _MOST_WEAKENED:
        more = len(contract.weakened) - _MOST_WEAKENED
        console.print(Text(f"  …and weakened in {more:,} more ways", "yellow"))
    for text in contract.warnings:
        console.print(Text("  note: ", "dim").append(_text(text)))
    broke = broke_at(contract, plain_step)
    if broke:
        console.print(Text("  ").append(_text(broke)))
    broken = by_loss(fixture for fixture in contract.fixtures if fixture.change == "broke")
    for fixture in broken[:_MOST_BROKEN]:
        console.print(_broken(fixture))
    if len(broken) > _MOST_BROKEN:
        console.print(Text(f"  …and {len(broken) - _MOST_BROKEN:,} more broke", "dim"))
    for line in _not_measured(contract)[:_MOST_ERRORS]:
        console.print(line)


def _not_measured(contract: ContractResult) -> list[Text]:
    """Return a line for each error that kept samples from being measured and that no reason above
    names, with the first of its fixtures."""
    said = " ".join(reason.text for reason in reasons_of(contract))
    fixtures: dict[str, list[FixtureResult]] = {}
    for fixture in contract.fixtures:
        for error in fixture.errors[:1]:
            fixtures.setdefault(error, []).append(fixture)
    return [
        Text("  not measured ")
        .append(_text(same[0].id, "bold"))
        .append(f" and {len(same) - 1:,} more: " if len(same) > 1 else ": ")
        .append(_text(error, "dim", 200))
        for error, same in fixtures.items()
        if error not in said
    ]


def _decided(contract: ContractResult, paired: PairedResult) -> str:
    """Return what the reasons above leave out."""
    said = any(reason.code == "undecided" for reason in contract.reasons)
    wanted = "" if said else fixtures_wanted(paired)
    return "; ".join(filter(None, (deciding_test(paired), early_stop(paired), wanted)))


def _broken(fixture: FixtureResult) -> Text:
    line = Text("  broke ").append(_text(fixture.id, "bold"))
    line.append(f" {fixture.base or numbers.NONE} → {fixture.head or numbers.NONE}")
    if fixture.confirmation:
        line.append(f", {fixture.confirmation}")
    failure = next((failure for failure in fixture.failures if failure.arm == "head"), None)
    if failure is None:
        return line
    line.append(": ").append(_text(failure.check)).append(" ")
    return line.append(_text(failure.message, "dim", 200))


def _print_spending(console: Console, result: GateResult) -> None:
    calls = result.calls
    if not (calls.made or calls.failed or calls.saved or calls.cached):
        return
    text = f"{describe_calls(calls)}; {describe_cost(result)}; {numbers.duration(result.seconds)}"
    console.print(Text(text, "dim"))
    forecast = describe_forecast(result)
    if forecast:
        console.print(Text(f"forecast before the first call: {forecast}", "dim"))


def _print_files(console: Console, files: Mapping[str, Path]) -> None:
    folders = {path.parent for path in files.values()}
    for folder in sorted(folders):
        names = [name for name, path in files.items() if path.parent == folder]
        console.print(_text(f"{folder}: {', '.join(names)}", "dim"))


def _print_contract_estimate(console: Console, contract: ContractEstimate) -> None:
    line = _text(contract.name, "bold").append(f"  {plain(contract.path)}", "dim")
    console.print(line)
    for affected in contract.affected_by:
        console.print(Text(f"  {affected.change} ").append(_text(affected.path)))
    if contract.removed:
        console.print(Text("  removed at head, so there is nothing to sample", "yellow"))
        return
    effect = contract.minimum_detectable_effect
    # The warning says it with what to do.
    sees = ""
    if effect is not None and not contract.warning:
        sees = f", can only show a drop of {numbers.size_in_points(effect)} or more"
    console.print(
        Text("  ")
        .append(_text(contract.model or numbers.UNKNOWN))
        .append(f": {numbers.count(contract.fixtures, 'fixture')}, {estimate_text(contract)}{sees}")
    )
    if contract.warning:
        console.print(Text("  ⚠️ ").append(_text(contract.warning, "yellow")))


def _text(text: str, style: str = "", limit: int = 600) -> Text:
    """Return one line of text, never read as markup or as a command to a workflow's runner, with
    invisible characters spelled out."""
    return Text(clip(log_text(" ".join(visible(text).split())), limit), style)


def _objectives(contract: ContractResult) -> Text:
    if not contract.slo:
        return Text(numbers.NONE)
    # The figures stand in the reasons below the table; a narrow terminal has no room for them.
    if all(slo.met for slo in contract.slo):
        return Text("met")
    shown, rest = shown_objectives(contract)
    named = [
        f"{log_text(label_of(slo.objective))} {status_text(slo, contract).partition(':')[0]}"
        for slo in shown
    ]
    return Text("; ".join([*named, *rest]))
