"""A sweep on a terminal: every setting with its figures, the best first, then the one to take."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from gatekeeper import numbers
from gatekeeper.gate.sweep.compare import SweepResult
from gatekeeper.gate.sweep.grid import said
from gatekeeper.reports.escape import clip, plain
from gatekeeper.reports.markdown.sweep import (
    axes_of,
    by_rate,
    pass_rate,
    said_of_pairs,
    seeds_sent,
    visible_drop,
)
from gatekeeper.reports.terminal.console import log_console
from gatekeeper.reports.terminal.suitability import show_suitability

_LONGEST = 48


def show_sweep(
    result: SweepResult, files: Mapping[str, Path], console: Console | None = None
) -> None:
    """Print the table, the significant differences, the recommendation, and the files."""
    console = console or log_console()
    console.print(_table(result, console))
    console.print(Text(said_of_pairs(result)))
    console.print(Text(visible_drop(result), "dim"))
    console.print(Text(plain(seeds_sent(result)), "dim"))
    show_suitability(result, console)
    for path in files.values():
        console.print(Text(str(path), "dim"))
    console.print(_recommendation(result))


def _table(result: SweepResult, console: Console) -> Table:
    table = Table(box=SIMPLE_HEAD if console.is_terminal else None, pad_edge=False)
    table.add_column("")
    for axis in axes_of(result):
        table.add_column(clip(plain(axis), _LONGEST), overflow="fold")
    for title in ("pass rate", "95 % interval", "p95 latency", "tokens a call", "cost a call"):
        table.add_column(title, justify="right")
    for number in by_rate(result):
        cell = result.cells[number]
        arm = cell.arm
        chosen = number == result.recommendation.setting
        table.add_row(
            "→" if chosen else ("today" if cell.setting.current else ""),
            *(clip(plain(said(value)), _LONGEST) for value in cell.setting.varied.values()),
            pass_rate(cell),
            numbers.percent_interval(arm.interval),
            numbers.milliseconds(arm.latency_p95_ms),
            numbers.tokens(cell.tokens_per_call),
            numbers.dollars(arm.cost_per_call_usd),
            style="bold" if chosen else ("dim" if cell.setting.current else ""),
        )
    return table


def _recommendation(result: SweepResult) -> Text:
    found = result.recommendation
    if found.setting is None:
        return Text(f"No recommendation: {plain(found.reason)}", "yellow")
    setting = result.cells[found.setting].setting
    today = " (as it is today)" if setting.current else ""
    return Text(f"Take {plain(setting.name)}{today}: {plain(found.reason)}", "bold green")
