"""What `validate` found, on a terminal: problems first, then the contracts, then the inventory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from gatekeeper import numbers
from gatekeeper.contract.files.inventory import Inventory, InventoryPrompt
from gatekeeper.gate.validation import Finding, FindingLevel, Validation, ValidContract
from gatekeeper.reports.escape import log_text

_MOST_PROMPTS = 20
_MOST_FOLDERS = 20
_MOST: Mapping[FindingLevel, int] = MappingProxyType({"warning": 30, "note": 10})
_STYLES = {"warning": "yellow", "note": "dim", "error": "bold red"}


def show_validation(validation: Validation, console: Console) -> None:
    """Print everything but the errors, which are printed to standard error, and the number of
    each in the last line."""
    for level, most in _MOST.items():
        found = validation.of_level(level)
        for finding in found[:most]:
            _print_finding(console, finding)
        _print_rest(console, len(found) - most, level, "`--json` lists all")
    if validation.contracts:
        console.print(contract_table(validation.contracts, console))
    if validation.whole:
        show_inventory(validation.inventory, console)
    console.print(_last_line(validation))


def show_inventory(inventory: Inventory, console: Console) -> None:
    """Print how many prompts of each folder have a contract, those without one, and the suites of
    other tools that do not run yet."""
    if inventory.prompts:
        console.print(_folder_table(inventory, console))
    uncovered = inventory.uncovered
    if uncovered:
        console.print(prompt_table(uncovered[:_MOST_PROMPTS], console))
        rest = len(uncovered) - _MOST_PROMPTS
        _print_rest(console, rest, "prompt without a contract", "`--json` lists all")
    foreign = [suite for suite in inventory.unused if suite.kind != "contract"]
    for suite in foreign:
        text = (
            f"{suite.path} ({suite.kind}) is not run, because no pattern of `contracts` matches "
            "this path."
        )
        console.print(_text(text, "dim"))
    if uncovered or foreign:
        advice = "Next: `gatekeeper init` proposes contracts for these, or says why not."
        console.print(_text(advice, "dim"))
    if inventory.of_agents:
        console.print(_text(inventory.about_agents, "dim"))
    if inventory.unread:
        files = numbers.count(inventory.unread, "file")
        console.print(_text(f"{files} were not read, because there are too many files.", "dim"))


def contract_table(contracts: Sequence[ValidContract], console: Console) -> Table:
    """Return the table of contracts without an error."""
    table = _table(console, "contract", "file", "fixtures", "checks", "model", right=(2, 3))
    for contract in contracts:
        name = contract.name
        if contract.groups:
            name = f"{name}; also {', '.join(contract.groups)}"
        table.add_row(
            _text(name),
            _text(contract.path),
            contract.fixtures_text,
            f"{contract.checks:,}",
            _text(contract.model),
        )
    return table


def prompt_table(prompts: Sequence[InventoryPrompt], console: Console) -> Table:
    """Return the table of prompts without a contract."""
    table = _table(console, "prompt without a contract", "kind", "line", right=(2,))
    for prompt in prompts:
        line = "" if prompt.reference == prompt.path else f"{prompt.line:,}"
        table.add_row(_text(prompt.reference), prompt.kind, line)
    return table


def _folder_table(inventory: Inventory, console: Console) -> Table:
    table = _table(console, "folder", "prompts", "with a contract", "coverage", right=(1, 2, 3))
    folders = inventory.by_folder()
    shown = folders[:_MOST_FOLDERS]
    rows = [(folder.folder, folder.prompts, folder.covered) for folder in shown]
    if len(folders) > len(shown):
        rest = folders[len(shown) :]
        many = f"{len(rest):,} more folders"
        rows.append((many, sum(f.prompts for f in rest), sum(f.covered for f in rest)))
    for folder, prompts, covered in rows:
        share = numbers.percent(covered / prompts)
        style = "green" if covered == prompts else "yellow"
        cells = (f"{prompts:,}", f"{covered:,}", Text(share, style))
        table.add_row(_text(folder), *cells)
    return table


def _table(console: Console, *titles: str, right: Sequence[int] = ()) -> Table:
    box = SIMPLE_HEAD if console.is_terminal else None
    table = Table(box=box, pad_edge=False, header_style="bold")
    for index, title in enumerate(titles):
        table.add_column(title, justify="right" if index in right else "left", overflow="fold")
    return table


def _print_finding(console: Console, finding: Finding) -> None:
    mark = Text(f"{finding.level}: ", _STYLES[finding.level])
    console.print(mark.append(_text(str(finding))), soft_wrap=True)


def _print_rest(console: Console, number: int, noun: str, advice: str) -> None:
    if number > 0:
        first, space, rest = noun.partition(" ")
        several = f"more {first}s{space}{rest}"
        count = numbers.count(number, f"more {noun}", several)
        console.print(_text(f"and {count}; {advice}", "dim"))


def _last_line(validation: Validation) -> Text:
    errors, warnings = len(validation.problems), len(validation.of_level("warning"))
    parts = [
        f"{numbers.count(len(validation.contracts), 'contract')} valid",
        numbers.count(errors, "error"),
        numbers.count(warnings, "warning"),
    ]
    prompts = validation.inventory.prompts
    if validation.whole and prompts:
        covered = len(prompts) - len(validation.inventory.uncovered)
        parts.append(f"{covered:,} of {numbers.count(len(prompts), 'prompt')} with a contract")
    style = "bold red" if errors else "bold yellow" if warnings else "bold green"
    icon = "✗" if errors else "✓"
    return Text(f"{icon} {', '.join(parts)}", style)


def _text(text: str, style: str = "") -> Text:
    return Text(log_text(text), style)
