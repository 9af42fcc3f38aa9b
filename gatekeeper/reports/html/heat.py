"""A heat map of the failures on head, by category and check."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from gatekeeper import numbers
from gatekeeper.contract.values.trial import Outcome
from gatekeeper.gate.results.parts import FixtureResult
from gatekeeper.reports.document import Cell, heat_map
from gatekeeper.reports.html.render import Html

_MOST_ROWS, _MOST_COLUMNS = 24, 12
_UNNAMED = "(no category)"


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
            numbers.percent(failed / evaluated),
            (f"{failed:,} of {evaluated:,}",),
            level=failed / evaluated,
        )
        for key, (failed, evaluated) in counts.items()
    }
    caption = "Share of head's samples that fail, by category and check"
    shown = Html().table(
        heat_map(caption, cells, rows[:_MOST_ROWS], columns[:_MOST_COLUMNS], corner="Category")
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
