"""Prints the figures of a run as the judge found them, and corrected by labels."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from gatekeeper import numbers
from gatekeeper.gate.calibration.run_correction import CorrectedFigure, RunCorrection
from gatekeeper.reports.escape import plain
from gatekeeper.reports.judges.agreement import print_line, print_table
from gatekeeper.stats.interval import ConfidenceInterval

if TYPE_CHECKING:
    from rich.console import Console


_TOO_FEW = "label at least 2 inputs"


def correction_document(found: RunCorrection) -> dict[str, Any]:
    """Return the figures as JSON data; rates as shares, `scores` those of the mean scores."""
    document = _figures(found)
    scores = found.scores and _figures(found.scores)
    return {"check": found.check, **document, "scores": scores}


def _figures(found: RunCorrection) -> dict[str, Any]:
    named = {"base": found.base, "head": found.head, "difference": found.difference}
    change = found.difference.corrected if found.difference else None
    return {
        **{name: _document(figure) for name, figure in named.items()},
        "p_value_worse": change.p_value_below(0.0) if change else None,
    }


def print_correction(found: RunCorrection, console: Console | None = None) -> None:
    """Print one row for each arm, one for the difference, and what it means; then the same of the
    scores, if there are some."""
    from gatekeeper.reports.terminal.console import log_console

    console = console or log_console()
    _print_figures(console, found, plain(found.check), "verdicts", _rate_texts)
    if found.scores is not None:
        heading = f"score of {plain(found.check)}"
        _print_figures(console, found.scores, heading, "scores", _score_texts)


Write = Callable[[CorrectedFigure, bool], tuple[str, str, str]]
"""Returns what the judge says, the corrected value and its interval; the flag says that it is a
difference."""


def _print_figures(
    console: Console, found: RunCorrection, heading: str, noun: str, write: Write
) -> None:
    rows = [
        (name, f"{figure.units:,}", f"{figure.labelled:,}", *write(figure, last))
        for name, figure, last in (
            ("base", found.base, False),
            ("head", found.head, False),
            ("head minus base", found.difference, True),
        )
        if figure is not None
    ]
    titles = (heading, "inputs", "labelled", "as judged", "corrected", "95 % interval")
    print_table(console, titles, rows)
    change = found.difference.corrected if found.difference else None
    if change is not None:
        p = numbers.p_value(change.p_value_below(0.0))
        print_line(console, f"The test for a drop from base to head, by people's {noun}: p {p}.")


def _score_texts(figure: CorrectedFigure, difference: bool) -> tuple[str, str, str]:
    found = figure.corrected
    if found is None:
        return numbers.score(figure.judged), _TOO_FEW, ""
    interval = found.interval()
    value, low, high = (
        end if difference else min(1.0, max(0.0, end))
        for end in (found.value, interval.low, interval.high)
    )
    between = f"{numbers.score(low)} – {numbers.score(high)}"
    return numbers.score(figure.judged), numbers.score(value), between


def _rate_texts(figure: CorrectedFigure, difference: bool) -> tuple[str, str, str]:
    write = numbers.points if difference else numbers.percent
    found = figure.corrected
    if found is None:
        return write(figure.judged), _TOO_FEW, ""
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
