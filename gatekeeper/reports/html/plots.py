"""Draws the charts of a report and of the site as SVG paths, without script or style.

One path for all nights of a year takes a millisecond and 6 kB: a site of 100 contracts has 600
charts. Labels are HTML around the drawing, so that they keep their size on a phone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape
from itertools import islice
from typing import NamedTuple

from markupsafe import Markup

from gatekeeper import numbers
from gatekeeper.history.flickering import FixtureState
from gatekeeper.reports.document import Table
from gatekeeper.reports.escape import plain
from gatekeeper.reports.html.render import Html
from gatekeeper.stats.interval import ConfidenceInterval

WIDTH, HEIGHT = 1000, 120
_MOST_DOTS = 60
"""Beyond this number of points, dots hide the line."""
_SPARK_WIDTH, _SPARK_HEIGHT = 120, 28
_LEAST_SPAN = 0.1
"""The smallest range of shares on an axis, so that a fall of one point does not look like ten."""
_CELL = 7

Value = float | None


@dataclass(frozen=True, slots=True)
class Axis:
    """The range of the values, and how its labels are written."""

    low: float
    high: float
    write: Callable[[float], str]

    def y(self, value: float, height: int = HEIGHT) -> int:
        """Return the place of a value, from 0 at the top to `height` at the bottom."""
        span = (self.high - self.low) or 1.0
        place = round(height * (self.high - value) / span)
        return 0 if place < 0 else height if place > height else place


class Line(NamedTuple):
    """Values at places of the axis. `arm` is a CSS class, ` head` for head's line."""

    xs: Sequence[int]
    values: Sequence[Value]
    arm: str = ""


def share_axis(values: Sequence[Value]) -> Axis:
    """Return an axis for shares that ends at 100 %."""
    known = [value for value in values if value is not None]
    low = min(known, default=0.0)
    # Multiples of 10 points, so that the middle is a round number as well.
    low = math.floor(min(low - 0.01, 1 - _LEAST_SPAN) * 10) / 10
    return Axis(max(0.0, low), 1.0, numbers.percent)


def amount_axis(values: Sequence[Value], write: Callable[[float], str]) -> Axis:
    """Return an axis from 0 to a round number above the largest value."""
    most = max((value for value in values if value is not None), default=0.0)
    if most <= 0:
        return Axis(0.0, 1.0, write)
    unit = 10.0 ** math.floor(math.log10(most))
    high = next(step * unit for step in (1, 2, 4, 5, 6, 8, 10) if step * unit >= most * 0.999)
    return Axis(0.0, high, write)


def places(times: Sequence[datetime]) -> list[int]:
    """Return where on the axis the times are, from 0 to `WIDTH`; the middle for a single one."""
    if not times:
        return []
    first, last = times[0], times[-1]
    span = (last - first).total_seconds()
    if span <= 0:
        return [WIDTH // 2] * len(times)
    return [round(WIDTH * (time - first).total_seconds() / span) for time in times]


def plot(
    title: str,
    says: str,
    axis: Axis,
    ends: Sequence[str],
    *lines: Line,
    intervals: Sequence[ConfidenceInterval | None] = (),
    target: float | None = None,
    marks: Sequence[int] = (),
    change: int | None = None,
    kind: str = "",
    height: int = HEIGHT,
    table: Table | None = None,
) -> Markup:
    """Return a figure with lines between two `ends`, `height` steps high.

    `intervals` are those of the lines one after another, drawn as a band for each. `target` is a
    dashed line. `marks` are places on the axis of what began there, such as another prompt;
    `change` is that of a certain drift. `table` has the same numbers.
    """
    parts = [_grid(height)]
    known = iter(intervals)
    bands = [(line.xs, list(islice(known, len(line.xs)))) for line in lines]
    parts += [_band(axis, height, xs, found) for xs, found in bands if found]
    if target is not None:
        parts.append(f'<path class="target" d="M0 {axis.y(target, height)}H{WIDTH}"/>')
    if marks:
        parts.append(f'<path class="mark" d="{"".join(f"M{x} 0V{height}" for x in marks)}"/>')
    if change is not None:
        parts.append(f'<path class="change" d="M{change} 0V{height}"/>')
    for line in lines:
        ys = [None if value is None else axis.y(value, height) for value in line.values]
        parts.append(f'<path class="line{line.arm}" d="{_line(line.xs, ys)}"/>')
        if len(line.values) <= _MOST_DOTS:
            dots = [f"M{x} {y}h0" for x, y in zip(line.xs, ys, strict=True) if y is not None]
            parts.append(f'<path class="dots{line.arm}" d="{"".join(dots)}"/>')
    kind = f"plot {kind}".rstrip()
    return _figure(title, says, "".join(parts), axis, ends, kind, height, table)


def bars(
    title: str, says: str, axis: Axis, labels: Sequence[str], values: Sequence[Value]
) -> Markup:
    """Return a figure with one bar for each label, the first at the left."""
    step = WIDTH / max(1, len(values))
    drawn = "".join(
        f"M{round(step * (at + 0.15))} {HEIGHT}V{axis.y(value)}h{round(step * 0.7)}V{HEIGHT}z"
        for at, value in enumerate(values)
        if value
    )
    ends = [labels[0], labels[-1]] if len(labels) > 1 else list(labels)
    inner = f'{_grid(HEIGHT)}<path class="bars" d="{drawn}"/>'
    return _figure(title, says, inner, axis, ends, "plot")


def sparkline(rates: Sequence[Value]) -> Markup:
    """Return a small line of the latest pass rates, the last one with a dot."""
    known = [(at, rate) for at, rate in enumerate(rates) if rate is not None]
    if not known:
        return Markup()
    shares = [rate for _, rate in known]
    axis = share_axis(shares)
    step = (_SPARK_WIDTH - 8) / max(1, len(rates) - 1)

    def y(rate: float) -> int:
        return 4 + round(axis.y(rate) * (_SPARK_HEIGHT - 8) / HEIGHT)

    points = [(4 + round(at * step), y(rate)) for at, rate in known]
    x, last = points[-1]
    says = (
        f"Pass rate of the last {numbers.count(len(rates), 'run')}: first "
        f"{numbers.percent(shares[0])}, lowest {numbers.percent(min(shares))}, last "
        f"{numbers.percent(shares[-1])}"
    )
    return Markup(  # noqa: S704
        f'<svg class="spark" viewBox="0 0 {_SPARK_WIDTH} {_SPARK_HEIGHT}" role="img" '
        f'aria-label="{escape(says)}"><path d="{_path(points)}"/>'
        f'<circle cx="{x}" cy="{last}" r="3"/></svg>'
    )


def state_strip(states: Sequence[FixtureState | None]) -> Markup:
    """Return a square for each run, oldest first: full if it passed, hollow if it failed, half if
    its samples disagreed."""
    passed, failed, mixed = [], [], []
    for at, state in enumerate(states):
        x = at * _CELL
        if state == "passed":
            passed.append(f"M{x} 1h5v10h-5z")
        elif state == "failed":
            failed.append(f"M{x} 1h5v10h-5z")
        elif state == "mixed":
            passed.append(f"M{x} 1h5v5h-5z")
            mixed.append(f"M{x} 6h5v5h-5z")
    counts = [states.count("passed"), states.count("failed"), states.count("mixed")]
    says = (
        f"The last {numbers.count(len(states), 'run')}: passed {counts[0]}, failed {counts[1]}, "
        f"mixed {counts[2]}; last {next((s for s in reversed(states) if s), 'unknown')}"
    )
    return Markup(  # noqa: S704
        f'<svg class="states" viewBox="0 0 {max(1, len(states)) * _CELL} 12" '
        f'width="{max(1, len(states)) * _CELL}" height="12" role="img" '
        f'aria-label="{escape(says)}"><path class="passed" d="{"".join(passed)}"/>'
        f'<path class="failed" d="{"".join(failed)}{"".join(mixed)}"/></svg>'
    )


def _figure(
    title: str,
    says: str,
    inner: str,
    axis: Axis,
    ends: Sequence[str],
    kind: str,
    height: int = HEIGHT,
    table: Table | None = None,
) -> Markup:
    ticks = (axis.high, (axis.low + axis.high) / 2, axis.low)
    labels = "".join(f"<span>{escape(axis.write(tick))}</span>" for tick in ticks)
    below = "".join(f"<span>{escape(date)}</span>" for date in ends)
    digits = (
        f"<details><summary>As a table</summary>{Html().table(table)}</details>" if table else ""
    )
    follows = '<p class="readout quiet" aria-hidden="true"></p>' if "over-runs" in kind else ""
    said = escape(plain(f"{title}. {says}"))
    return Markup(  # noqa: S704
        f'<figure class="chart {kind}"><figcaption><b>{escape(plain(title))}</b> '
        f'{escape(plain(says))}</figcaption><div class="frame">'
        f'<div class="ticks" aria-hidden="true">{labels}</div>'
        f'<svg viewBox="0 0 {WIDTH} {height}" preserveAspectRatio="none" role="img" '
        f'aria-label="{said}">{inner}</svg><div class="dates" aria-hidden="true">{below}</div>'
        f"</div>{follows}{digits}</figure>"
    )


def _grid(height: int) -> str:
    """Return the lines at the ends of the axis and in its middle."""
    return f'<path class="grid" d="M0 0H{WIDTH}M0 {height // 2}H{WIDTH}M0 {height}H{WIDTH}"/>'


def _band(
    axis: Axis, height: int, xs: Sequence[int], intervals: Sequence[ConfidenceInterval | None]
) -> str:
    """Return the area between the bounds, in one piece for each stretch that has intervals."""
    pieces: list[list[tuple[int, int, int]]] = [[]]
    for x, interval in zip(xs, intervals, strict=True):
        if interval is None:
            pieces.append([])
        else:
            pieces[-1].append((x, axis.y(interval.low, height), axis.y(interval.high, height)))
    drawn = []
    for piece in pieces:
        if len(piece) == 1:
            x, low, high = piece[0]
            drawn.append(f"M{x - 3} {low}V{high}h6V{low}z")
        elif piece:
            top = [(x, high) for x, _, high in piece]
            bottom = [(x, low) for x, low, _ in reversed(piece)]
            drawn.append(f"{_path([*top, *bottom])}z")
    return f'<path class="band" d="{"".join(drawn)}"/>'


def _line(xs: Sequence[int], ys: Sequence[int | None]) -> str:
    """Return a path with a gap where a value is not known."""
    pieces: list[list[tuple[int, int]]] = [[]]
    for x, y in zip(xs, ys, strict=True):
        if y is None:
            pieces.append([])
        else:
            pieces[-1].append((x, y))
    return "".join([_path(piece) for piece in pieces if piece])


def _path(points: Sequence[tuple[int, int]]) -> str:
    """Return a path in steps from point to point, which are shorter to write than the points."""
    x, y = points[0]
    steps = []
    for nx, ny in points[1:]:
        steps.append(f"{nx - x} {ny - y}" if ny >= y else f"{nx - x}{ny - y}")
        x, y = nx, ny
    start = f"M{points[0][0]} {points[0][1]}"
    return f"{start}l{' '.join(steps)}" if steps else f"{start}h0"


def dates(times: Sequence[datetime]) -> list[str]:
    """Return the first and the last day."""
    if not times:
        return []
    days = [f"{time.astimezone(UTC):%Y-%m-%d}" for time in (times[0], times[-1])]
    return days if days[0] != days[1] else days[:1]
