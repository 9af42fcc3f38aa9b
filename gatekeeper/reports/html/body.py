"""Renders the part of the page that needs no script: verdict, contracts, reasons, charts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import lru_cache
from html import escape
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from gatekeeper import __version__, numbers
from gatekeeper.contract.values.objectives import label_of
from gatekeeper.contract.values.trial import Arm, Outcome
from gatekeeper.gate.objectives.error_budgets import by_pressure
from gatekeeper.gate.results.parts import FixtureResult
from gatekeeper.gate.results.result import ArmResult, ContractResult, GateResult, PastRun
from gatekeeper.reports.document import Cell as HeatCell
from gatekeeper.reports.document import heat_map
from gatekeeper.reports.escape import clip, plain, visible
from gatekeeper.reports.html import charts, markup
from gatekeeper.reports.html.render import Html
from gatekeeper.reports.html.samples import Packed, ReportedEvaluation
from gatekeeper.reports.markdown.decision import decision_rows, rows_of, under_base_contract
from gatekeeper.reports.markdown.glance import at_a_glance
from gatekeeper.reports.markdown.page import Page
from gatekeeper.reports.markdown.sections import add_notes, add_reasons, footer
from gatekeeper.reports.words.call_counts import describe_forecast
from gatekeeper.reports.words.columns import Cell, columns, share_left
from gatekeeper.reports.words.comparison_text import base_contract_label, decided_by
from gatekeeper.reports.words.headline import headline_text, lead, what_happened
from gatekeeper.reports.words.prompt_diff import SectionChange, prompt_changes
from gatekeeper.reports.words.ranking import by_severity, worst_reasons

if TYPE_CHECKING:
    from jinja2 import Environment


_MOST_ROWS = 2_000
"""Contracts in the table."""
_WORDS = 60_000
"""Characters of reasons and notes."""
_DIFF = 8_000
"""Characters of a section's difference; samples hold the whole prompts."""
_SECTIONS = 20
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
    past = _by_contract(result.past)
    sections = [
        _section(contract, number, past.get(contract.name, ()), evaluated)
        for number, contract in enumerate(ranked[:detailed])
    ]
    reasons, notes = Page(_WORDS), Page(_WORDS)
    add_reasons(reasons, result)
    add_notes(notes, result, notices)
    return (
        _templates()
        .get_template("body.html.j2")
        .render(
            verdict=result.verdict,
            headline=markup.inline(headline_text(result)),
            glance=_glance(result),
            lead=[markup.inline(paragraph) for paragraph in lead(result)],
            footer=markup.inline(footer(result, __version__)),
            forecast=describe_forecast(result),
            table=_table(result, ranked[:_MOST_ROWS], len(sections)),
            more_rows=max(0, len(ranked) - _MOST_ROWS),
            reasons=markup.blocks(reasons.text()),
            notes=markup.blocks(notes.text()),
            contracts=sections,
            more_contracts=len(ranked) - len(sections),
            verdicts=[v for v in _VERDICTS if any(c.verdict == v for c in ranked)],
            samples=any(evaluation.fixtures for evaluation in evaluated),
        )
    )


def render_samples(evaluated: Sequence[ReportedEvaluation], packed: Packed) -> str:
    """Render the element in which the script shows the samples, and the samples themselves."""
    if not evaluated:
        return ""
    labels = [clip(plain(evaluation.label), 120) for evaluation in evaluated]
    return _templates().get_template("samples.html.j2").render(labels=labels, packed=packed)


def load_templates() -> None:
    """Compile the templates of the page, which are kept for the process."""
    for name in ("body.html.j2", "samples.html.j2"):
        _templates().get_template(name)


@lru_cache(maxsize=1)
def _templates() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    made = Environment(
        loader=PackageLoader("gatekeeper.reports.html", "assets"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals |= {"icon_of": markup.icon, "count": numbers.count}
    return made


def _glance(result: GateResult) -> dict[str, Any] | None:
    """Return the edited lines and the most telling fixture, for the top of the page."""
    found = at_a_glance(result)
    if found is None:
        return None
    edit, example = found.edit, found.example
    return {
        "where": clip(plain(edit.where), 120) if edit else "",
        "lines": [(line.change, visible(str(line))) for line in edit.lines] if edit else [],
        "more": edit.more if edit else 0,
        "fixture": clip(plain(example.fixture), 80) if example else "",
        "tally": example.tally if example else "",
        "check": clip(plain(example.check), 60) if example else "",
        "message": clip(plain(example.message), 200) if example else "",
        "rows": [(label, visible(text)) for label, text in example.rows] if example else [],
    }


def _table(result: GateResult, ranked: Sequence[ContractResult], linked: int) -> dict[str, Any]:
    """Return the titles and cells of the comment's table, with the sort key of each cell."""
    own = {contract.path: number for number, contract in enumerate(ranked)}
    ranked = rows_of(ranked)
    shown = columns(result, ranked)
    rows = [
        {
            "name": clip(plain(contract.name), 120),
            "link": f"#contract-{own[contract.path]}" if own[contract.path] < linked else "",
            "verdict": contract.verdict,
            "rank": _VERDICTS.index(contract.verdict),
            "cells": [
                {
                    "lines": [
                        markup.with_icons(escape(visible(line))) for line in column.cells[row].lines
                    ],
                    "strong": column.cells[row].strong,
                    "right": column.is_right,
                    "key": _sort_key(column.cells[row]),
                }
                for column in shown
            ],
        }
        for row, contract in enumerate(ranked)
    ]
    return {"titles": [(c.title, c.is_right) for c in shown], "rows": rows}


def _sort_key(cell: Cell) -> float | str:
    """Return the sort key of a cell; empty if its value is not known, which sorts last."""
    return "" if cell.sort_key is None else cell.sort_key


def _section(
    contract: ContractResult,
    number: int,
    past: Sequence[PastRun],
    evaluated: Sequence[ReportedEvaluation],
) -> dict[str, Any]:
    mine = [j for j in evaluated if j.contract == contract.name]
    own = mine[0] if mine else None
    before = under_base_contract(contract)
    decided = [*decision_rows(contract), *(decision_rows(before) if before else [])]
    changes = prompt_changes(contract)
    budgets, shares_left = _budgets(contract, past)
    return {
        "id": f"contract-{number}",
        "name": clip(plain(contract.name), 120),
        "path": clip(visible(contract.path), 200),
        "verdict": contract.verdict,
        "open": contract.verdict != "pass" or number == 0,
        "finding": markup.inline(what_happened(contract)),
        "reasons": [
            (markup.icon(reason.verdict, reason.verdict), plain(reason.text))
            for reason in worst_reasons(contract)
        ],
        "measured": "Both arms" if contract.base and contract.head else "What was measured",
        "arms": [_arm(label, arm) for label, arm in _arms(contract) if arm],
        "strip": charts.interval_strip(contract),
        "before": _as_before(contract, before) if before else None,
        "models": _model_change(contract),
        "changes": [_change(change) for change in changes[:_SECTIONS]],
        "more_changes": max(0, len(changes) - _SECTIONS),
        "charts": _charts(contract, past, budgets, own),
        "budgets": shares_left,
        "clusters": _clusters(own) if own else "",
        "decided": markup.blocks("\n".join(decided)),
        "evaluations": [
            (evaluated.index(j), clip(plain(j.label), 120), len(j.fixtures)) for j in mine
        ],
    }


def _as_before(contract: ContractResult, before: ContractResult) -> dict[str, Any]:
    """Return the evidence under the base contract, next to head's own."""
    return {
        "name": base_contract_label(contract.under_base) if contract.under_base else "",
        "strip": charts.interval_strip(before),
        "said": markup.inline(decided_by(before.paired)) if before.paired else "",
        "arms": [_arm(label, arm) for label, arm in _arms(before) if arm],
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


def _clusters(evaluation: ReportedEvaluation) -> Markup:
    return Markup(failure_clusters(evaluation.fixtures, evaluation.outcomes))  # noqa: S704


def _by_arm(evaluation: ReportedEvaluation) -> Mapping[Arm, list[Outcome]]:
    arms: dict[Arm, list[Outcome]] = {"base": [], "head": []}
    for outcomes in evaluation.outcomes.values():
        for outcome in outcomes:
            arms[outcome.sample.trial.arm].append(outcome)
    return arms


def _by_contract(past: Sequence[PastRun]) -> Mapping[str, list[PastRun]]:
    groups: dict[str, list[PastRun]] = defaultdict(list)
    for run in past:
        groups[run.contract].append(run)
    return groups


def _arms(contract: ContractResult) -> list[tuple[str, ArmResult | None]]:
    return [("base", contract.base), ("head", contract.head)]


def _arm(label: str, arm: ArmResult) -> dict[str, str]:
    between = ""
    if arm.interval:
        between = f"{numbers.percent(arm.interval.low)} to {numbers.percent(arm.interval.high)}"
    return {
        "label": label,
        "model": clip(visible(arm.model), 80),
        "rate": numbers.percent(arm.success_rate),
        "interval": between,
        "samples": f"{arm.passed:,} of {arm.samples:,}",
        "fixtures": f"{arm.fixtures_passed:,} of {arm.fixtures:,}",
        "latency": numbers.milliseconds(arm.latency_p95_ms),
        "cost": numbers.dollars(arm.cost_per_call_usd),
        "failed": f"{arm.failed_calls:,}",
    }


def _model_change(contract: ContractResult) -> str:
    base, head = contract.base, contract.head
    if base is None or head is None or base.model == head.model:
        return ""
    return f"{clip(visible(base.model), 80)} → {clip(visible(head.model), 80)}"


def _change(change: SectionChange) -> dict[str, Any]:
    kinds = {"+": "added", "-": "removed", "@": "place"}
    lines = clip(visible(change.diff), _DIFF).split("\n")
    return {
        "title": clip(plain(change.title), 120),
        "change": change.change,
        "lines": [(kinds.get(line[:1], ""), line) for line in lines],
    }


_MOST_CATEGORIES, _MOST_CHECKS = 24, 12
_UNNAMED = "(no category)"


def failure_clusters(
    fixtures: Sequence[FixtureResult], outcomes: Mapping[str, Sequence[Outcome]]
) -> str:
    """Render the failures on head: a row for each category, a column for each check, the worst
    first.

    Empty if no check fails on head. A cell is the share of head's evaluated samples that fail.
    """
    counts: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0])
    for fixture in fixtures:
        category = fixture.category or _UNNAMED
        for outcome in outcomes.get(fixture.id, ()):
            if outcome.sample.trial.arm == "head":
                for check_result in outcome.check_results:
                    if check_result.passed is not None:
                        tally = counts[category, check_result.check]
                        tally[0] += not check_result.passed
                        tally[1] += 1
    rows = _worst((category, failed) for (category, _), (failed, _) in counts.items())
    columns = _worst((check, failed) for (_, check), (failed, _) in counts.items())
    if not columns:
        return ""
    cells = {
        key: HeatCell(
            numbers.percent(failed / evaluated),
            (f"{failed:,} of {evaluated:,}",),
            level=failed / evaluated,
        )
        for key, (failed, evaluated) in counts.items()
    }
    caption = "Share of head's samples that fail, by category and check"
    shown = Html().table(
        heat_map(caption, cells, rows[:_MOST_CATEGORIES], columns[:_MOST_CHECKS], corner="Category")
    )
    rest = max(0, len(rows) - _MOST_CATEGORIES), max(0, len(columns) - _MOST_CHECKS)
    if not any(rest):
        return shown
    categories = numbers.count(rest[0], "category", "categories")
    left = f"{categories} and {numbers.count(rest[1], 'check')} with fewer failures are not shown."
    return f'{shown}<p class="quiet">{left}</p>'


def _worst(failures: object) -> list[str]:
    """Return the names with failures, those with the most first."""
    totals: dict[str, int] = defaultdict(int)
    for name, failed in failures:  # type: ignore[attr-defined]
        totals[name] += failed
    return sorted((n for n in totals if totals[n]), key=lambda name: (-totals[name], name))
