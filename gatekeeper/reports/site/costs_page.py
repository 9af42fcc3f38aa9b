"""The page for what the runs cost, by month, model and contract."""

from __future__ import annotations

from datetime import timedelta

from gatekeeper import numbers
from gatekeeper.history.monthly_costs import Cost, cost_of, month_of, monthly_costs, total
from gatekeeper.reports.site.contract_history import ContractHistory
from gatekeeper.reports.site.frame import (
    COSTS,
    Site,
    TableCell,
    page_path,
    render_page,
    shown_name,
    texts,
)
from gatekeeper.reports.site.plots import amount_axis, bars

_RECENT = timedelta(days=30)
_EXPLAINED = (
    "Costs are in US dollars, for models with a known price. Embedded models and "
    "recordings cost nothing. The history holds only runs of the default branch, "
    "so the costs of pull requests are missing."
)
_COST_HEAD = [
    ("Runs", True),
    ("Calls", True),
    ("Prompt tokens", True),
    ("Answer tokens", True),
    ("Cost", True),
]


def render_costs(site: Site) -> str:
    """Render the page."""
    months = monthly_costs(site.records)
    totals = {month: total(by_model.values()) for month, by_model in months.items()}
    now = totals.get(month_of(site.built))
    spent = numbers.dollars(now.usd if now else 0.0)
    limit = f" of the limit of {numbers.dollars(site.month_usd)}" if site.month_usd else ""
    rows = []
    for month, by_model in months.items():
        if len(by_model) > 1:
            rows.append(_row(texts(month, "all models"), totals[month]))
        for model, cost in by_model.items():
            rows.append(_row(texts(month, shown_name(model)), cost))
    oldest_first = list(reversed(months))
    amounts = [totals[month].usd for month in oldest_first]
    axis = amount_axis(amounts, numbers.dollars)
    between = f"{oldest_first[0]} to {oldest_first[-1]}." if len(months) > 1 else ""
    chart = bars("Cost by month", between, axis, oldest_first, amounts) if months else ""
    return render_page(
        site,
        "costs",
        "Costs",
        COSTS,
        verdict="info",
        headline=f"{site.built:%B %Y}: {spent}{limit}",
        lead=_month_before(totals),
        chart=chart,
        month_head=[("Month", False), ("Model", False), *_COST_HEAD],
        month_rows=rows,
        contract_head=[
            ("Contract", False),
            ("Model", False),
            ("Last run", True),
            ("Last 30 days", True),
            ("Whole history", True),
            ("Runs", True),
        ],
        contract_rows=[_of_contract(site, h) for h in site.histories if h.records],
        explained=_EXPLAINED,
    )


def _month_before(totals: dict[str, Cost]) -> str:
    months = list(totals)
    if len(months) < 2:
        return f"{numbers.count(sum(c.runs for c in totals.values()), 'record')} in the history."
    return f"{months[1]}: {numbers.dollars(totals[months[1]].usd)}."


def _row(first: list[TableCell], cost: Cost) -> list[TableCell]:
    return [
        *first,
        *texts(
            f"{cost.runs:,}",
            f"{cost.calls:,}",
            numbers.tokens(cost.prompt_tokens),
            numbers.tokens(cost.completion_tokens),
            _amount(cost),
        ),
    ]


def _amount(cost: Cost) -> str:
    known = numbers.dollars(cost.usd)
    if not cost.unpriced or cost.usd is None:
        return known
    return f"{known} and {numbers.count(cost.unpriced, 'run')} without a price"


def _of_contract(site: Site, history: ContractHistory) -> list[TableCell]:
    recent = cost_of(r for r in history.records if r.time > site.built - _RECENT)
    whole, last = cost_of(history.records), cost_of(history.records[-1:])

    def amount(cost: Cost) -> TableCell:
        shown = _amount(cost) if cost.runs else numbers.NONE
        return TableCell(shown, "" if cost.usd is None else cost.usd)

    name, model = shown_name(history.name), shown_name(history.records[-1].model)
    return [
        TableCell(name, name, link=page_path(history.name)),
        TableCell(model, model),
        amount(last),
        amount(recent),
        amount(whole),
        TableCell(f"{whole.runs:,}", whole.runs),
    ]
