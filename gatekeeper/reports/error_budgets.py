"""Renders what is left of each error budget: a table for the terminal, and JSON."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from gatekeeper import __version__, numbers
from gatekeeper.contract.values.objectives import label_of
from gatekeeper.gate.objectives.error_budgets import ContractBudgets
from gatekeeper.reports.escape import plain, visible
from gatekeeper.reports.formats.result_json import part_document
from gatekeeper.reports.terminal.console import log_console
from gatekeeper.stats.objectives.error_budget import BURN_WINDOWS, ErrorBudget

if TYPE_CHECKING:
    from rich.console import Console

SCHEMA = 1
_STYLE = {"spent": "yellow", "overspent": "red"}


def budget_document(
    found: Sequence[ContractBudgets], notices: Sequence[str], now: datetime
) -> dict[str, Any]:
    """Return the budgets as JSON data; docs/objectives.md describes the fields."""
    return {
        "schema": SCHEMA,
        "gatekeeper": __version__,
        "time": now.astimezone(UTC).isoformat(),
        "contracts": [
            {
                "name": contract.name,
                "path": contract.path,
                "frozen": contract.frozen,
                "exempt": contract.exempt,
                "error_budgets": [
                    part_document("error_budget", budget) for budget in contract.budgets
                ],
            }
            for contract in found
        ],
        "notices": list(notices),
    }


def print_budgets(
    found: Sequence[ContractBudgets], notices: Sequence[str] = (), console: Console | None = None
) -> None:
    """Print one line for each contract and objective that has a budget; the frozen contracts
    last."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    console = console or log_console()
    table = Table(box=SIMPLE_HEAD if console.is_terminal else None, pad_edge=False)
    for heading in ("contract", "objective"):
        table.add_column(heading, overflow="fold")
    amounts = ("window", "events", "budget", "spent", "left")
    for heading in (*amounts, *(f"burn {name}" for name in (*BURN_WINDOWS, "window"))):
        table.add_column(heading, justify="right")
    for heading in ("ends", "frozen until"):
        table.add_column(heading)
    for contract in found:
        for budget in contract.budgets:
            cells = [contract.name, label_of(budget.objective), *budget_cells(budget, contract)]
            table.add_row(
                *(Text(visible(cell)) for cell in cells), style=_STYLE.get(budget.state, "")
            )
    if table.row_count:
        console.print(table)
    else:
        console.print(Text("No contract has an objective with an error budget."))
    for notice in notices:
        console.print(Text(plain(notice), "dim"))
    for contract in found:
        if contract.frozen:
            text = f"{visible(contract.name)} is frozen: only a significant improvement may merge."
            console.print(Text(text, "bold red"))


def budget_cells(budget: ErrorBudget, contract: ContractBudgets) -> list[str]:
    """Return window, events, budget, spent, left, three burn rates, its end, the freeze."""
    known = budget.events > 0
    until = numbers.moment(budget.frozen_until) if budget.frozen_until else numbers.NONE
    if budget.frozen_until and not contract.frozen:
        until = "exempt" if contract.exempt else "overspent, but the policy has no freeze"
    if budget.state == "spent":
        until = "spent, could be chance"
        if budget.freezes_at:
            until += f": freezes at {budget.freezes_at:,}"
    return [
        budget.window,
        f"{budget.events:,}" if known else "no history",
        numbers.number(budget.budget) if known else numbers.NONE,
        f"{numbers.number(budget.spent)}" if known else numbers.NONE,
        numbers.number(budget.left) if known else numbers.NONE,
        *(_burn(budget, name) for name in (*BURN_WINDOWS, budget.window)),
        numbers.moment(budget.exhausted_at) if budget.exhausted_at else numbers.NONE,
        until,
    ]


def _burn(budget: ErrorBudget, window: str) -> str:
    rate = budget.burn_rate.get(window)
    if rate is None:
        return numbers.NONE
    return f"{rate:.2f}{' ⚠️' if window in budget.burning else ''}"
