"""How often each setting of a sweep breaks the prompt's rules, as a section of its page."""

from __future__ import annotations

from html import escape

from gatekeeper import numbers
from gatekeeper.gate.sweep.compare import SweepResult
from gatekeeper.gate.sweep.suitability import NonCompliance, Suitability
from gatekeeper.reports.escape import code
from gatekeeper.reports.html import markup
from gatekeeper.reports.html.heat import Cell, heatmap
from gatekeeper.reports.markdown.suitability import (
    TITLE,
    TITLES,
    fewest_broken_rules,
    pairs_table,
    share_text,
    suitability_notes,
)

_DARKEST = 0.66


def suitability_section(result: SweepResult) -> str:
    """Render the section; empty if no fixture was made from a rule."""
    found = result.suitability
    if found is None:
        return ""
    notes = "".join(
        f'<p class="quiet">{markup.inline(note)}</p>' for note in suitability_notes(found)
    )
    pairs = (
        '<div class="words scroll" tabindex="0" role="region" aria-label="Pairs of settings">'
        f"{markup.blocks(pairs_table(result, found))}</div>"
        if found.pairs
        else ""
    )
    return (
        f'<section aria-labelledby="suitability"><h2 id="suitability">{escape(TITLE)}</h2>'
        f"<p>{markup.inline(fewest_broken_rules(result, found, code))}</p>"
        f"{_map(result, found)}{notes}{pairs}</section>"
    )


def _map(result: SweepResult, found: Suitability) -> str:
    columns = {name: f"{TITLES[name]} ({count:,})" for name, count in found.tests.items()}
    names = [
        f"{cell.setting.name}{' (today)' if cell.setting.current else ''}" for cell in result.cells
    ]
    rows = [names[number] for number in found.ranked]
    cells = {
        (names[number], title): _cell(found.rates[number][name])
        for number in found.ranked
        for name, title in columns.items()
    }
    caption = "Share of outputs that break a rule; a darker cell has a higher share"
    return heatmap(caption, rows, list(columns.values()), cells, corner="Setting")


def _cell(rate: NonCompliance) -> Cell:
    if rate.share is None:
        return Cell(share_text(rate))
    unknown = f", {rate.unknown:,} unknown" if rate.unknown else ""
    note = (
        f"{rate.failed:,} of {rate.measured:,}{unknown}; {numbers.percent_interval(rate.interval)}"
    )
    return Cell(numbers.percent(rate.share), _DARKEST * rate.share, note)
