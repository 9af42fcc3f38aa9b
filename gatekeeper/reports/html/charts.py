"""The charts, rendered by pygal as SVG that has neither script nor style of its own.

Colours come from the page, so that they follow its theme and pass its security policy. Each is a
figure with a title, a sentence that says what it shows, and the same numbers as a table.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from functools import lru_cache
from html import escape
from statistics import fmean
from typing import Any

from gatekeeper import numbers
from gatekeeper.contract.values.objectives import Objective, label_of
from gatekeeper.contract.values.trial import Arm, Outcome
from gatekeeper.gate.results.result import ArmResult, ContractResult, PastRun
from gatekeeper.gate.samples.outcomes import latencies, quantile
from gatekeeper.reports.escape import clip, visible
from gatekeeper.stats.objectives.error_budget import ErrorBudget, error_budget

MOST_RUNS = 60
"""The most runs in a trend; older runs say little about today."""
_MOST_LABELS = 6
_LATENCY_SHARES = (0.0, *(step / 40 for step in range(2, 40)), 0.99, 1.0)
_TABLE_SHARES = (0.5, 0.9, 0.95, 0.99)
_DIGITS = re.compile(r"-?\d+\.\d{2,}")
_ARMS: tuple[Arm, Arm] = ("base", "head")

Row = Sequence[str]
ByArm = Mapping[Arm, Sequence[Outcome]]


def success_trend(
    past: Sequence[PastRun],
    head: ArmResult | None,
    target: float | None,
    now_is: str = "this change",
) -> str:
    """Draw the share of samples that passed on the default branch, run by run, and now on head.

    `now_is` says what head is.
    """
    runs = _latest(past)
    points = [(_day(r), r.success_rate, r.interval, r.samples, r.sha) for r in runs]
    if head is not None:
        points.append((now_is, head.success_rate, head.interval, head.samples, ""))
    points = [point for point in points if point[1] is not None]
    if len(points) < 2 or not runs:
        return ""
    rates = [_with_interval(rate, interval) for _, rate, interval, _, _ in points]
    shown = [rate for _, rate, *_ in points if rate is not None]
    shown += [interval.low for _, _, interval, *_ in points if interval]
    bottom = max(0.0, min([*shown, *([] if target is None else [target])]) - 0.03)
    chart = _pygal("Line", range=(bottom, 1), value_formatter=_percent, x_labels=_sparse(points))
    now = len(points) - len(runs)
    chart.add("default branch", [*rates[: len(runs)], *[None] * now])
    if target is not None:
        chart.add("objective", [target] * len(points), show_dots=False)
    if now:
        chart.add(now_is, [*[None] * len(runs), rates[-1]], dots_size=5)
    table = [
        (when, numbers.percent(rate), _between(interval), f"{samples:,}", sha[:10])
        for when, rate, interval, samples, sha in points
    ]
    last = f"The success rate was {numbers.percent(runs[-1].success_rate)} in the latest run"
    here = f" and is {numbers.percent(head.success_rate)} in {now_is}" if now and head else ""
    return _figure(
        "Success rate over runs",
        f"{numbers.count(len(runs), 'run')} of the default branch, with 95 % intervals. "
        f"{last}{here}.",
        chart,
        ("Run", "Success rate", "Interval", "Samples", "Commit"),
        table,
        "trend",
    )


def budget_trend(past: Sequence[PastRun], budget: ErrorBudget, target: float) -> str:
    """Draw what was left of an objective's error budget after each run, and what is left now.

    `target` is the objective's own.
    """
    runs = _latest(past)
    good_share = Objective(budget.objective, target, budget.window).good_share
    if good_share is None or len(runs) < 2 or _share_left(budget) is None:
        return ""
    events = [event for run in past if (event := run.events.get(budget.objective))]
    found = [
        error_budget(
            (e for e in events if e.time <= run.time),
            good_share,
            budget.window,
            run.time,
            alpha=None,
        )
        for run in runs
    ]
    points = [*zip(map(_day, runs), found, strict=True), ("now", budget)]
    shares = [_share_left(each) for _, each in points]
    lowest = min(0.0, *(share for share in shares if share is not None))
    chart = _pygal("Line", range=(lowest, 1), value_formatter=_percent, x_labels=_sparse(points))
    chart.add("budget left", shares)
    table = [
        (when, numbers.percent(share), numbers.number(b.left), numbers.number(b.budget))
        for (when, b), share in zip(points, shares, strict=True)
    ]
    return _figure(
        f"Error budget left: {clip(visible(label_of(budget.objective)), 80)}",
        f"The share of the budget after each run. Now {numbers.percent(shares[-1])} is left: "
        f"{numbers.number(budget.left)} of the {numbers.number(budget.budget)} failures that the "
        f"objective allows in {budget.window}.",
        chart,
        ("Run", "Left", "Failures left", "Failures allowed"),
        table,
        "left",
    )


def latency_chart(outcomes: ByArm, arms: Mapping[Arm, ArmResult | None]) -> str:
    """Draw the share of calls that were answered within a time, by arm."""
    known = {arm: sorted(latencies(outcomes[arm])) for arm in _ARMS}
    known = {arm: values for arm, values in known.items() if len(values) > 1}
    if not known:
        return ""
    chart = _pygal(
        "XY",
        show_dots=False,
        range=(0, 1),
        value_formatter=_percent,
        x_value_formatter=numbers.milliseconds,
    )
    for arm in _ARMS:
        values = known.get(arm, [])
        # Without a title it is not in the legend, and still keeps the other arm's colour.
        title = arm if arm in known else None
        chart.add(title, [(quantile(values, share), share) for share in _LATENCY_SHARES if values])
    table = [
        (
            arm,
            *(numbers.milliseconds(quantile(values, share)) for share in _TABLE_SHARES),
            f"{len(values):,}",
        )
        for arm, values in known.items()
    ]
    said = ", ".join(
        f"{arm} {numbers.milliseconds(found.latency_p95_ms)}"
        for arm in known
        if (found := arms.get(arm)) is not None
    )
    return _figure(
        "Latency",
        f"The share of calls that got an answer within each time. Latency p95: {said}.",
        chart,
        ("Revision", *(f"{numbers.percent(share)} within" for share in _TABLE_SHARES), "Calls"),
        table,
    )


def token_chart(outcomes: ByArm, arms: Mapping[Arm, ArmResult | None]) -> str:
    """Draw the mean tokens of a call, of prompt and answer, by arm, with the cost."""
    rows = {arm: _tokens(outcomes[arm]) for arm in _ARMS}
    known = {arm: found for arm, found in rows.items() if found is not None}
    if not known:
        return ""
    chart = _pygal("HorizontalStackedBar", x_labels=list(known), value_formatter=_whole, height=190)
    chart.add("prompt", [found[0] for found in known.values()])
    chart.add("answer", [found[1] for found in known.values()])
    table = [
        (arm, _whole(prompt), _whole(answer), _cost(arms.get(arm)))
        for arm, (prompt, answer) in known.items()
    ]
    costs = ", ".join(f"{arm} {_cost(arms.get(arm))}" for arm in known)
    return _figure(
        "Tokens and cost of a call",
        f"Mean tokens of the prompt and of the answer. Cost of a call: {costs}.",
        chart,
        ("Revision", "Prompt tokens", "Answer tokens", "Cost of a call"),
        table,
        "parts",
    )


def interval_strip(contract: ContractResult) -> str:
    """Draw both arms' success rates with their intervals, and the objective, on one line each."""
    arms = {"base": contract.base, "head": contract.head}
    known = {
        label: (arm.success_rate, arm.interval)
        for label, arm in arms.items()
        if arm and arm.success_rate is not None and arm.interval
    }
    if not known:
        return ""
    target = next((s.target for s in contract.slo if s.objective == "success_rate"), None)
    ends = [interval.low for _, interval in known.values() if interval]
    low = min([*ends, *([] if target is None else [target])])
    start = max(0.0, int(low * 20 - 0.5) / 20)

    def at(share: float) -> float:
        return round(60 + 480 * (share - start) / (1 - start or 1), 1)

    said = "; ".join(
        f"{label} {numbers.percent(rate)}, interval {_between(interval)}"
        for label, (rate, interval) in known.items()
    )
    parts = []
    for row, (label, (rate, interval)) in enumerate(known.items()):
        y = 18 + 26 * row
        parts.append(
            f'<g class="{label}"><text x="50" y="{y + 4}">{label}</text>'
            f'<line x1="{at(interval.low)}" x2="{at(interval.high)}" y1="{y}" y2="{y}"/>'
            f'<circle cx="{at(rate)}" cy="{y}" r="6"/></g>'
        )
    bottom = 22 + 26 * len(known)
    for share in (start, (start + 1) / 2, 1.0):
        shown = escape(numbers.percent(share))
        parts.append(f'<text class="tick" x="{at(share)}" y="{bottom + 12}">{shown}</text>')
    if target is not None:
        x = at(target)
        parts.append(f'<line class="target" x1="{x}" x2="{x}" y1="4" y2="{bottom - 6}"/>')
        said += f"; objective {numbers.percent(target)}"
    parts.append(f'<line class="scale" x1="60" x2="540" y1="{bottom - 6}" y2="{bottom - 6}"/>')
    return (
        f'<svg class="strip" viewBox="0 0 560 {bottom + 18}" role="img" '
        f'aria-label="Success rate: {escape(said)}">{"".join(parts)}</svg>'
    )


@lru_cache(maxsize=1)
def import_pygal() -> Any:
    """Import pygal, and remove the plug-in finder that it leaves behind: every later import of the
    process would call it, and Python 3.11 warns of its old interface."""
    import pygal
    from pygal import PluginImportFixer

    # That of importlib_metadata, which pygal imports, stays: Python's own has made way for it.
    sys.meta_path[:] = [f for f in sys.meta_path if not isinstance(f, PluginImportFixer)]
    return pygal


def _pygal(kind: str, **options: Any) -> Any:
    pygal = import_pygal()
    chosen = {
        "js": (),
        "width": 560,
        "height": 250,
        "margin": 8,
        "margin_right": 36,
        "legend_at_bottom": True,
        "show_x_guides": False,
        "dots_size": 3,
        "max_scale": 6,
        "pretty_print": False,
        "truncate_label": -1,
        "truncate_legend": -1,
    }
    return getattr(pygal, kind)(**(chosen | options))


def _figure(
    title: str, says: str, chart: Any, columns: Row, rows: Sequence[Row], kind: str = ""
) -> str:
    """Return a figure. `kind` names what its colours mean if they are not base and head, in this
    order."""
    head = "".join(f'<th scope="col">{escape(column)}</th>' for column in columns)
    body = "".join(
        f"<tr>{''.join(f'<td>{escape(visible(value))}</td>' for value in row)}</tr>" for row in rows
    )
    return (
        f'<figure class="{f"chart {kind}".rstrip()}"><figcaption>'
        f"<b>{escape(title)}</b> {escape(says)}</figcaption>"
        f"{_svg(chart, f'{title}. {says}')}"
        f"<details><summary>{escape(title)} as a table</summary>"
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(title)}">'
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
        "</details></figure>"
    )


def _svg(chart: Any, says: str) -> str:
    """Return pygal's drawing alone, without its script, style and tool tips. The page styles the
    classes."""
    from pygal.etree import etree

    chart.legend_at_bottom_columns = len(chart.raw_series)
    root = chart.render_tree()
    _strip(root)
    root.attrib.pop("id", None)
    root.set("role", "img")
    root.set("aria-label", says)
    return str(etree.tostring(root, encoding="unicode"))


def _strip(element: Any) -> None:
    for child in list(element):
        tag = child.tag if isinstance(child.tag, str) else "comment"
        name = tag.rpartition("}")[2]
        classes = child.get("class", "")
        if name in ("defs", "desc", "title", "comment") or "tooltip-overlay" in classes:
            element.remove(child)
        else:
            child.attrib.pop("style", None)
            child.attrib.pop("id", None)
            for key, value in child.attrib.items():
                child.set(key, _DIGITS.sub(_short, value))
            _strip(child)


def _short(number: re.Match[str]) -> str:
    """Round a coordinate to a tenth of a pixel."""
    return f"{float(number[0]):.1f}"


def _with_interval(rate: float | None, interval: Any) -> Any:
    if rate is None or interval is None:
        return rate
    return {"value": rate, "ci": {"low": interval.low, "high": interval.high}}


def _latest(past: Sequence[PastRun]) -> list[PastRun]:
    measured = [run for run in past if run.samples]
    return sorted(measured, key=lambda run: run.time)[-MOST_RUNS:]


def _sparse(points: Sequence[tuple[Any, ...]]) -> list[str]:
    """Return a label for some of the points, always for the last one. The table has the others."""
    step = max(1, -(-len(points) // _MOST_LABELS))
    last = len(points) - 1
    return [
        str(point[0]) if at == last or (at % step == 0 and last - at >= step) else ""
        for at, point in enumerate(points)
    ]


def _tokens(outcomes: Sequence[Outcome]) -> tuple[float, float] | None:
    known = [
        (c.prompt_tokens, c.completion_tokens)
        for outcome in outcomes
        if (c := outcome.sample.completion) is not None
        and c.prompt_tokens is not None
        and c.completion_tokens is not None
    ]
    if not known:
        return None
    prompt, answer = zip(*known, strict=True)
    return fmean(prompt), fmean(answer)


def _share_left(budget: ErrorBudget) -> float | None:
    return budget.left / budget.budget if budget.budget > 0 else None


def _day(run: PastRun) -> str:
    return f"{run.time:%Y-%m-%d}"


def _percent(share: float) -> str:
    return numbers.percent(share)


def _whole(value: float) -> str:
    return numbers.tokens(value)


def _cost(arm: ArmResult | None) -> str:
    return numbers.dollars(arm.cost_per_call_usd if arm else None)


def _between(interval: Any) -> str:
    if interval is None:
        return numbers.NONE
    return f"{numbers.percent(interval.low)} to {numbers.percent(interval.high)}"
