"""Tables whose cells are coloured by their value: a heat map that is also a readable table.

The colour only repeats what the cell says in digits, and goes from pale to dark in one hue, so
that nobody needs to tell hues apart.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

from gatekeeper import numbers
from gatekeeper.contract.values.trial import Outcome
from gatekeeper.gate.results.fixture_result import FixtureResult
from gatekeeper.reports.escape import clip, plain, visible

STEPS = 9
_NAME_LIMIT = 60
_MOST_ROWS, _MOST_COLUMNS = 24, 12
_UNNAMED = "(no category)"


@dataclass(frozen=True, slots=True)
class Cell:
    """`text` is shown, `level` in [0, 1] colours it (None: not known), `note` is the small print
    below it, `marked` sets it apart from the others, such as a recommended setting."""

    text: str
    level: float | None = None
    note: str = ""
    marked: bool = False


def heatmap(
    caption: str,
    rows: Sequence[str],
    columns: Sequence[str],
    cells: Mapping[tuple[str, str], Cell],
    *,
    corner: str = "",
    kind: str = "heat",
) -> str:
    """Render an HTML table with a cell for each `(row, column)`; missing ones are empty.

    `corner` names what the rows are. All texts may be hostile. `kind` becomes its class.
    """
    head = "".join(f'<th scope="col">{_name(column)}</th>' for column in columns)
    body = "".join(
        f'<tr><th scope="row">{_name(row)}</th>'
        + "".join(_cell(cells.get((row, column)), row, column) for column in columns)
        + "</tr>"
        for row in rows
    )
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(plain(caption))}">'
        f'<table class="{escape(kind)}"><caption>{escape(plain(caption))}</caption>'
        f'<thead><tr><th scope="col">{_name(corner)}</th>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def failure_clusters(
    fixtures: Sequence[FixtureResult], outcomes: Mapping[str, Sequence[Outcome]]
) -> str:
    """Render the failures on head: a row for each category, a column for each check, the worst
    first.

    Empty if no check fails on head. A cell is the share of head's evaluated samples that fail.
    """
    counts: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0])
    for fixture in fixtures:
        category = fixture.category or _UNNAMED
        for outcome in outcomes.get(fixture.id, ()):
            if outcome.sample.trial.arm == "head":
                for check_result in outcome.check_results:
                    if check_result.passed is not None:
                        tally = counts[category, check_result.check]
                        tally[0] += not check_result.passed
                        tally[1] += 1
    rows = _worst((category, failed) for (category, _), (failed, _) in counts.items())
    columns = _worst((check, failed) for (_, check), (failed, _) in counts.items())
    if not columns:
        return ""
    cells = {
        key: Cell(
            numbers.percent(failed / evaluated), failed / evaluated, f"{failed:,} of {evaluated:,}"
        )
        for key, (failed, evaluated) in counts.items()
    }
    caption = "Share of head's samples that fail, by category and check"
    shown = heatmap(
        caption, rows[:_MOST_ROWS], columns[:_MOST_COLUMNS], cells, corner="Category", kind="heat"
    )
    rest = max(0, len(rows) - _MOST_ROWS), max(0, len(columns) - _MOST_COLUMNS)
    if not any(rest):
        return shown
    categories = numbers.count(rest[0], "category", "categories")
    left = f"{categories} and {numbers.count(rest[1], 'check')} with fewer failures are not shown."
    return f'{shown}<p class="quiet">{left}</p>'


def _worst(failures: object) -> list[str]:
    """Return the names with failures, those with the most first."""
    totals: dict[str, int] = defaultdict(int)
    for name, failed in failures:  # type: ignore[attr-defined]
        totals[name] += failed
    return sorted((n for n in totals if totals[n]), key=lambda name: (-totals[name], name))


def _cell(cell: Cell | None, row: str, column: str) -> str:
    if cell is None:
        return '<td class="none">–</td>'
    level = "none" if cell.level is None else f"h{round(min(1, max(0, cell.level)) * STEPS)}"
    marked = " marked" if cell.marked else ""
    note = f"<small>{escape(visible(cell.note))}</small>" if cell.note else ""
    # The script links the cells with failures to their fixtures.
    fails = ' data-fails=""' if cell.level else ""
    return (
        f'<td class="{level}{marked}"{fails} data-row="{escape(plain(row))}" '
        f'data-column="{escape(plain(column))}">{escape(visible(cell.text))}{note}</td>'
    )


def _name(text: str) -> str:
    return escape(clip(plain(text), _NAME_LIMIT))
