"""Describes what is left of each error budget, for a terminal and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from gatekeeper import __version__, numbers
from gatekeeper.contract.values.objectives import label_of
from gatekeeper.gate.objectives.error_budgets import ContractBudgets
from gatekeeper.reports.document import Block, Paragraph, Quote, Row, Table, Tone, columns
from gatekeeper.reports.formats.result_json import part_document, picked
from gatekeeper.stats.objectives.error_budget import BURN_WINDOWS, ErrorBudget

SCHEMA = 1
_TONES: Mapping[str, Tone] = {"spent": "inconclusive", "overspent": "fail"}


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
                **picked(contract, "name path frozen exempt"),
                "error_budgets": [
                    part_document("error_budget", budget) for budget in contract.budgets
                ],
            }
            for contract in found
        ],
        "notices": list(notices),
    }


def describe_budgets(
    found: Sequence[ContractBudgets], notices: Sequence[str] = ()
) -> Iterator[Block]:
    """Describe each contract and objective that has a budget in a row; the frozen contracts
    last."""
    amounts = ("window", "events", "budget", "spent", "left")
    burns = (f"burn {name}" for name in (*BURN_WINDOWS, "window"))
    titles = columns(
        "contract", "objective", right=(*amounts, *burns), last=["ends", "frozen until"]
    )
    rows = [
        Row(
            (
                Quote(contract.name),
                Quote(label_of(budget.objective)),
                *budget_cells(budget, contract),
            ),
            _TONES.get(budget.state, "plain"),
        )
        for contract in found
        for budget in contract.budgets
    ]
    if rows:
        yield Table(titles, rows)
    else:
        yield Paragraph("No contract has an objective with an error budget.")
    for notice in notices:
        yield Paragraph(Quote(notice), "quiet")
    for contract in found:
        if contract.frozen:
            said = " is frozen: only a significant improvement may merge."
            yield Paragraph((Quote(contract.name), said), "fail")


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
