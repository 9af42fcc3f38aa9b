"""What `init` found, on a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from gatekeeper import numbers
from gatekeeper.author.onboarding.proposal import Proposal, ProposalRow
from gatekeeper.reports.escape import log_text

_MOST_ROWS = 40


def show_proposal(proposal: Proposal, console: Console) -> None:
    """Print a row for each prompt and suite that was found, and the number of each."""
    if not proposal.rows:
        return
    table = Table(
        box=SIMPLE_HEAD if console.is_terminal else None, pad_edge=False, header_style="bold"
    )
    for title in ("found", "kind", "contract", "how"):
        table.add_column(title, overflow="fold")
    left = _MOST_ROWS - sum(row.contract is None for row in proposal.rows)
    hidden = 0
    for row in proposal.rows:  # what gets no contract is always shown, with its reason
        left -= row.contract is not None
        if row.contract is None or left >= 0:
            table.add_row(*_cells(row))
        else:
            hidden += 1
    console.print(table)
    if hidden:
        console.print(Text(f"and {numbers.count(hidden, 'more row')} with a contract", "dim"))


def _cells(row: ProposalRow) -> Iterator[Text]:
    yield Text(log_text(row.found))
    yield Text(row.kind)
    if row.contract is None:
        yield Text("none", "yellow")
    else:
        same = row.contract == row.found
        yield Text("the file itself" if same else log_text(row.contract), "green")
    yield Text(log_text(row.note), "dim")
