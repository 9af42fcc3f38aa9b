"""The page of one contract: its trend, objectives, checks, fixtures, drift, judges and runs."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from markupsafe import Markup

from gatekeeper import numbers
from gatekeeper.contract.values.objectives import Objective, label_of
from gatekeeper.gate.objectives.error_budgets import by_pressure
from gatekeeper.gate.results.selftest_result import selftest_lines, selftest_of
from gatekeeper.history.costs import price_of
from gatekeeper.history.drift import ContractDrift
from gatekeeper.history.flickering import MOST_RUNS
from gatekeeper.history.record import Count, Record, objective_counts
from gatekeeper.reports.described.drift import evidence_text, range_text, status_text
from gatekeeper.reports.described.error_budgets import budget_cells
from gatekeeper.reports.document import Quote, Section, Words, columns, joined
from gatekeeper.reports.html import plots
from gatekeeper.reports.html.page import shown
from gatekeeper.reports.html.render import Html
from gatekeeper.reports.site.contract_history import ContractHistory
from gatekeeper.reports.site.frame import STATUS, Site, page_path, render_page
from gatekeeper.reports.site.kept_runs import KeptRun
from gatekeeper.reports.site.pages import figures, flickering_cells, name
from gatekeeper.reports.words.columns import share_left
from gatekeeper.stats.objectives.objective import parse_window

_SHOWN_RUNS = 14
_MOST_FIXTURES = 10
_MOST_CHECKS = 40
_MOST_BUDGET_PLOTS = 2
_RUN_HEAD = [
    ("Run", False),
    ("Verdict", False),
    ("Pass rate", True),
    ("Interval", True),
    ("Samples", True),
    ("Repaired", True),
    ("Latency p95", True),
    ("Cost", True),
    ("Commit", False),
    ("Report", False),
]
_COMPRESSION = 6


def render_contract(site: Site, history: ContractHistory) -> str:
    """Render the page."""
    html = Html()
    records = history.records
    kept = {(run.started, run.sha): run.page for run in site.kept if history.name in run.contracts}
    times = [record.time for record in records]
    xs = plots.places(times)
    rows = [_run_cells(record) for record in records]
    runs = [
        {"verdict": record.verdict, "cells": cells, "report": _report(record, kept)}
        for record, cells in list(zip(records, rows, strict=True))[: -_SHOWN_RUNS - 1 : -1]
    ]
    return render_page(
        site,
        "contract",
        shown(history.name),
        page_path(history.name),
        history=history,
        lead=_lead(history),
        plots=list(_plots(history, times, xs)),
        plots_note=_plots_note(history),
        parts=[html.section(part) for part in _parts(site, history)],
        runs=runs,
        run_head=_RUN_HEAD,
        older=max(0, len(records) - _SHOWN_RUNS),
        packed=_packed(records, xs, rows),
    )


def _lead(history: ContractHistory) -> str:
    last = history.latest
    if last is None:
        return "No run is in the history yet."
    removed = " The contract was removed." if history.removed else ""
    interval = numbers.percent_interval(last.interval)
    between = f" ({interval})" if interval else ""
    return (
        f"{STATUS[history.severity].capitalize()}. {numbers.percent(last.success_rate)}{between} "
        f"of {numbers.count(last.samples, 'sample')} passed on {numbers.moment(last.time)}, with "
        f"{shown(last.model)}.{removed}"
    )


def _run_cells(record: Record) -> list[str]:
    """Return time, pass rate, interval, samples, repaired, latency, cost and commit of a run."""
    return [
        numbers.moment(record.time).removesuffix(" UTC"),
        numbers.percent(record.success_rate),
        numbers.percent_interval(record.interval),
        f"{record.samples:,}",
        numbers.NONE if record.repaired is None else f"{record.repaired:,}",
        numbers.milliseconds(record.latency_ms.get("p95")),
        numbers.dollars(price_of(record)),
        record.sha[:10]
        if record.sha.isascii() and record.sha.isalnum()
        else shown(record.sha[:10]),
    ]


def _report(record: Record, kept: Mapping[tuple[datetime, str], str]) -> str:
    path = kept.get((record.time.astimezone(UTC), record.sha))
    return f"../{path}" if path else ""


def _packed(records: Sequence[Record], xs: Sequence[int], rows: Sequence[Sequence[str]]) -> str:
    """Return all runs, the latest first, for the script: place on the axis, verdict, cells."""
    packed = [
        [xs[at], records[at].verdict or "", *rows[at]] for at in reversed(range(len(records)))
    ]
    document = {"shown": packed[:_SHOWN_RUNS], "older": packed[_SHOWN_RUNS:]}
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
    data = gzip.compress(text.encode("utf-8", "replace"), _COMPRESSION, mtime=0)
    return base64.b64encode(data).decode("ascii")


def _objectives(history: ContractHistory) -> Mapping[str, Objective]:
    return {o.name: o for o in history.contract.slo} if history.contract else {}


def _plots(
    history: ContractHistory, times: Sequence[datetime], xs: Sequence[int]
) -> Iterator[Markup]:
    records = history.records
    if not records:
        return
    rates = [record.success_rate for record in records]
    intervals = [record.interval for record in records]
    objective = _objectives(history).get("success_rate")
    lows = [interval.low for interval in intervals if interval]
    axis = plots.share_axis([*rates, *lows, objective.target if objective else None])
    since = first_run_of_drift(records, history.drift)
    yield plots.plot(
        "Pass rate",
        f"{numbers.count(len(records), 'run')} with 95 % intervals.",
        axis,
        plots.dates(times),
        plots.Line(xs, rates),
        intervals=intervals,
        target=objective.target if objective else None,
        marks=[xs[at] for at in changed_runs(records)],
        change=None if since is None else xs[since],
        kind="main over-runs",
        height=2 * plots.HEIGHT,
    )
    yield from _budget_plots(history, times, xs)
    repaired = "The share of answers that were repaired before the checks ran."
    p95 = [record.latency_ms.get("p95") for record in records]
    amounts: Sequence[tuple[str, str, Sequence[float | None], Callable[[float], str]]] = (
        ("Cost of a run", "", [price_of(record) for record in records], numbers.dollars),
        ("Latency p95", "", p95, numbers.milliseconds),
        ("Repair rate", repaired, [_repair_rate(record) for record in records], numbers.percent),
    )
    for title, says, values, write in amounts:
        if any(values):
            axis = plots.amount_axis(values, write)
            line = plots.Line(xs, values)
            yield plots.plot(title, says, axis, plots.dates(times), line, kind="over-runs")


def _budget_plots(
    history: ContractHistory, times: Sequence[datetime], xs: Sequence[int]
) -> Iterator[Markup]:
    """Draw the most pressing error budgets."""
    budgets = by_pressure(history.budgets.budgets) if history.budgets else []
    objectives = _objectives(history)
    for budget in budgets[:_MOST_BUDGET_PLOTS]:
        objective = objectives.get(budget.objective)
        left = budget_left(history.records, objective) if objective else []
        known = [share for share in left if share is not None]
        if not known:
            continue
        low = -1.0 if min(known) < 0 else 0.0
        yield plots.plot(
            f"Error budget left: {shown(label_of(budget.objective))}",
            f"Left now: {share_left(budget)}. Window: {budget.window}.",
            plots.Axis(low, 1.0, numbers.percent),
            plots.dates(times),
            plots.Line(xs, left),
            target=0.0 if low < 0 else None,
            kind="over-runs",
        )


def _plots_note(history: ContractHistory) -> str:
    notes = []
    if "success_rate" in _objectives(history):
        notes.append("Dashed: the objective.")
    changed = len(changed_runs(history.records))
    if changed:
        times = numbers.count(changed, "time")
        notes.append(f"Each dotted line marks a change of prompt, contract or model ({times}).")
    if history.drift and history.drift.change:
        notes.append("The vertical line shows when the model began to drift.")
    return " ".join(notes)


def _repair_rate(record: Record) -> float | None:
    answered = record.calls - record.failed_calls
    if record.repaired is None or not 0 < record.repaired <= answered:
        return None if record.repaired is None or not answered else 0.0
    return record.repaired / answered


def _parts(site: Site, history: ContractHistory) -> Iterator[Section]:
    yield from _objective_part(history)
    yield from _checks_part(history)
    yield from _flickering_part(history)
    yield from _selftest_part(history)
    yield from _drift_part(history)
    yield from _judge_part(site.kept, history)


def _objective_part(history: ContractHistory) -> Iterator[Section]:
    budgets = {b.objective: b for b in history.budgets.budgets} if history.budgets else {}
    rows: list[Sequence[Words]] = []
    for objective_name, objective in _objectives(history).items():
        budget = budgets.get(objective_name)
        sign = "at least" if objective.measure.better == "higher" else "at most"
        target = f"{sign} {numbers.amount(objective.target, objective.measure.unit)}"
        cells = [numbers.NONE] * 7
        if budget is not None and history.budgets is not None:
            window, _, allowed, spent, _, *burn, _, ends, frozen = budget_cells(
                budget, history.budgets
            )
            failed = f"{spent} of {budget.events:,}" if budget.events else "no run"
            cells = [window, failed, allowed, share_left(budget), burn[-1], ends, frozen]
        rows.append((name(label_of(objective_name)), target, *cells))
    right = ("Window", "Failed", "Allowed", "Budget left", "Burn rate, 7d")
    titles = columns("Objective", "Target", right=right, last=("Ends", "Frozen until"))
    return figures("Objectives and error budgets", titles, rows, anchor="objectives")


def _checks_part(history: ContractHistory) -> Iterator[Section]:
    recent = history.records[-MOST_RUNS:]
    last = recent[-1] if recent else None
    rows: list[Sequence[Words]] = []
    for title, field in (("check", "checks"), ("category", "categories")):
        totals: dict[str, list[int]] = {}
        for record in recent:
            counts: Mapping[str, Count] = getattr(record, field)
            for key, (events, failed) in counts.items():
                tally = totals.setdefault(key, [0, 0])
                tally[0] += events
                tally[1] += failed
        worst = sorted(totals, key=lambda key: (-totals[key][1] / (totals[key][0] or 1), key))
        for key in worst:
            now: Count | None = getattr(last, field).get(key)
            events, failed = totals[key]
            rows.append(
                (
                    name(key),
                    title,
                    f"{now[1]:,} of {now[0]:,}" if now else numbers.NONE,
                    f"{failed:,} of {events:,}",
                    numbers.percent(1 - failed / events) if events else numbers.NONE,
                )
            )
    left = len(rows) - _MOST_CHECKS
    more = f"{numbers.count(left, 'more row')} with fewer failures." if left > 0 else ""
    right = ("Failed in the last run", f"Failed in the last {MOST_RUNS} runs", "Pass rate")
    titles = columns("Check or category", "Kind", right=right)
    return figures("Checks and categories", titles, rows[:_MOST_CHECKS], more, anchor="checks")


def _flickering_part(history: ContractHistory) -> Iterator[Section]:
    rows = list(map(flickering_cells, history.flickering[:_MOST_FIXTURES]))
    left = len(history.flickering) - len(rows)
    more = f"{numbers.count(left, 'more fixture')} with fewer changes." if left else ""
    titles = columns("Fixture", f"Last {MOST_RUNS} runs", right=("Changes", "Samples failed"))
    return figures("Flickering fixtures", titles, rows, more, anchor="flickering")


def _selftest_part(history: ContractHistory) -> Iterator[Section]:
    last = history.latest
    found = selftest_of(last.selftest, len(last.fixtures)) if last else None
    rows = [line.split(": ", 1) for line in selftest_lines(found)] if found else []
    titles = columns("Made-up change", "What the gate did")
    return figures("How often the gate errs on this suite", titles, rows, anchor="selftest")


def _drift_part(history: ContractHistory) -> Iterator[Section]:
    drift, last = history.drift, history.latest
    if drift is None or last is None:
        return
    new = ", ".join(f"{time:%Y-%m-%d}" for time in drift.new_models[-3:]) or numbers.NONE
    prints = joined([Quote(each, 20) for each in last.fingerprints[:3]]) or numbers.NONE
    row = (
        status_text(drift),
        f"{drift.first:%Y-%m-%d}",
        f"{drift.nights:,}",
        range_text(drift),
        evidence_text(drift.e_value),
        new,
        prints,
    )
    right = ("Runs", "Lowest, highest", "Evidence (100 proves a change)")
    last_titles = ("New fingerprints", "Fingerprint now")
    titles = columns("Status", "Compared since", right=right, last=last_titles)
    yield from figures("Drift of the model", titles, [row], anchor="drift")


def _judge_part(kept: Sequence[KeptRun], history: ContractHistory) -> Iterator[Section]:
    """Show how far judges agreed in the latest kept run that asked some."""
    run = next((run for run in kept if history.name in run.judges), None)
    if run is not None:
        rows = [_judge_row(agreement) for agreement in run.judges[history.name]]
        titles = columns("Check", "Judges", right=("Outputs", "Agreed", "Kappa"))
        said = f"From the run of {numbers.moment(run.started)}."
        yield from figures("Judges", titles, rows, said, anchor="judges")


def _judge_row(agreement: Mapping[str, Any]) -> Sequence[Words]:
    agreed, kappa = agreement.get("agreed"), (agreement.get("kappa") or {}).get("value")
    return (
        name(str(agreement.get("check", ""))),
        name(", ".join(map(str, agreement.get("judges", [])))),
        f"{int(agreement.get('outputs', 0)):,}",
        numbers.percent(agreed if isinstance(agreed, int | float) else None),
        numbers.score(kappa if isinstance(kappa, int | float) else None),
    )


def budget_left(records: Sequence[Record], objective: Objective) -> list[float | None]:
    """Return the share of the error budget that was left after each run; below 0 if overspent.

    The values are those of `error_budget`, for all runs in one pass. None if the window had
    no event, or the objective allows no failure. `records` are oldest first.
    """
    good = objective.good_share
    if good is None or good >= 1:
        return [None] * len(records)
    allowed, length = float(1 - good), parse_window(objective.window)
    counts = [_budget_events(record, objective.name) for record in records]
    left: list[float | None] = []
    events = failed = oldest = 0
    for record, (more, more_failed) in zip(records, counts, strict=True):
        events += more
        failed += more_failed
        while records[oldest].time <= record.time - length:
            events -= counts[oldest][0]
            failed -= counts[oldest][1]
            oldest += 1
        left.append(1 - failed / (allowed * events) if events else None)
    return left


def _budget_events(record: Record, objective: str) -> Count:
    """Return the events of one objective, which the record of its run has counted."""
    counted = record.objectives.get(objective)
    return counted or objective_counts(record).get(objective, (0, 0))


def changed_runs(records: Sequence[Record]) -> list[int]:
    """Return the numbers of the runs whose prompt, contract or model is not that of the run
    before."""
    keys = [(r.prompt_digest, r.contract_digest, r.model) for r in records]
    return [at for at in range(1, len(keys)) if keys[at] != keys[at - 1]]


def first_run_of_drift(records: Sequence[Record], drift: ContractDrift | None) -> int | None:
    """Return the number of the run with which a certain change began; None if there is none."""
    since: datetime | None = drift.change.since if drift and drift.change else None
    if since is None:
        return None
    return next((at for at, record in enumerate(records) if record.time >= since), None)
