"""Renders the part of the page that needs no script: verdict, contracts, reasons, charts."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from markupsafe import Markup

from gatekeeper import __version__, numbers
from gatekeeper.contract.values.objectives import label_of
from gatekeeper.contract.values.trial import Arm, Outcome
from gatekeeper.gate.objectives.error_budgets import by_pressure
from gatekeeper.gate.results.result import ArmResult, ContractResult, GateResult, PastRun
from gatekeeper.reports.escape import clip, visible
from gatekeeper.reports.html import charts
from gatekeeper.reports.html.page import render_template
from gatekeeper.reports.html.samples import Packed, ReportedEvaluation
from gatekeeper.reports.markdown.decision import (
    decision_rows,
    objective_line,
    rows_of,
    under_base_contract,
)
from gatekeeper.reports.markdown.glance import at_a_glance
from gatekeeper.reports.markdown.page import Page
from gatekeeper.reports.markdown.sections import add_notes, add_reasons, footer
from gatekeeper.reports.words.call_counts import describe_forecast
from gatekeeper.reports.words.columns import columns, share_left
from gatekeeper.reports.words.comparison_text import base_contract_label, decided_by
from gatekeeper.reports.words.headline import headline_text, lead, what_happened
from gatekeeper.reports.words.prompt_diff import prompt_changes
from gatekeeper.reports.words.ranking import by_severity, worst_reasons

_MOST_ROWS = 2_000
"""Contracts in the table."""
_WORDS = 120_000
"""Characters of reasons and notes."""
_MOST_TRENDS = 3
"""The most error budgets of one contract that are shown as charts."""
_VERDICTS = ("fail", "error", "inconclusive", "pass")


def render_body(
    result: GateResult,
    evaluated: Sequence[ReportedEvaluation],
    detailed: int,
    notices: Sequence[str] = (),
) -> str:
    """Render everything above the samples; the worst `detailed` contracts are shown in full."""
    ranked = by_severity(result.contracts)
    rows = rows_of(ranked[:_MOST_ROWS])
    past = result.past_by_contract
    findings = Page(_WORDS)
    if len(ranked) > detailed:  # those shown in full have their reasons there
        add_reasons(findings, result)
    add_notes(findings, result, notices)
    return render_template(
        "body",
        result=result,
        headline=headline_text(result),
        glance=at_a_glance(result),
        lead=lead(result),
        footer=footer(result, __version__),
        forecast=describe_forecast(result),
        rows=rows,
        columns=columns(result, rows),
        links={contract.path: number for number, contract in enumerate(ranked[:detailed])},
        more_rows=max(0, len(ranked) - _MOST_ROWS),
        findings=findings.text(),
        contracts=[_section(c, past[c.name], evaluated) for c in ranked[:detailed]],
        more_contracts=max(0, len(ranked) - detailed),
        verdicts=_VERDICTS,
        samples=any(evaluation.fixtures for evaluation in evaluated),
    )


def render_samples(
    evaluated: Sequence[ReportedEvaluation], packed: Packed, pictures: Mapping[str, str] = {}
) -> str:
    """Render the element in which the script shows the samples, the samples themselves, and the
    pictures of fixtures."""
    if not evaluated:
        return ""
    shown = json.dumps(pictures) if pictures else ""
    return render_template("samples", evaluated=evaluated, packed=packed, pictures=shown)


def _section(
    contract: ContractResult, past: Sequence[PastRun], evaluated: Sequence[ReportedEvaluation]
) -> dict[str, Any]:
    mine = [j for j in evaluated if j.contract == contract.name]
    own = mine[0] if mine else None
    before = under_base_contract(contract)
    decided = [*decision_rows(contract), *(decision_rows(before) if before else [])]
    objectives = [f"- {objective_line(slo, contract)}" for slo in contract.slo]
    budgets, shares_left = _budgets(contract, past)
    arms = _arms(contract)
    return {
        "contract": contract,
        "finding": what_happened(contract),
        "reasons": worst_reasons(contract),
        "arms": arms,
        "figures": [(title, [write(arm) for _, arm in arms]) for title, write in _FIGURES.items()],
        "strip": charts.interval_strip(contract),
        "before": _as_before(contract, before) if before else None,
        "changes": prompt_changes(contract),
        "charts": _charts(contract, past, budgets, own),
        "budgets": shares_left,
        "decided": "\n".join([*objectives, *decided]),
        "evaluations": [(evaluated.index(j), len(j.fixtures)) for j in mine],
    }


_FIGURES: Mapping[str, Callable[[ArmResult], str]] = {
    "Success rate": lambda arm: numbers.percent(arm.success_rate),
    "Its 95 % interval": lambda arm: charts.between(arm.interval),
    "Samples passed": lambda arm: f"{arm.passed:,} of {arm.samples:,}",
    "Fixtures passed": lambda arm: f"{arm.fixtures_passed:,} of {arm.fixtures:,}",
    "Latency p95": lambda arm: numbers.milliseconds(arm.latency_p95_ms),
    "Cost of a call": lambda arm: numbers.dollars(arm.cost_per_call_usd),
    "Failed calls": lambda arm: f"{arm.failed_calls:,}",
    "Model": lambda arm: arm.model,
}


def _as_before(contract: ContractResult, before: ContractResult) -> dict[str, Any]:
    """Return the evidence under the base contract, next to head's own."""
    return {
        "label": base_contract_label(contract.under_base) if contract.under_base else "",
        "strip": charts.interval_strip(before),
        "said": decided_by(before.paired) if before.paired else "",
        "arms": _arms(before),
    }


def _charts(
    contract: ContractResult,
    past: Sequence[PastRun],
    budgets: Sequence[Markup],
    own: ReportedEvaluation | None,
) -> list[Markup]:
    target = next((s.target for s in contract.slo if s.objective == "success_rate"), None)
    now = "this change" if contract.base else "this run"
    arms: Mapping[Arm, ArmResult | None] = {"base": contract.base, "head": contract.head}
    found = [charts.success_trend(past, contract.head, target, now), *budgets]
    if own:
        outcomes = _by_arm(own)
        found += [charts.latency_chart(outcomes, arms), charts.token_table(outcomes, arms)]
    return [chart for chart in found if chart]


def _budgets(contract: ContractResult, past: Sequence[PastRun]) -> tuple[list[Markup], str]:
    """Return charts of the error budgets over runs, the most pressing first, and in words what is
    left of the others that have an event."""
    targets = {slo.objective: slo.target for slo in contract.slo}
    rendered: list[Markup] = []
    shares_left: list[str] = []
    for budget in by_pressure(contract.error_budgets):
        target = targets.get(budget.objective)
        chart = Markup()
        if target is not None and len(rendered) < _MOST_TRENDS:
            chart = charts.budget_trend(past, budget, target)
        if chart:
            rendered.append(chart)
        elif budget.events:
            shares_left.append(
                f"{clip(visible(label_of(budget.objective)), 80)} {share_left(budget)}"
            )
    return rendered, ", ".join(shares_left)


def _by_arm(evaluation: ReportedEvaluation) -> Mapping[Arm, list[Outcome]]:
    arms: dict[Arm, list[Outcome]] = {"base": [], "head": []}
    for outcomes in evaluation.outcomes.values():
        for outcome in outcomes:
            arms[outcome.sample.trial.arm].append(outcome)
    return arms


def _arms(contract: ContractResult) -> list[tuple[Arm, ArmResult]]:
    both: tuple[tuple[Arm, ArmResult | None], ...] = (
        ("base", contract.base),
        ("head", contract.head),
    )
    return [(label, arm) for label, arm in both if arm]
