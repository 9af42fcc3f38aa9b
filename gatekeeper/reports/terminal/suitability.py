"""How often each setting of a sweep breaks the prompt's rules, on a terminal."""

from __future__ import annotations

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from gatekeeper import numbers
from gatekeeper.gate.sweep.compare import SweepResult
from gatekeeper.gate.sweep.suitability import NonCompliance, Suitability
from gatekeeper.reports.escape import clip, plain
from gatekeeper.reports.markdown.suitability import (
    TITLE,
    TITLES,
    fewest_broken_rules,
    share_text,
    suitability_notes,
)

_LONGEST = 48


def show_suitability(result: SweepResult, console: Console) -> None:
    """Print the table, the notes and the best setting; nothing without tests of rules."""
    found = result.suitability
    if found is None:
        return
    console.print()
    console.print(Text(TITLE, "bold"))
    console.print(_table(result, found, console))
    for note in suitability_notes(found):
        console.print(Text(note, "dim"))
    console.print(Text(fewest_broken_rules(result, found, _name)))
    console.print()


def _table(result: SweepResult, found: Suitability, console: Console) -> Table:
    table = Table(box=SIMPLE_HEAD if console.is_terminal else None, pad_edge=False)
    table.add_column("setting", overflow="fold")
    for name, count in found.tests.items():
        table.add_column(f"{TITLES[name]} ({count:,})", justify="right")
    for number in found.ranked:
        setting = result.cells[number].setting
        today = " (today)" if setting.current else ""
        table.add_row(
            Text(f"{_name(setting.name, _LONGEST)}{today}"),
            *(_cell(found.rates[number][name]) for name in found.tests),
        )
    return table


def _cell(rate: NonCompliance) -> Text:
    return Text(share_text(rate)).append(f"\n{numbers.percent_interval(rate.interval)}", "dim")


def _name(text: str, limit: int) -> str:
    return clip(plain(text), limit)
