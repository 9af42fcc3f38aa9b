"""The order and the figures that the comment and the terminal share."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import Any

import pytest
from rich.console import Console
from unit.reports import early_examples, examples

from gatekeeper.reports.comment import render_comment
from gatekeeper.reports.terminal import print_result
from gatekeeper.result import FixtureResult, GateResult, Reason, SloResult, Tally
from gatekeeper.slo.budget import ErrorBudget


def _read(result: GateResult) -> str:
    return render_comment(result).replace("\u00a0", " ")


def _printed(result: GateResult) -> str:
    console = Console(file=io.StringIO(), width=200)
    print_result(result, {}, console)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue().replace("\u00a0", " ")


def _row(comment: str, name: str) -> list[str]:
    line = next(line for line in comment.splitlines() if line.startswith(f"| `{name}`"))
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_what_broke_is_listed_as_a_reader_looks_at_it() -> None:
    def broke(number: int, head: int, p_value: float | None = None) -> FixtureResult:
        fixture = examples.fixture(number, "broke")
        return replace(fixture, head=Tally(head, 5), p_value=p_value)

    found = (broke(0, 2), broke(1, 0), broke(2, 2), broke(3, 1, 0.3), broke(4, 1, 0.01))
    result = examples.result(replace(examples.failing_contract(), fixtures=found))
    comment = _read(result)
    order = ["nn-004", "vbz-001", "rb-003", "nn-000", "jj-002"]
    places = [comment.index(f"| `{name}` |") for name in order]
    assert places == sorted(places)
    assert "<summary>❌ 5 fixtures broke, 1 beyond chance</summary>" in comment
    assert "</summary>\n\nChanged in the prompt: `system › # Rules`\n\n| Fixture" in comment
    printed = _printed(result)
    places = [printed.index(f"broke {name}") for name in order]
    assert places == sorted(places)


def test_what_is_fixed_starts_with_what_gained_most() -> None:
    little = replace(examples.fixture(0, "fixed"), base=Tally(2, 5))
    much = examples.fixture(1, "fixed")
    contract = replace(examples.passing_contract(), fixtures=(little, much))
    comment = _read(examples.result(contract))
    assert comment.index("| `vbz-001`") < comment.index("| `nn-000`")


def test_of_several_failures_the_one_that_is_shown_to_be_worse_leads() -> None:
    missed = replace(
        examples.failing_contract("a-drop-by-chance"),
        paired=examples.paired(10, 3, 0, 0.125),
        reasons=(Reason("slo", "Objective missed.", "fail"),),
    )
    lines = _read(examples.result(missed, examples.failing_contract("b-shown"))).splitlines()
    assert lines[1] == "## ❌ Do not merge: `b-shown` got worse and 1 more"


def test_rates_are_of_what_the_difference_is_made_of_wherever_they_stand() -> None:
    contract = early_examples.not_worse_contract()
    comment = _read(examples.result(contract))
    assert _row(comment, "order-id")[1:3] == [
        "98 %<br>392/400 samples",
        "98.5 %<br>394/400 samples",
    ]
    assert "98 % → 98.5 % of samples pass" in comment
    printed = _printed(examples.result(contract))
    assert "98 % (392/400 samples)  98.5 % (394/400 samples)" in printed


@pytest.mark.parametrize(
    ("budget", "cell"),
    [
        (None, "–"),
        (ErrorBudget("28d", 0, 0.0, 0, 0.0), "no history yet"),
        (ErrorBudget("28d", 10, 0.0, 0, 0.0), "none"),
        (ErrorBudget("28d", 10, 0.0, 3, -3.0), "overspent"),
        (ErrorBudget("28d", 10, 2.0, 3, -1.0), "−50 %"),
    ],
)
def test_budget_cell(budget: ErrorBudget | None, cell: str) -> None:
    contract = replace(examples.passing_contract(), error_budget=budget)
    other = examples.passing_contract("with-a-history")
    assert _row(_read(examples.result(contract, other)), "order-id")[6] == cell


def test_columns_in_which_no_contract_has_anything_are_left_out() -> None:
    nothing = ErrorBudget("28d", 0, 0.0, 0, 0.0, projected_burn_rate=(0.5, 2.0))
    contract = replace(examples.passing_contract(), error_budget=nothing, error_budgets=(nothing,))
    comment = _read(examples.result(contract))
    assert "| Contract | Base | Head | Difference | p | SLO | Verdict |" in comment
    assert "error budget over `28d`: no history yet; merging would burn at 0.5 to 2" in comment
    bare = _read(examples.result(replace(contract, slo=(), error_budget=None)))
    assert "| Contract | Base | Head | Difference | p | Verdict |" in bare


@pytest.mark.parametrize(
    ("other", "why"),
    [
        ({"unmeasured": True}, "open: samples missing"),
        ({"observed": None}, "open: not measured"),
        ({}, "open: too few samples"),
    ],
)
def test_an_open_objective_says_why(other: dict[str, Any], why: str) -> None:
    slo = replace(SloResult("success_rate", 0.9, 0.8, None, None), **other)
    contract = replace(examples.passing_contract(), slo=(slo,))
    assert _row(_read(examples.result(contract)), "order-id")[5].endswith(why)
    early = replace(early_examples.early_contract(), slo=(replace(slo, unmeasured=False),))
    stopped = _row(_read(examples.result(early)), "speech-tag")[5]
    assert stopped.endswith("not measured" if slo.observed is None else "open: stopped early")


def test_unmet_objectives_of_every_kind() -> None:
    slo = (
        SloResult("latency_p95_ms", 1000, 5100.0, None, False),
        SloResult("cost_per_call_usd", 0.01, None, None, None),
    )
    contract = replace(examples.passing_contract(), slo=slo)
    cell = _row(_read(examples.result(contract)), "order-id")[5]
    assert cell == (
        "❌ latency p95 5,100 ms<br>wanted ≤ 1,000 ms<br>"
        "cost per call unknown<br>wanted ≤ 0.0100 USD<br>open: not measured"
    ).replace("0.0100", "0.010")
