"""The pages about all contracts: the first page, what is not healthy, the costs, kept reports."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import timedelta
from itertools import takewhile
from typing import Any

from gatekeeper import numbers
from gatekeeper.contract.values.objectives import label_of
from gatekeeper.history.costs import (
    Cost,
    cost_of,
    month_of,
    monthly_costs,
    price_of,
    total,
)
from gatekeeper.history.flickering import LEAST_CHANGES, MOST_RUNS, FlickeringFixture
from gatekeeper.reports.described.drift import evidence_text, status_text
from gatekeeper.reports.document import (
    Block,
    Cell,
    Column,
    Paragraph,
    Picture,
    Quote,
    Section,
    Table,
    Words,
    columns,
)
from gatekeeper.reports.escape import plain
from gatekeeper.reports.html.page import shown
from gatekeeper.reports.html.plots import amount_axis, bars, sparkline, state_strip
from gatekeeper.reports.html.render import Html
from gatekeeper.reports.site.contract_history import (
    RANKS,
    ContractHistory,
    Severity,
    by_pressing_budget,
)
from gatekeeper.reports.site.frame import (
    COSTS,
    HEALTH,
    INDEX,
    RUNS,
    Site,
    page_path,
    render_page,
)
from gatekeeper.reports.words.columns import share_left

_VERDICTS = ("fail", "error", "inconclusive", "pass")
_MOST_FIXTURES = 100
_RECENT = timedelta(days=30)
_EXPLAINED = (
    "Costs are in US dollars, for models with a known price. Embedded models and "
    "recordings cost nothing. The history holds only runs of the default branch, "
    "so the costs of pull requests are missing."
)


def render_index(site: Site) -> str:
    """Render the page with the table of all contracts."""
    severity, headline = summary(site)
    return render_page(
        site,
        "index",
        shown(site.title),
        INDEX,
        verdict=severity,
        headline=headline,
        lead=_lead(site),
        urgent=[
            (h, found) for h in site.histories for found in h.findings if found.severity == "fail"
        ],
        rows=list(map(_row, site.histories)),
        ranks=RANKS,
        verdicts=_VERDICTS,
        most_runs=MOST_RUNS,
        path_of=page_path,
        share_left=share_left,
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
    spent = numbers.dollars(cost.usd if cost.runs else 0.0)
    return (
        f"Last run: {numbers.moment(last.time)}. Cost of {site.built:%B %Y} so far: "
        f"{spent}{_limit(site)}."
    )


def _row(history: ContractHistory) -> dict[str, Any]:
    last = history.latest
    short = (plain(history.folder), *(finding.short for finding in history.findings))
    return {
        "history": history,
        "rate": last.success_rate if last else None,
        "price": price_of(last) if last else None,
        "budget": by_pressing_budget(history),
        "short": " · ".join(dict.fromkeys(filter(None, short))),
        "spark": sparkline([record.success_rate for record in history.records[-MOST_RUNS:]]),
    }


def name(text: str) -> Quote:
    """Quote a name."""
    return Quote(text, 120)


def figures(
    title: str,
    titles: Sequence[Column],
    rows: Iterable[Sequence[Words | Cell]],
    more: Words = "",
    *,
    anchor: str = "",
    sortable: bool = False,
) -> Iterator[Section]:
    """Yield a section with a table; none without a row. `more` says what the table leaves out."""
    table = Table(titles, list(rows), title, kind="figures", sortable=sortable)
    if table.rows:
        blocks: list[Block] = [table, *([Paragraph(more, "quiet")] if more else [])]
        yield Section(title, blocks, anchor)


def flickering_cells(found: FlickeringFixture) -> Sequence[Words]:
    """Return the fixture's name, its states in the latest runs, its changes, and how many samples
    failed."""
    return (
        name(found.key if found.id is None else found.id),
        Picture(state_strip(found.states)),
        f"{found.changes:,}",
        f"{found.failed:,} of {found.samples:,}",
    )


def render_health(site: Site) -> str:
    """Render the page for what is not healthy now: budgets, verdicts, drift, fixtures, missing
    runs."""
    live = [history for history in site.histories if not history.removed]
    severity, headline = summary(site)
    parts = [_budgets(live), _verdicts(live), _drift(live), _flickering(live), _missing(live)]
    sections = [section for found in parts for section in found]
    lead = "The runs in the history show these problems."
    return _page(
        site,
        ("Not healthy", HEALTH),
        severity,
        headline,
        lead if sections else "Nothing needs attention.",
        sections,
    )


def _page(
    site: Site,
    here: tuple[str, str],
    verdict: str,
    headline: str,
    lead: str,
    sections: Sequence[Section],
    *,
    chart: str = "",
    explained: str = "",
) -> str:
    """Render a page of sections; `here` is its title and path."""
    html = Html()
    body = [html.section(section) for section in sections]
    return render_page(
        site,
        "page",
        *here,
        verdict=verdict,
        headline=headline,
        lead=lead,
        body=body,
        chart=chart,
        explained=explained,
    )


def _link(history: ContractHistory) -> Cell:
    return Cell(name(history.name), key=history.name, link=page_path(history.name))


def _budgets(live: Sequence[ContractHistory]) -> Iterator[Section]:
    states = {"overspent": "spent", "spent": "spent, could be chance"}
    titles = columns(
        *("Contract", "Objective", "Budget"),
        right=("Failed", "Allowed", "Left", "Window"),
        last=["Frozen until"],
    )
    return figures(
        "Error budgets",
        titles,
        (
            (
                _link(history),
                name(label_of(budget.objective)),
                Cell(
                    states.get(budget.state, "burning"),
                    badge="fail" if budget.overspent else "inconclusive",
                ),
                f"{numbers.number(budget.spent)} of {budget.events:,}",
                numbers.number(budget.budget),
                share_left(budget),
                budget.window,
                numbers.moment(budget.frozen_until)
                if budget.frozen_until and history.budgets.frozen
                else numbers.NONE,
            )
            for history in live
            if history.budgets
            for budget in history.budgets.budgets
            if budget.state in ("spent", "overspent") or budget.burning
        ),
        anchor="budgets",
    )


def _verdicts(live: Sequence[ContractHistory]) -> Iterator[Section]:
    return figures(
        "Last run did not pass",
        columns("Contract", "Verdict", right=("Pass rate", "Interval"), last=["Run"]),
        (
            (
                _link(history),
                Cell(last.verdict, badge=last.verdict),
                numbers.percent(last.success_rate),
                numbers.percent_interval(last.interval),
                numbers.moment(last.time),
            )
            for history in live
            for last in history.records[-1:]
            if last.verdict not in (None, "pass")
            and any(f.code == "verdict" for f in history.findings)
        ),
        anchor="verdicts",
    )


def _drift(live: Sequence[ContractHistory]) -> Iterator[Section]:
    rows: list[Sequence[Words | Cell]] = []
    for history in live:
        drift = history.drift
        if drift is None or drift.status not in ("drifted", "watch"):
            continue
        change = drift.change
        size = numbers.points(change.size.value) if change else numbers.NONE
        interval = numbers.points_interval(change.size.interval) if change else ""
        worse = change is not None and change.direction == "worse"
        rows.append(
            (
                _link(history),
                name(drift.model),
                Cell(
                    status_text(drift).partition(":")[0], badge="fail" if worse else "inconclusive"
                ),
                f"{change.since:%Y-%m-%d}" if change else numbers.NONE,
                f"{size} {interval}".rstrip(),
                evidence_text(drift.e_value),
            )
        )
    right = ("Change of the pass rate", "Evidence")
    titles = columns("Contract", "Model", "Status", "Since", right=right)
    return figures("Models that drifted", titles, rows, anchor="drift")


def _flickering(live: Sequence[ContractHistory]) -> Iterator[Section]:
    found = sorted(
        ((history, fixture) for history in live for fixture in history.flickering),
        key=lambda pair: (-pair[1].changes, pair[0].name, pair[1].key),
    )
    rows: list[Sequence[Words | Cell]] = [
        (_link(history), *flickering_cells(fixture)) for history, fixture in found[:_MOST_FIXTURES]
    ]
    left = len(found) - len(rows)
    more = f"The pages of the contracts show {left:,} more. " if left else ""
    explained = (
        f"A fixture flickers if its result changed at least {LEAST_CHANGES} times "
        f"in the last {MOST_RUNS} runs with the same prompt, contract and model. "
        "A run in which some samples pass and others fail counts as a change. Each square is a "
        "run: green if all samples passed, red if all samples failed, both colours if some passed "
        "and others failed."
    )
    right = ("Changes", "Samples failed")
    titles = columns("Contract", "Fixture", f"Last {MOST_RUNS} runs", right=right)
    return figures("Flickering fixtures", titles, rows, f"{more}{explained}", anchor="flickering")


def _missing(live: Sequence[ContractHistory]) -> Iterator[Section]:
    return figures(
        "Not measured",
        columns("Contract", "What is missing"),
        (
            (_link(history), Quote(finding.text))
            for history in live
            for finding in history.findings
            if finding.code in ("missed", "no_history")
        ),
        anchor="missing",
    )


def render_costs(site: Site) -> str:
    """Render the page for what the runs cost, by month, model and contract."""
    months = monthly_costs(site.records)
    totals = {month: total(by_model.values()) for month, by_model in months.items()}
    now = totals.get(month_of(site.built))
    spent = numbers.dollars(now.usd if now else 0.0)
    rows: list[Sequence[Words | Cell]] = []
    for month, by_model in months.items():
        if len(by_model) > 1:
            rows.append((month, "all models", *_amounts(totals[month])))
        rows += [(month, name(model), *_amounts(cost)) for model, cost in by_model.items()]
    oldest_first = list(reversed(months))
    amounts = [totals[month].usd for month in oldest_first]
    axis = amount_axis(amounts, numbers.dollars)
    between = f"{oldest_first[0]} to {oldest_first[-1]}." if len(months) > 1 else ""
    right = ("Runs", "Calls", "Prompt tokens", "Answer tokens", "Cost")
    by_contract = ("Last run", "Last 30 days", "Whole history", "Runs")
    sections = [
        *figures(
            "By month and model", columns("Month", "Model", right=right), rows, anchor="months"
        ),
        *figures(
            "By contract",
            columns("Contract", "Model", right=by_contract),
            [_of_contract(site, history) for history in site.histories if history.records],
            anchor="by-contract",
            sortable=True,
        ),
    ]
    return _page(
        site,
        ("Costs", COSTS),
        "info",
        f"{site.built:%B %Y}: {spent}{_limit(site)}",
        _month_before(totals) if months else "No run has been recorded yet.",
        sections,
        chart=bars("Cost by month", between, axis, oldest_first, amounts) if months else "",
        explained=_EXPLAINED,
    )


def _limit(site: Site) -> str:
    return f" of the limit of {numbers.dollars(site.month_usd)}" if site.month_usd else ""


def _month_before(totals: dict[str, Cost]) -> str:
    months = list(totals)
    if len(months) < 2:
        return f"{numbers.count(sum(c.runs for c in totals.values()), 'record')} in the history."
    return f"{months[1]}: {numbers.dollars(totals[months[1]].usd)}."


def _amounts(cost: Cost) -> Sequence[str]:
    return (
        f"{cost.runs:,}" if cost.runs else numbers.NONE,
        f"{cost.calls:,}",
        numbers.tokens(cost.prompt_tokens),
        numbers.tokens(cost.completion_tokens),
        _amount(cost),
    )


def _amount(cost: Cost) -> str:
    known = numbers.dollars(cost.usd)
    if not cost.unpriced or cost.usd is None:
        return known
    return f"{known} and {numbers.count(cost.unpriced, 'run')} without a price"


def _of_contract(site: Site, history: ContractHistory) -> Sequence[Words | Cell]:
    recent = cost_of(r for r in history.records if r.time > site.built - _RECENT)
    whole, last = cost_of(history.records), cost_of(history.records[-1:])
    model = history.records[-1].model
    return (
        _link(history),
        Cell(name(model), key=model),
        *(
            Cell(_amount(cost) if cost.runs else numbers.NONE, key=cost.usd)
            for cost in (last, recent, whole)
        ),
        Cell(f"{whole.runs:,}", key=whole.runs),
    )


def render_runs(site: Site) -> str:
    """Render the page of the kept reports."""
    rows = [
        (
            Cell(when := numbers.moment(run.started), key=when, link=run.page),
            Cell(run.verdict, key=run.verdict, badge=run.verdict),
            Cell(name(run.sha[:10]), key=run.sha[:10]),
            Cell(f"{len(run.contracts):,}", key=len(run.contracts)),
            Cell(name(", ".join(run.contracts)), key=", ".join(run.contracts)),
        )
        for run in site.kept
    ]
    titles = columns("Run", "Verdict", "Commit", right=["Contracts"], last=["Their names"])
    return _page(
        site,
        ("Reports", RUNS),
        "pass",
        f"{numbers.count(len(site.kept), 'report')} of earlier runs",
        "Each report has every sample of its run.",
        [*figures("Reports", titles, rows, anchor="kept", sortable=True)],
    )
