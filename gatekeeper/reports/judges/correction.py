"""Prints the figures of a run as the judge found them, and corrected by labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gatekeeper import numbers
from gatekeeper.gate.calibration.run_correction import CorrectedFigure, RunCorrection
from gatekeeper.reports.escape import plain
from gatekeeper.reports.judges.agreement import print_line, print_table
from gatekeeper.stats.interval import ConfidenceInterval

if TYPE_CHECKING:
    from rich.console import Console


def correction_document(found: RunCorrection) -> dict[str, Any]:
    """Return the figures as JSON data; rates as shares."""
    named = {"base": found.base, "head": found.head, "difference": found.difference}
    change = found.difference.corrected if found.difference else None
    return {
        "check": found.check,
        **{name: _document(figure) for name, figure in named.items()},
        "p_value_worse": change.p_value_below(0.0) if change else None,
    }


def print_correction(found: RunCorrection, console: Console | None = None) -> None:
    """Print one row for each arm, one for the difference, and what it means."""
    from gatekeeper.reports.terminal.console import log_console

    console = console or log_console()
    rows = [
        (name, f"{figure.units:,}", f"{figure.labelled:,}", *_texts(figure, difference=last))
        for name, figure, last in (
            ("base", found.base, False),
            ("head", found.head, False),
            ("head minus base", found.difference, True),
        )
        if figure is not None
    ]
    titles = (plain(found.check), "inputs", "labelled", "as judged", "corrected", "95 % interval")
    print_table(console, titles, rows)
    change = found.difference.corrected if found.difference else None
    if change is not None:
        p = numbers.p_value(change.p_value_below(0.0))
        print_line(console, f"Head is worse, by people's verdicts: p {p}.")


def _texts(figure: CorrectedFigure, *, difference: bool) -> tuple[str, str, str]:
    write = numbers.points if difference else numbers.percent
    found = figure.corrected
    if found is None:
        return write(figure.judged), "label at least 2 inputs", ""
    interval = found.interval()
    if not difference:
        ends = (min(1.0, max(0.0, end)) for end in (interval.low, interval.high))
        interval = ConfidenceInterval(*ends)
    between = (
        numbers.points_interval(interval) if difference else numbers.percent_interval(interval)
    )
    value = found.value if difference else min(1.0, max(0.0, found.value))
    return write(figure.judged), write(value), between


def _document(figure: CorrectedFigure | None) -> dict[str, Any] | None:
    if figure is None:
        return None
    found = figure.corrected
    interval = found.interval() if found else None
    return {
        "inputs": figure.units,
        "labelled": figure.labelled,
        "judged": figure.judged,
        "corrected": found.value if found else None,
        "interval": [interval.low, interval.high] if interval else None,
    }
