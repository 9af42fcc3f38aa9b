"""Renders how the verdict was decided, in a folded part: the forecast, tests, causes, latency,
cost, error budget."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

from gatekeeper import numbers
from gatekeeper.contract.meaning.modes import SENDING
from gatekeeper.contract.values.objectives import label_of
from gatekeeper.gate.results.result import ArmResult, ContractResult, GateResult, SloResult
from gatekeeper.gate.results.selftest_result import selftest_of, selftest_sentence
from gatekeeper.reports.escape import code, own_words, prose
from gatekeeper.reports.markdown.page import Page, table_row
from gatekeeper.reports.words.call_counts import describe_forecast
from gatekeeper.reports.words.columns import (
    objective_value,
    observed_value,
    share_left,
    status_text,
    target,
)
from gatekeeper.reports.words.comparison_text import (
    base_contract_label,
    corrected_difference,
    decided_by,
)
from gatekeeper.reports.words.evidence import (
    details,
    limit_details,
    repair_details,
    repair_table,
    slice_table,
    step_table,
)
from gatekeeper.reports.words.nights import last_nights
from gatekeeper.reports.words.ranking import by_severity, worst_verdict
from gatekeeper.stats.objectives.error_budget import ErrorBudget

_MOST = 1_000
"""Characters of what was added; result.json has all of it."""


def mode_details(contract: ContractResult) -> str:
    """Return the mode, why it applies and what it added to each request; empty for a mode that adds
    nothing to any."""
    found = contract.mode
    if found is None or found.requested not in SENDING:
        return ""
    asked = f"{found.requested} applies"
    if found.applied != found.requested:
        asked = f"{found.requested} acts like {found.applied}"
    added = {
        "nothing": "nothing added",
        "text": f"added to the messages: {code(found.text, _MOST)}",
    }.get(found.added)
    if added is None:
        written = json.dumps(found.params.get(found.added), ensure_ascii=False)
        added = f"added as {code(found.added, 40)}: {code(written, _MOST)}"
    return f"mode {asked} ({prose(found.reason, 300)}); {added}"


def under_base_contract(contract: ContractResult) -> ContractResult | None:
    """Return the contract's result under the base contract, if that speaks against the change or if
    the change weakened the contract, because the base contract then has the original objectives."""
    found = contract.under_base
    its = [reason for reason in contract.reasons if reason.contract_from != "head"]
    if found is None or not (its or contract.weakened):
        return None
    name = f"{contract.name}, {base_contract_label(found)}"
    return replace(
        contract,
        name=name,
        verdict=worst_verdict(its) if its else "pass",
        affected_by=(),
        base=found.base,
        head=found.head,
        paired=found.paired,
        slo=found.slo,
        error_budget=None,
        error_budgets=(),
        weakened=(),
        under_base=None,
        # What they are in at head may have other lines.
        fixtures=tuple(replace(fixture, position=None) for fixture in found.fixtures),
        must_pass=found.must_pass,
        limits=found.limits,
        repairs=found.repairs,
    )


def rows_of(contracts: Sequence[ContractResult]) -> tuple[ContractResult, ...]:
    """Return the rows of a table of contracts: each, and below it the result under the base
    contract, if that matters. Otherwise a failure could be next to numbers that show none."""
    pairs = ((contract, under_base_contract(contract)) for contract in contracts)
    return tuple(row for pair in pairs for row in pair if row)


def add_decision(page: Page, result: GateResult) -> None:
    """Add what the run was forecast to take, and a few lines per contract, the worst first: causes,
    tests, arms, objectives, error budget."""
    evaluations = rows_of(by_severity(result.contracts))
    rows = [row for evaluation in evaluations for row in decision_rows(evaluation)]
    if not rows:
        return
    rows += _measured(result)
    forecast = describe_forecast(result)
    if forecast:
        rows.insert(0, f"- Forecast before the first call: {forecast}")
    summary = "How this was decided, with latency, cost and error budget"
    page.add_fold(summary, rows, more=lambda left: f"- …and {left:,} more")


def _measured(result: GateResult) -> list[str]:
    """Return for each contract how often the gate errs on its suite, if the history says so."""
    latest = {past.contract: past for past in result.past if past.selftest}
    rows = []
    for contract in result.contracts:
        past = latest.get(contract.name)
        found = selftest_of(past.selftest, past.fixtures) if past else None
        if found and contract.paired:
            text = f"{code(contract.name, 100)}: {prose(selftest_sentence(found))}"
            rows.append(f"- {text}, measured with the samples of past runs")
    return rows


def decision_rows(contract: ContractResult) -> list[str]:
    """Return blocks of Markdown: why it ran, the test, the arms, a table of the objectives, the
    error budget."""
    name = code(contract.name, 100)
    rows = []
    if contract.affected_by:
        shown = [f"{code(a.path, 120)} was {a.change}" for a in contract.affected_by[:5]]
        more = contract.affected_by[5:]
        rest = f" and {len(more)} more" if more else ""
        rows.append(f"- {name} ran because {', '.join(shown)}{rest}")
    if contract.paired:
        rows.append(f"- {name}: {prose(decided_by(contract.paired))}")
        corrected = corrected_difference(contract.paired)
        rows += [f"- {name}: {prose(corrected)}"] if corrected else []
        slices = slice_table(contract)
        rows += [_table(f"Categories of {name}", slices)] if slices else []
    rows += [
        f"- {name} {label}: {_arm(arm)}"
        for label, arm in (("base", contract.base), ("head", contract.head))
        if arm
    ]
    steps = step_table(contract)
    rows += [_table(f"Steps of {name}", steps)] if steps else []
    resources = details(contract)
    rows += [f"- {name} from base to head: {resources}"] if resources else []
    limits = limit_details(contract)
    rows += [f"- {name} limits from base to head: {limits}"] if limits else []
    mode = mode_details(contract)
    rows += [f"- {name} {mode}"] if mode else []
    repairs = repair_details(contract)
    rows += [f"- {name} answers that needed repairs: {repairs}"] if repairs else []
    table = repair_table(contract)
    rows += [_table(f"Pass rate of {name}, by number of repairs", table)] if table else []
    rows += _budget_rows(contract, name)
    return rows


def _arm(arm: ArmResult) -> str:
    interval = ""
    if arm.interval:
        low, high = numbers.percent(arm.interval.low), numbers.percent(arm.interval.high)
        interval = f" (95\u00a0% interval {low} to {high})"
    failed = f", {numbers.count(arm.failed_calls, 'failed call')}" if arm.failed_calls else ""
    cost = "cost unknown"
    if arm.cost_per_call_usd is not None:
        cost = f"{numbers.dollars(arm.cost_per_call_usd)} a call"
    return (
        f"{code(arm.model, 80)}, {numbers.count(arm.samples, 'sample')}, "
        f"{numbers.percent(arm.success_rate)} pass{interval}{failed}, "
        f"latency p95 {numbers.milliseconds(arm.latency_p95_ms)}, {cost}"
    )


def objective_line(slo: SloResult, contract: ContractResult) -> str:
    """Say in one line whether an objective is met, with its interval and what is left of its error
    budget."""
    interval = ""
    if slo.interval:
        low, high = (objective_value(slo, end) for end in (slo.interval.low, slo.interval.high))
        interval = f", 95\u00a0% interval {low} to {high}"
    budget = next((b for b in contract.error_budgets if b.objective == slo.objective), None)
    left = ""
    if budget:
        share = share_left(budget)
        left = f"; error budget of {budget.window}: {share}{' left' * share.endswith('%')}"
    status = status_text(slo, contract).replace("open: ", "open, ", 1)
    text = f"{observed_value(slo)}, wanted {target(slo)}{interval}: {status}"
    icon = {True: "✅", False: "❌", None: "⚠️"}[slo.met]
    return f"{icon} {prose(label_of(slo.objective), 100)}: {own_words(text + left)}"


def add_objectives(page: Page, result: GateResult) -> None:
    """Add a line for each objective, and the pass rates of the last nights as a line of bars."""
    rows, drawn = [], False
    ranked, past = by_severity(result.contracts), result.past_by_contract
    for contract in ranked:
        nights = last_nights(past[contract.name], result.started)
        lines = [objective_line(slo, contract) for slo in contract.slo]
        lines += [f"Last nights: {own_words(nights)}"] if nights else []
        drawn = drawn or bool(nights)
        of = f"{code(contract.name, 60)}: " if len(ranked) > 1 else ""
        rows += [f"- {of}{line}" for line in lines]
    if rows:
        every = [slo.met for contract in ranked for slo in contract.slo]
        counts = ((every.count(True), "met"), (every.count(False), "missed"))
        said = ", ".join(f"{n:,} {word}" for n, word in (*counts, (every.count(None), "open")) if n)
        parts = [f"Objectives: {said}"] if said else []
        summary = " · ".join([*parts, *(["Last nights"] if drawn else [])])
        page.add_fold(summary, rows, more=lambda left: f"- …and {left:,} more")


def _table(caption: str, rows: Sequence[Sequence[str]]) -> str:
    """Return a table between blank lines, because it is placed between list items. The first row
    has the titles."""
    titles, *others = rows
    lines = (titles, ["---"] * len(titles), *others)
    table = "\n".join(map(table_row, lines))
    return f"\n{caption}:\n\n{table}\n"


def _budget_rows(contract: ContractResult, name: str) -> list[str]:
    pressing = (contract.error_budget,) if contract.error_budget else ()
    by_base = contract.under_base is not None
    return [
        _budget_row(budget, name, by_base=by_base) for budget in contract.error_budgets or pressing
    ]


def _times(rate: float) -> str:
    """Format a burn rate. Most are below 1, and one digit would round many of them to 0."""
    return numbers.number(rate) if rate >= 1 else f"{round(rate, 2):g}"


def _budget_row(budget: ErrorBudget, name: str, *, by_base: bool) -> str:
    """Return a row for an error budget. `by_base` says that the base contract also applied, so that
    its checks show what merging burns."""
    rates = ", ".join(
        f"{code(window, 20)} {numbers.NONE if rate is None else _times(rate)}"
        for window, rate in budget.burn_rate.items()
    )
    projected = ""
    if budget.projected_burn_rate:
        low, high = (_times(rate) for rate in budget.projected_burn_rate)
        checks = ", counted by the base contract's checks" if by_base else ""
        times = f"{low} to {high} times the allowed rate"
        projected = f"; after merging, the budget would be used up at {times}{checks}"
    burn = f", burn rate {rates}" if rates else ""
    other = budget.objective != "success_rate"
    label = f" of {prose(label_of(budget.objective), 100)}" if other else ""
    what = f"- {name} error budget{label} over {code(budget.window, 20)}"
    if budget.events == 0:
        return f"{what}: no history yet{projected}"
    end, thaw = budget.exhausted_at, budget.frozen_until
    ends = f", used up on {numbers.moment(end)} at this rate" if end else ""
    until = (
        f", frozen until {numbers.moment(thaw)} at the latest if nothing more fails" if thaw else ""
    )
    if budget.state == "spent":
        until = ", spent, but this could be chance"
        if budget.freezes_at:
            failures = numbers.count(budget.freezes_at, "failure")
            until += f" ({failures} would freeze the contract)"
    return (
        f"{what}: {numbers.number(budget.left)} of {numbers.number(budget.budget)} allowed "
        f"failures left after {numbers.count(budget.events, 'sample')}"
        f"{burn}{ends}{until}{projected}"
    )
