"""The output for a person at a terminal. rich is loaded only if there is something to lay out."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from rich.console import Console

    from gatekeeper.gate.forecast.estimate import RunEstimate
    from gatekeeper.gate.results.result import GateResult
    from gatekeeper.reports.document import Block

_NO_WIDTH = 10**9
"""Nothing is as long, so rich wraps no line: the rest could be a command to a workflow's runner."""


def print_result(
    result: GateResult,
    files: Mapping[str, Path] | None = None,
    console: Console | None = None,
    notices: Sequence[str] = (),
    *,
    verbose: bool = False,
) -> None:
    """Print the result in colour on a terminal, and without colour or frames elsewhere.

    `notices` are later than the result. If it is `verbose`, each check of each fixture is a line.
    """
    if console is None and _is_quiet(result) and not notices:
        from gatekeeper.reports.words.headline import ICONS, title

        sys.stdout.write(f"{ICONS['pass']} {title(result)}: no contract is affected\n")
        return
    from gatekeeper.reports.described.result import describe_result

    print_blocks(describe_result(result, files or {}, notices, verbose=verbose), console)


def print_estimate(estimate: RunEstimate, console: Console | None = None) -> None:
    """Print what a check would run, why, and at what price."""
    said = (estimate.contracts, estimate.uncovered, estimate.notices, estimate.warnings)
    if console is None and not any(said):
        from gatekeeper.reports.words.call_counts import nothing_affected

        sys.stdout.write(f"{nothing_affected(estimate.unaffected)}\n")
        return
    from gatekeeper.reports.described.result import describe_estimate

    print_blocks(describe_estimate(estimate), console)


def print_blocks(blocks: Iterable[Block], console: Console | None = None) -> None:
    """Print parts of a document."""
    from gatekeeper.reports.terminal.render import Screen

    Screen(console or log_console()).blocks(blocks)


def _is_quiet(result: GateResult) -> bool:
    return not (result.contracts or result.uncovered or result.notices) and result.verdict == "pass"


def log_console(file: TextIO | None = None) -> Console:
    """Return a console for standard output, or `file`.

    If it is not a terminal, a table's row and a sentence are one line each, which tools can search
    and no viewer wraps.
    """
    from rich.console import Console

    file = file or sys.stdout
    return Console(file=file, highlight=False, width=None if file.isatty() else _NO_WIDTH)
