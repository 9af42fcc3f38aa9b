"""Renders the open parts of the answer: the table of contracts, the reasons, the weakenings."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from gatekeeper import numbers
from gatekeeper.contract.values.trial import Arm
from gatekeeper.gate.results.result import ContractResult, GateResult
from gatekeeper.reports.escape import code, code_cell, link, prose_with_code
from gatekeeper.reports.markdown.decision import rows_of
from gatekeeper.reports.markdown.names import contract_file
from gatekeeper.reports.markdown.page import Page, table_row
from gatekeeper.reports.words.call_counts import describe_calls, describe_cost
from gatekeeper.reports.words.catalogue import REASONS
from gatekeeper.reports.words.columns import Cell, columns
from gatekeeper.reports.words.headline import ICONS, reason_icon, said_in_lead
from gatekeeper.reports.words.ranking import by_severity, worst_reasons

_LIST_LIMIT = 20


def add_table(page: Page, result: GateResult) -> None:
    """Add one row per contract, the worst first, and one for the result under its base contract. If
    policies of several folders apply, each has a table, also the worst first."""
    by_folder: dict[str, list[ContractResult]] = defaultdict(list)
    for contract in by_severity(result.contracts):
        by_folder[contract.folder].append(contract)
    for folder, contracts in by_folder.items():
        heading = f"#### {code(folder, 200) if folder else 'Other contracts'}\n\n"
        _add_table_of(page, result, contracts, heading if len(by_folder) > 1 else "")


def _add_table_of(
    page: Page, result: GateResult, ranked: Sequence[ContractResult], heading: str
) -> None:
    contracts = rows_of(ranked)
    shown = columns(result, contracts)
    titles = ["Contract", *(column.title for column in shown), "Verdict"]
    rules = ["---", *("---:" if c.is_right else "---" for c in shown), "---"]
    rows = [
        [
            link(code_cell(contract.name, 100), contract_file(contract, result.links)),
            *(_cell(column.cells[row]) for column in shown),
            f"{ICONS[contract.verdict]} {contract.verdict}",
        ]
        for row, contract in enumerate(contracts)
    ]
    page.add_rows(
        f"{heading}{table_row(titles)}\n{table_row(rules)}\n",
        [table_row(row) for row in rows],
        more=lambda left: f"| …and {left:,} more |{' |' * (len(titles) - 1)}",
        share=0.4,
    )


def add_reasons(page: Page, result: GateResult) -> None:
    """Add the reasons, the worst first, without those that the lead quotes or the table shows."""
    ranked = by_severity(result.contracts)
    quoted = said_in_lead(result)
    reasons = [
        (reason_icon(reason), reason.code, contract, reason.text)
        for contract in ranked
        for reason in worst_reasons(contract)
        if reason is not quoted and not REASONS[reason.code].is_all_clear
    ]
    several = len(ranked) > 1
    rows = [
        f"- {icon} {f'{code(contract.name, 60)}: ' if several else ''}"
        f"*{kind.replace('_', ' ')}*: {prose_with_code(text, 600)}"
        for icon, kind, contract, text in reasons
    ]
    _add_list(page, "### Why", rows)


def add_notes(page: Page, result: GateResult, more: Sequence[str] = ()) -> None:
    """Add weakenings, prompts without a contract, and other notes for a reviewer.

    `more` are notices that are later than the result.
    """
    ranked = by_severity(result.contracts)
    _add_list(
        page,
        "### This change weakens a contract",
        [
            f"- {code(c.name, 60)}: {prose_with_code(text, 400)}"
            for c in ranked
            for text in c.weakened
        ],
    )
    _add_list(
        page,
        "### Prompts without a contract",
        [f"- {code(path, 200)}" for path in result.uncovered],
    )
    notes = [f"- {prose_with_code(notice, 600)}" for notice in (*result.notices, *more)]
    notes += [
        f"- {code(c.name, 60)}: {prose_with_code(text, 400)}" for c in ranked for text in c.warnings
    ]
    notes += [
        note for contract in ranked for note in (*_soft_failures(contract), *_twins(contract))
    ]
    _add_list(page, "### Worth knowing", notes)


def footer(result: GateResult, version: str) -> str:
    """Return the tested commits, the time, the price and the version."""
    against = f" against {code(_short(result.base_sha))}" if result.base_sha else ""
    parts = [
        f"{code(_short(result.head_sha))}{against}",
        f"{numbers.moment(result.started)}, {numbers.duration(result.seconds)}",
    ]
    if result.contracts:
        parts += [describe_calls(result.calls), describe_cost(result)]
        if result.unaffected:
            untouched = numbers.count(result.unaffected, "other contract")
            parts.append(f"{untouched} not affected")
    parts.append(f"gatekeeper {version}")
    return " · ".join(parts)


def _cell(cell: Cell) -> str:
    first, *others = (line.replace("<", "&lt;") for line in cell.lines)
    return "<br>".join([f"**{first}**" if cell.strong else first, *others])


def _soft_failures(contract: ContractResult) -> list[str]:
    """Return checks that fail at head and did not decide, with base's: those of severity warn, and
    those of samples that passed by their score. Comparisons in pairs are left out, because they
    have a reason of their own."""
    pairs = {preference.name_against_base for preference in contract.preferences}
    failing: dict[tuple[str, bool], dict[Arm, set[str]]] = {}
    for fixture in contract.fixtures:
        for warning in fixture.warnings:
            key = warning.check, warning.tolerated
            arms = failing.setdefault(key, {"base": set(), "head": set()})
            arms[warning.arm].add(fixture.id)
    return [
        f"- {code(contract.name, 60)}: the check {code(check, 80)} "
        f"fails on {_before_and_now(contract, arms)}"
        + (
            ", in samples that pass because their score is high enough"
            if tolerated
            else "; a check with `severity: warn` does not block the merge"
        )
        for (check, tolerated), arms in failing.items()
        if arms["head"] and check not in pairs
    ]


def _before_and_now(contract: ContractResult, arms: Mapping[Arm, set[str]]) -> str:
    now = numbers.count(len(arms["head"]), "fixture")
    if contract.base is None:
        return f"{now} of head"
    return f"{now} of head and on {len(arms['base']):,} of base"


def _twins(contract: ContractResult) -> list[str]:
    twins = [(f.id, f.duplicate_of) for f in contract.fixtures if f.duplicate_of is not None]
    if not twins:
        return []
    shown = ", ".join(f"{code(twin, 60)} = {code(original, 60)}" for twin, original in twins[:5])
    more = f" and {len(twins) - 5:,} more" if len(twins) > 5 else ""
    verb = "repeats" if len(twins) == 1 else "repeat"
    return [
        f"- {code(contract.name, 60)}: {numbers.count(len(twins), 'fixture')} {verb} the input of "
        f"another fixture: {shown}{more}"
    ]


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
