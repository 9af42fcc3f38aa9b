"""The first page: what needs attention, and all contracts."""

from __future__ import annotations

from itertools import takewhile
from typing import Any

from gatekeeper import numbers
from gatekeeper.history.flickering import MOST_RUNS
from gatekeeper.history.monthly_costs import cost_of, price_of
from gatekeeper.reports.escape import plain
from gatekeeper.reports.site.contract_history import (
    RANKS,
    ContractHistory,
    Severity,
    by_pressing_budget,
)
from gatekeeper.reports.site.frame import INDEX, STATUS, Site, page_path, render_page, shown_name
from gatekeeper.reports.site.plots import sparkline
from gatekeeper.reports.words.columns import share_left

_MOST_URGENT = 6
_VERDICTS = ("fail", "error", "inconclusive", "pass")


def render_index(site: Site) -> str:
    """Render the page with the table of all contracts."""
    urgent = [
        {
            "name": shown_name(history.name),
            "path": page_path(history.name),
            "text": plain(finding.text),
            "severity": finding.severity,
        }
        for history in site.histories
        for finding in history.findings
        if finding.severity == "fail"
    ]
    severity, headline = summary(site)
    present = sorted({history.severity for history in site.histories}, key=RANKS.__getitem__)
    return render_page(
        site,
        "index",
        shown_name(site.title),
        INDEX,
        verdict=severity,
        headline=headline,
        lead=_lead(site),
        urgent=urgent[:_MOST_URGENT],
        more_urgent=max(0, len(urgent) - _MOST_URGENT),
        notices=[plain(notice) for notice in site.notices],
        rows=[_row(history) for history in site.histories],
        statuses=[(value, STATUS[value]) for value in present],
        most_runs=MOST_RUNS,
    )


def summary(site: Site) -> tuple[Severity, str]:
    """Return how the contracts are as a whole, and a headline."""
    live = [history for history in site.histories if not history.removed]
    failing = sum(history.severity == "fail" for history in live)
    watched = sum(history.severity == "inconclusive" for history in live)
    whole = numbers.count(len(live), "contract")
    also = f", {watched:,} to watch" if watched else ""
    if not live:
        return "info", "No contract has a run yet"
    if failing:
        verb = "is" if failing == 1 else "are"
        return "fail", f"{failing:,} of {whole} {verb} not healthy{also}"
    if watched:
        verb = "needs" if watched == 1 else "need"
        return "inconclusive", f"No contract fails, but {watched:,} of {whole} {verb} attention"
    if not any(history.records for history in live):
        return "info", "No contract has a run yet"
    measured = sum(bool(history.records) for history in live)
    if measured < len(live):
        return "pass", f"{measured:,} of {whole} measured, all of them healthy"
    return "pass", "The contract is healthy" if len(live) == 1 else f"All {whole} are healthy"


def _lead(site: Site) -> str:
    if not site.records:
        return "The history is empty."
    last = site.records[-1]
    month = site.built.replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    cost = cost_of(takewhile(lambda record: record.time >= month, reversed(site.records)))
    limit = f" of the limit of {numbers.dollars(site.month_usd)}" if site.month_usd else ""
    spent = numbers.dollars(cost.usd if cost.runs else 0.0)
    return (
        f"Last run: {numbers.moment(last.time)}. Cost of {site.built:%B %Y} so far: {spent}{limit}."
    )


def _row(history: ContractHistory) -> dict[str, Any]:
    last = history.latest
    budget = by_pressing_budget(history)
    price = price_of(last) if last else None
    severity = history.severity
    name, folder = shown_name(history.name), plain(history.folder)
    model = shown_name(last.model) if last else ""
    verdict = last.verdict if last else None
    share = None
    if budget and budget.budget > 0:
        share = budget.left / budget.budget
    return {
        "name": name,
        "search": " ".join(filter(None, (folder, name, model))),
        "path": page_path(history.name),
        "severity": severity,
        "status": "removed" if history.removed else STATUS[severity],
        "rank": RANKS[severity] + (0.5 if history.removed else 0),
        "short": " · ".join(
            dict.fromkeys(filter(None, (folder, *(finding.short for finding in history.findings))))
        ),
        "rate": numbers.percent(last.success_rate if last else None),
        "rate_key": "" if last is None or last.success_rate is None else last.success_rate,
        "interval": numbers.percent_interval(last.interval if last else None),
        "spark": sparkline([record.success_rate for record in history.records[-MOST_RUNS:]]),
        "budget": share_left(budget) if budget else numbers.NONE,
        "budget_of": f"in {budget.window}" if budget else "",
        "budget_key": "" if share is None else round(share, 6),
        "budget_bad": budget is not None and budget.left < 0,
        "cost": numbers.dollars(price) if last else numbers.NONE,
        "cost_key": "" if price is None else price,
        "last": numbers.moment(last.time).removesuffix(" UTC") if last else numbers.NONE,
        "last_key": f"{last.time:%Y-%m-%dT%H:%M:%S}" if last else "",
        "verdict": verdict,
        "verdict_rank": "" if verdict is None else _VERDICTS.index(verdict),
    }
