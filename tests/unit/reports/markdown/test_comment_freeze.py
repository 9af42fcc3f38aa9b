"""What the comment says of a freeze, and of what ends it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from support import results as examples

from gatekeeper.gate.results.result import GateResult, Reason
from gatekeeper.reports.markdown.comment import render_comment
from gatekeeper.stats.objectives.error_budget import ErrorBudget


def _read(result: GateResult) -> str:
    return render_comment(result).replace("\u00a0", " ")


def _frozen(*objectives: str, until: datetime | None) -> GateResult:
    spent = tuple(
        ErrorBudget("28d", 100, 5.0, 14, -9.0, objective=name, freezes_at=13, frozen_until=until)
        for name in objectives
    )
    reason = Reason("budget", "The error budget of the objective is spent.", "fail")
    contract = examples.passing_contract("a `b`")
    return examples.result(
        replace(
            contract, verdict="fail", reasons=(reason,), error_budgets=(examples.BUDGET, *spent)
        )
    )


def test_a_freeze_names_its_remedies() -> None:
    until = datetime(2026, 3, 9, 12, 30, tzinfo=UTC)
    comment = _read(_frozen("success_rate", "latency_p95_ms", until=until))
    (action,) = (line for line in comment.splitlines() if line.startswith("**What to do:**"))
    assert action == (
        "**What to do:** To merge now, raise the success rate, lower the latency p95 by more "
        "than chance explains. Or wait until the freeze ends on 2026-03-09 12:30 UTC (earlier if "
        "good runs follow, later if more samples fail). Or ask a maintainer to waive the result "
        "with the comment ``/gatekeeper waive a `b`: REASON``."
    )


def test_a_freeze_says_no_more_than_is_known() -> None:
    comment = _read(_frozen(*(f"checks.c{n}" for n in range(5)), until=None))
    assert "raise the c2 pass rate and 2 more by more than chance" in comment
    assert "Or wait until the budget recovers." in comment
    assert "To merge now, improve the objective that has no budget left" in _read(
        _frozen(until=None)
    )


def test_a_freeze_leads_also_where_other_reasons_follow() -> None:
    (contract,) = _frozen("success_rate", until=None).contracts
    slo = Reason("slo", "Objective missed.", "fail")
    both = replace(contract, reasons=(*contract.reasons, slo))
    assert "**What to do:** To merge now, raise the success rate" in _read(examples.result(both))
