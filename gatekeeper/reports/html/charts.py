"""The charts of a report: figures with a title, a sentence that says what each shows, and a table
of the same numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from statistics import fmean

from markupsafe import Markup

from gatekeeper import numbers
from gatekeeper.contract.values.objectives import Objective, label_of
from gatekeeper.contract.values.trial import Arm, Outcome
from gatekeeper.gate.results.result import ArmResult, ContractResult, PastRun
from gatekeeper.gate.samples.outcomes import latencies, quantile
from gatekeeper.reports.document import Column, Quote, Table, Words
from gatekeeper.reports.escape import clip, visible
from gatekeeper.reports.html import plots
from gatekeeper.reports.html.render import Html
from gatekeeper.stats.interval import ConfidenceInterval
from gatekeeper.stats.objectives.error_budget import ErrorBudget, error_budget

MOST_RUNS = 60
"""The most runs in a trend; older runs say little about today."""
_LATENCY_SHARES = (0.0, *(step / 40 for step in range(2, 40)), 0.99, 1.0)
_TABLE_SHARES = (0.5, 0.9, 0.95, 0.99)
_ARMS: tuple[Arm, Arm] = ("base", "head")

ByArm = Mapping[Arm, Sequence[Outcome]]


def success_trend(
    past: Sequence[PastRun],
    head: ArmResult | None,
    target: float | None,
    now_is: str = "this change",
) -> Markup:
    """Draw the share of samples that passed on the default branch, run by run, and now on head.

    `now_is` says what head is.
    """
    runs = [run for run in _latest(past) if run.success_rate is not None]
    points = [(_day(r), r.success_rate, r.interval, r.samples, r.sha) for r in runs]
    now = int(head is not None and head.success_rate is not None)
    if head and now:
        points.append((now_is, head.success_rate, head.interval, head.samples, ""))
    if len(points) < 2 or not runs:
        return Markup()
    rates, intervals = [point[1] for point in points], [point[2] for point in points]
    xs = _spread(len(points))
    here = f" and is {numbers.percent(head.success_rate)} in {now_is}" if now and head else ""
    dashed = "" if target is None else f" Dashed: the objective, {numbers.percent(target)}."
    return plots.plot(
        "Success rate over runs",
        f"{numbers.count(len(runs), 'run')} of the default branch, with 95 % intervals. The "
        f"success rate was {numbers.percent(runs[-1].success_rate)} in the latest run{here}."
        f"{dashed}",
        plots.share_axis([*rates, *(found.low for found in intervals if found), target]),
        [points[0][0], points[-1][0]],
        plots.Line(xs[: len(runs)], rates[: len(runs)]),
        *([plots.Line(xs[-1:], rates[-1:], " head")] if now else []),
        intervals=intervals,
        target=target,
        table=_table(
            ("Run", "Success rate", "Interval", "Samples", "Commit"),
            [
                (day, numbers.percent(rate), between(interval), f"{samples:,}", Quote(sha[:10]))
                for day, rate, interval, samples, sha in points
            ],
        ),
    )


def budget_trend(past: Sequence[PastRun], budget: ErrorBudget, target: float) -> Markup:
    """Draw what was left of an objective's error budget after each run, and what is left now.

    `target` is the objective's own.
    """
    runs = _latest(past)
    good_share = Objective(budget.objective, target, budget.window).good_share
    if good_share is None or len(runs) < 2 or _share_left(budget) is None:
        return Markup()
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
    return plots.plot(
        f"Error budget left: {clip(visible(label_of(budget.objective)), 80)}",
        f"The share of the budget after each run. Now {numbers.percent(shares[-1])} is left: "
        f"{numbers.number(budget.left)} of the {numbers.number(budget.budget)} failures that the "
        f"objective allows in {budget.window}.",
        plots.Axis(lowest, 1.0, numbers.percent),
        [points[0][0], "now"],
        plots.Line(_spread(len(points)), shares),
        table=_table(
            ("Run", "Left", "Failures left", "Failures allowed"),
            [
                (when, numbers.percent(share), numbers.number(b.left), numbers.number(b.budget))
                for (when, b), share in zip(points, shares, strict=True)
            ],
        ),
    )


def latency_chart(outcomes: ByArm, arms: Mapping[Arm, ArmResult | None]) -> Markup:
    """Draw the share of calls that were answered within a time, by arm."""
    known = {arm: sorted(latencies(outcomes[arm])) for arm in _ARMS}
    known = {arm: values for arm, values in known.items() if len(values) > 1}
    if not known:
        return Markup()
    longest = max(values[-1] for values in known.values()) or 1.0
    lines = [
        plots.Line(
            [
                round(plots.WIDTH * (quantile(values, share) or 0.0) / longest)
                for share in _LATENCY_SHARES
            ],
            _LATENCY_SHARES,
            " head" if arm == "head" else "",
        )
        for arm, values in known.items()
    ]
    said = ", ".join(
        f"{arm} {numbers.milliseconds(found.latency_p95_ms)}"
        for arm in known
        if (found := arms.get(arm)) is not None
    )
    return plots.plot(
        "Latency",
        "The share of calls that got an answer within each time, dashed on head. Latency p95: "
        f"{said}.",
        plots.Axis(0.0, 1.0, numbers.percent),
        [numbers.milliseconds(0), numbers.milliseconds(longest)],
        *lines,
        kind="curve",
        table=_table(
            ("Revision", *(f"{numbers.percent(share)} within" for share in _TABLE_SHARES), "Calls"),
            [
                (
                    arm,
                    *(numbers.milliseconds(quantile(values, share)) for share in _TABLE_SHARES),
                    f"{len(values):,}",
                )
                for arm, values in known.items()
            ],
        ),
    )


def token_table(outcomes: ByArm, arms: Mapping[Arm, ArmResult | None]) -> Markup:
    """Return the mean tokens of a call, of prompt and answer, by arm, with the cost."""
    rows = [
        (arm, numbers.tokens(found[0]), numbers.tokens(found[1]), _cost(arms.get(arm)))
        for arm in _ARMS
        if (found := _tokens(outcomes[arm])) is not None
    ]
    if not rows:
        return Markup()
    titles = ("Revision", "Prompt tokens", "Answer tokens", "Cost of a call")
    return Markup(
        '<figure class="chart"><figcaption><b>Tokens and cost of a call</b> Mean tokens of the '
        "prompt and of the answer.</figcaption>{}</figure>"
    ).format(Html().table(_table(titles, rows)))


def _table(titles: Sequence[str], rows: Sequence[Sequence[Words]]) -> Table:
    first, *others = titles
    columns = [Column(first), *(Column(title, right=True) for title in others)]
    return Table(columns, rows, "The same numbers", kind="figures")


def interval_strip(contract: ContractResult) -> Markup:
    """Draw both arms' success rates with their intervals, and the objective, on one line each."""
    arms = {"base": contract.base, "head": contract.head}
    known = {
        label: (arm.success_rate, arm.interval)
        for label, arm in arms.items()
        if arm and arm.success_rate is not None and arm.interval
    }
    if not known:
        return Markup()
    target = next((s.target for s in contract.slo if s.objective == "success_rate"), None)
    ends = [interval.low for _, interval in known.values() if interval]
    low = min([*ends, *([] if target is None else [target])])
    start = max(0.0, int(low * 20 - 0.5) / 20)

    def at(share: float) -> float:
        return round(60 + 480 * (share - start) / (1 - start or 1), 1)

    said = "; ".join(
        f"{label} {numbers.percent(rate)}, interval {between(interval)}"
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
    return Markup(  # noqa: S704
        f'<svg class="strip" viewBox="0 0 560 {bottom + 18}" role="img" '
        f'aria-label="Success rate: {escape(said)}">{"".join(parts)}</svg>'
    )


def _latest(past: Sequence[PastRun]) -> list[PastRun]:
    measured = [run for run in past if run.samples]
    return sorted(measured, key=lambda run: run.time)[-MOST_RUNS:]


def _spread(points: int) -> list[int]:
    """Return places on the axis at equal distances."""
    return [round(plots.WIDTH * at / (points - 1)) for at in range(points)]


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


def _cost(arm: ArmResult | None) -> str:
    return numbers.dollars(arm.cost_per_call_usd if arm else None)


def between(interval: ConfidenceInterval | None) -> str:
    """Write an interval of shares."""
    if interval is None:
        return numbers.NONE
    return f"{numbers.percent(interval.low)} to {numbers.percent(interval.high)}"
