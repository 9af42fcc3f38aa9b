"""The open parts of the answer: the table of contracts, the reasons, what was loosened."""

from __future__ import annotations

from gatekeeper.reports import figures
from gatekeeper.reports.harmless import code, code_cell, prose
from gatekeeper.reports.headline import (
    ICONS,
    OBJECTIVES,
    by_severity,
    objective_value,
    said_in_lead,
    worst_reasons,
)
from gatekeeper.reports.page import Page
from gatekeeper.reports.paired import is_significant, p_value, seeable_effect
from gatekeeper.result import (
    ArmResult,
    ContractResult,
    GateResult,
    PairedResult,
    Reason,
    SloResult,
)

_CHECK_COLUMNS = "| Contract | Base | Head | Difference | p | SLO | Budget left | Verdict |"
_RUN_COLUMNS = "| Contract | Passed | SLO | Budget left | Verdict |"
_LIST_LIMIT = 20


def add_table(page: Page, result: GateResult) -> None:
    """One row a contract, the worst first."""
    columns = _CHECK_COLUMNS if result.kind == "check" else _RUN_COLUMNS
    width = columns.count("|") - 1
    rule = "|" + " --- |" + " ---: |" * (width - 4) + " --- | ---: | --- |"
    rows = [_row(contract, result) for contract in by_severity(result.contracts)]
    page.add_rows(
        f"{columns}\n{rule}\n",
        rows,
        more=lambda left: f"| …and {left:,} more |{' |' * (width - 1)}",
        share=0.4,
    )


def add_reasons(page: Page, result: GateResult) -> None:
    """The reasons, the worst first. What the lead quotes or the table shows is not said again."""
    ranked = by_severity(result.contracts)
    quoted = said_in_lead(result)
    reasons = [
        (_icon(reason), reason.code, contract, reason.text)
        for contract in ranked
        for reason in worst_reasons(contract)
        if reason is not quoted and reason.code != "not_worse"
    ]
    several = len(ranked) > 1
    rows = [
        f"- {icon} {f'{code(contract.name, 60)}: ' if several else ''}"
        f"*{kind.replace('_', ' ')}*: {prose(text, 600)}"
        for icon, kind, contract, text in reasons
    ]
    _add_list(page, "### Why", rows)


def add_notes(page: Page, result: GateResult) -> None:
    """What was loosened, what has no contract, and what else a reviewer should know."""
    ranked = by_severity(result.contracts)
    _add_list(
        page,
        "### This change loosens its own contract",
        [f"- {code(c.name, 60)}: {prose(text, 400)}" for c in ranked for text in c.weakened],
    )
    _add_list(
        page,
        "### Prompts without a contract",
        [f"- {code(path, 200)}" for path in result.uncovered],
    )
    notes = [f"- {prose(notice, 600)}" for notice in result.notices]
    notes += [f"- {code(c.name, 60)}: {prose(text, 400)}" for c in ranked for text in c.warnings]
    notes += [
        note for contract in ranked for note in (*_soft_failures(contract), *_twins(contract))
    ]
    _add_list(page, "### Worth knowing", notes)


def footer(result: GateResult, version: str) -> str:
    """Which commits were judged, when, at what price, by which version."""
    against = f" against {code(_short(result.base_sha))}" if result.base_sha else ""
    parts = [
        f"{code(_short(result.head_sha))}{against}",
        f"{figures.moment(result.started)}, {figures.duration(result.seconds)}",
    ]
    if result.contracts:
        parts += [figures.calls(result.calls), f"cost {figures.dollars(result.cost_usd)}"]
        if result.unaffected:
            untouched = figures.count(result.unaffected, "other contract")
            parts.append(f"{untouched} not affected")
    parts.append(f"gatekeeper {version}")
    return f"<sub>{' · '.join(parts)}</sub>"


def slo_cell(contract: ContractResult) -> str:
    """What is missed or open, in words; otherwise that all is met."""
    if not contract.slo:
        return figures.NONE
    open_or_missed = [_objective(slo) for slo in contract.slo if slo.met is not True]
    return "<br>".join(open_or_missed) or "✅ met"


def budget_cell(contract: ContractResult) -> str:
    budget = contract.error_budget
    if budget is None:
        return figures.NONE
    if budget.budget <= 0:
        return "none" if budget.left >= 0 else "overspent"
    return f"{figures.percent(budget.left / budget.budget)}"


def _row(contract: ContractResult, result: GateResult) -> str:
    compared = (
        [*_shares(contract), _drop(contract), _sure(contract.paired)]
        if result.kind == "check"
        else [_share(contract.head)]
    )
    cells = [
        code_cell(contract.name, 60),
        *compared,
        slo_cell(contract),
        budget_cell(contract),
        f"{ICONS[contract.verdict]} {contract.verdict}",
    ]
    return f"| {' | '.join(cells)} |"


def _shares(contract: ContractResult) -> list[str]:
    """What the difference beside them is made of: fixtures, or of several samples the samples."""
    paired = contract.paired
    of = _samples_share if paired and paired.rounds > 1 else _share
    return [of(contract.base), of(contract.head)]


def _samples_share(arm: ArmResult | None) -> str:
    if arm is None or arm.success_rate is None:
        return figures.NONE
    return f"{figures.percent(arm.success_rate)}<br>{arm.passed:,}/{arm.samples:,} samples"


def _share(arm: ArmResult | None) -> str:
    if arm is None or not arm.fixtures:
        return figures.NONE
    share = figures.percent(arm.fixtures_passed / arm.fixtures)
    return f"{share}<br>{arm.fixtures_passed:,}/{arm.fixtures:,}"


def _drop(contract: ContractResult) -> str:
    paired = contract.paired
    if paired is None or paired.difference is None:
        return figures.NONE
    difference = figures.points(paired.difference)
    bold = f"**{difference}**" if is_significant(paired) else difference
    interval = figures.points_interval(paired.interval)
    return f"{bold}<br>{interval}" if interval else bold


def _sure(paired: PairedResult | None) -> str:
    """The p-value; where it finds nothing, also how large a drop it could have found."""
    if paired is None:
        return figures.NONE
    p = p_value(paired).removeprefix("= ").replace("<", "&lt;")
    effect = seeable_effect(paired)
    return p if effect is None else f"{p}<br>sees ≥\u00a0{figures.size_in_points(effect)}"


def _objective(slo: SloResult) -> str:
    sign = "≥" if slo.objective == "success_rate" else "≤"
    icon = "❌" if slo.met is False else "❔"
    observed = objective_value(slo, slo.observed)
    target = objective_value(slo, slo.target)
    return f"{icon} {OBJECTIVES[slo.objective]} {observed}<br>wanted {sign} {target}"


def _soft_failures(contract: ContractResult) -> list[str]:
    """Checks of severity warn that fail at head: shown, never gating."""
    fixtures: dict[str, set[str]] = {}
    for fixture in contract.fixtures:
        for warning in fixture.warnings:
            if warning.arm == "head":
                fixtures.setdefault(warning.check, set()).add(fixture.id)
    return [
        f"- {code(contract.name, 60)}: the warning {code(check, 80)} fails on "
        f"{figures.count(len(ids), 'fixture')} of head; warnings never gate"
        for check, ids in fixtures.items()
    ]


def _twins(contract: ContractResult) -> list[str]:
    twins = [(f.id, f.duplicate_of) for f in contract.fixtures if f.duplicate_of is not None]
    if not twins:
        return []
    shown = ", ".join(f"{code(twin, 60)} = {code(original, 60)}" for twin, original in twins[:5])
    more = f" and {len(twins) - 5:,} more" if len(twins) > 5 else ""
    verb = "repeats" if len(twins) == 1 else "repeat"
    return [
        f"- {code(contract.name, 60)}: {figures.count(len(twins), 'fixture')} {verb} the input of "
        f"another: {shown}{more}"
    ]


def _icon(reason: Reason) -> str:
    """A loosening that the policy or a person allows is still no good news."""
    tolerated = reason.verdict == "pass" and reason.code in (
        "weakened",
        "removed",
        "uncovered",
        "waived",
    )
    return "ℹ️" if tolerated else ICONS[reason.verdict]


def _add_list(page: Page, heading: str, rows: list[str]) -> None:
    if rows:
        page.add_rows(
            f"{heading}\n\n",
            rows[: 5 * _LIST_LIMIT],
            total=len(rows),
            more=lambda left: f"- …and {left:,} more",
            share=0.4,
        )


def _short(sha: str) -> str:
    return sha[:10]
