"""A sweep as one HTML page: the map of the settings, then every figure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from gatekeeper import __version__, numbers
from gatekeeper.gate.results.result import ArmResult
from gatekeeper.gate.sweep.compare import SweepResult
from gatekeeper.gate.sweep.grid import said
from gatekeeper.reports.escape import plain
from gatekeeper.reports.html import markup
from gatekeeper.reports.html.document import page
from gatekeeper.reports.html.heat import Cell, heatmap
from gatekeeper.reports.html.suitability import suitability_section
from gatekeeper.reports.markdown.sweep import (
    axes_of,
    recommendation,
    seeds_sent,
    settings_table,
    significant_differences,
    visible_drop,
)

_DARKEST = 0.66


def render_sweep_page(result: SweepResult) -> str:
    """Render one self-contained file, which loads nothing from the network and runs no script."""
    title = f"Sweep of {plain(result.contract)}"
    chosen = "pass" if result.recommendation.setting is not None else "inconclusive"
    sections = [
        f'<header class="verdict {chosen}"><h1>{escape(title)}</h1>'
        f'<p class="lead">{markup.inline(recommendation(result))}</p>'
        f'<p class="quiet">{markup.inline(visible_drop(result))}</p></header>',
        suitability_section(result),
        f'<section aria-labelledby="map"><h2 id="map">Map</h2>{sweep_map(result)}</section>',
        '<section aria-labelledby="settings"><h2 id="settings">Settings</h2>'
        f'<div class="words scroll" tabindex="0" role="region" aria-label="Settings">'
        f"{markup.blocks(settings_table(result))}</div>"
        f'<p class="quiet">{escape(plain(seeds_sent(result)))}</p></section>',
        '<section aria-labelledby="pairs"><h2 id="pairs">What differs significantly</h2>'
        '<div class="words scroll" tabindex="0" role="region" '
        'aria-label="What differs significantly">'
        f"{markup.blocks(significant_differences(result))}</div></section>",
        f'<p class="quiet">gatekeeper {escape(__version__)}</p>',
    ]
    return page(f"{title} · gatekeeper", f"<main>{''.join(sections)}</main>")


def sweep_map(result: SweepResult) -> str:
    """Render a table coloured by how far below the best each setting is: the last axis across, all
    others down."""
    *down, across = axes_of(result)
    rates = [c.arm.success_rate for c in result.cells if c.arm.success_rate is not None]
    cells: dict[tuple[str, str], Cell] = {}
    for number in sorted(range(len(result.cells)), key=lambda n: _place(result, n)):
        found = result.cells[number]
        varied = found.setting.varied
        row = ", ".join(f"{axis} {said(varied[axis])}" for axis in down) or result.contract
        cells[row, f"{across} {said(varied[across])}"] = Cell(
            numbers.percent(found.arm.success_rate),
            _below_best(found.arm.success_rate, rates),
            _note(found.arm),
            marked=number == result.recommendation.setting,
        )
    rows, columns = (list(dict.fromkeys(key[side] for key in cells)) for side in (0, 1))
    caption = (
        "Pass rate: a darker cell is further below the best setting; a frame "
        "marks the recommended setting"
    )
    return heatmap(caption, rows, columns, cells)


def _place(result: SweepResult, number: int) -> tuple[tuple[float, int], ...]:
    """Return the order of a setting: numbers by their size, others in the order of the request."""
    varied = [cell.setting.varied for cell in result.cells]
    return tuple(
        (float(value), 0)
        if isinstance(value, int | float)
        else (-math.inf, next(n for n, other in enumerate(varied) if other[axis] == value))
        for axis, value in varied[number].items()
    )


def _below_best(rate: float | None, rates: Sequence[float]) -> float | None:
    if rate is None:
        return None
    spread = max(rates) - min(rates)
    return _DARKEST * (max(rates) - rate) / spread if spread else 0.0


def _note(arm: ArmResult) -> str:
    interval = numbers.percent_interval(arm.interval)
    cost = arm.cost_per_call_usd
    return interval if cost is None else f"{interval}, {numbers.dollars(cost)} a call"
