"""The order and the figures that the comment and the terminal share."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from support import early_results as early_examples
from support import results as examples
from support.report_texts import comment_of, printed, row_of

from gatekeeper.gate.results.parts import FixtureResult, Tally
from gatekeeper.gate.results.result import Reason, SloResult
from gatekeeper.reports.html import render_html
from gatekeeper.reports.words.columns import columns, status_text
from gatekeeper.stats.interval import ConfidenceInterval
from gatekeeper.stats.objectives.error_budget import ErrorBudget


def test_what_broke_is_listed_as_a_reader_looks_at_it() -> None:
    def broke(number: int, head: int, p_value: float | None = None) -> FixtureResult:
        # Of one category, because the terminal lists each by itself.
        fixture = replace(examples.fixture(number, "broke"), category="noun")
        return replace(fixture, head=Tally(head, 5), p_value=p_value)

    found = (broke(0, 2), broke(1, 0), broke(2, 2), broke(3, 1, 0.3), broke(4, 1, 0.01))
    result = examples.result(replace(examples.failing_contract(), fixtures=found))
    comment = comment_of(result)
    order = ["nn-004", "vbz-001", "rb-003", "nn-000", "jj-002"]
    places = [comment.index(f"| `{name}` |") for name in order]
    assert places == sorted(places)
    assert "<summary>❌ 5 fixtures broke, 1 of them significantly</summary>" in comment
    assert (
        "</summary>\n\nChanged sections of the prompt: `system › # Rules`\n\n| Fixture" in comment
    )
    shown = printed(result)
    places = [shown.index(f"broke {name}") for name in order]
    assert places == sorted(places)


def test_what_is_fixed_starts_with_what_gained_most() -> None:
    little = replace(examples.fixture(0, "fixed"), base=Tally(2, 5))
    much = examples.fixture(1, "fixed")
    contract = replace(examples.passing_contract(), fixtures=(little, much))
    comment = comment_of(examples.result(contract))
    assert comment.index("| `vbz-001`") < comment.index("| `nn-000`")


def test_of_several_failures_the_one_that_is_shown_to_be_worse_leads() -> None:
    missed = replace(
        examples.failing_contract("a-drop-by-chance"),
        paired=examples.paired(10, 3, 0, 0.125),
        reasons=(Reason("slo", "Objective missed.", "fail"),),
    )
    lines = comment_of(examples.result(missed, examples.failing_contract("b-shown"))).splitlines()
    assert (
        lines[1]
        == "## ❌ Do not merge: `b-shown` got worse, and `a-drop-by-chance` misses its objective"
    )


def test_rates_are_of_what_the_difference_is_made_of_wherever_they_stand() -> None:
    contract = early_examples.not_worse_contract()
    comment = comment_of(examples.result(contract))
    assert row_of(comment, "order-id")[1:3] == [
        "98 %<br>392/400 samples",
        "98.5 %<br>394/400 samples",
    ]
    assert "98 % → 98.5 % of samples pass" in comment
    shown = printed(examples.result(contract))
    assert "98 % (392/400 samples)  98.5 % (394/400 samples)" in shown


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
    assert row_of(comment_of(examples.result(contract, other)), "order-id")[6] == cell


def test_columns_in_which_no_contract_has_anything_are_left_out() -> None:
    nothing = ErrorBudget("28d", 0, 0.0, 0, 0.0, projected_burn_rate=(0.5, 2.0))
    contract = replace(examples.passing_contract(), error_budget=nothing, error_budgets=(nothing,))
    comment = comment_of(examples.result(contract))
    assert "| Contract | Base | Head | Difference [95 %] | p | SLO | Verdict |" in comment
    assert (
        "error budget over `28d`: no history yet; after merging, the budget would be used up at "
        "0.5 to 2" in comment
    )
    bare = comment_of(examples.result(replace(contract, slo=(), error_budget=None)))
    assert "| Contract | Base | Head | Difference [95 %] | p | Verdict |" in bare


@pytest.mark.parametrize(
    ("other", "why"),
    [
        ({"unmeasured": True}, "open: samples missing"),
        ({"observed": None}, "open: not measured"),
        ({}, "open: the interval includes the target"),
        ({"inputs": 58, "inputs_needed": 72}, "open: needs 72 inputs, has 58"),
        ({"inputs": 72, "inputs_needed": 72}, "open: the interval includes the target"),
    ],
)
def test_an_open_objective_says_why(other: dict[str, Any], why: str) -> None:
    slo = replace(SloResult("success_rate", 0.9, 0.8, None, None), **other)
    contract = replace(examples.passing_contract(), slo=(slo,))
    assert status_text(slo, contract) == why
    assert row_of(comment_of(examples.result(contract)), "order-id")[5].endswith(", open")
    early = replace(early_examples.early_contract(), slo=(replace(slo, unmeasured=False),))
    stopped = row_of(comment_of(examples.result(early)), "speech-tag")[5]
    assert stopped == "1 not evaluated"


def test_unmet_objectives_of_every_kind() -> None:
    slo = (
        SloResult("latency_p95_ms", 1000, 5100.0, None, False),
        SloResult("cost_per_call_usd", 0.01, None, None, None),
    )
    contract = replace(examples.passing_contract(), slo=slo)
    cell = row_of(comment_of(examples.result(contract)), "order-id")[5]
    assert cell == "❌ latency p95 5,100 ms, wanted ≤ 1,000 ms; 1 open"


def _checks(count: int, observed: float | None, met: bool | None) -> tuple[SloResult, ...]:
    """As many objectives of one status, each with a name of its own."""
    kind = f"{observed}-{met}".replace(".", "")
    return tuple(SloResult(f"checks.{kind}-{n}", 0.9, observed, None, met) for n in range(count))


@pytest.mark.parametrize(
    ("slo", "cell"),
    [
        (_checks(9, 0.95, True), "✅ 9 met"),
        (_checks(1, 0.95, True), "✅ 095-True-0 pass rate 95 %"),
        (
            (*_checks(8, 0.95, True), *_checks(1, 0.8, False)),
            "❌ 08-False-0 pass rate 80 %, wanted ≥ 90 %; 8 met",
        ),
        (_checks(8, 0.95, None), "8 open"),
        (
            (*_checks(4, 0.95, None), *_checks(1, 0.85, None), *_checks(2, 0.95, True)),
            "085-None-0 pass rate 85 %, wanted ≥ 90 %, open; 4 open; 2 met",
        ),
        (
            (*_checks(2, None, None), *_checks(4, 0.8, False), *_checks(1, 0.95, True)),
            "❌ 08-False-0 pass rate 80 %, wanted ≥ 90 %; 3 more missed; 2 open; 1 met",
        ),
    ],
)
def test_of_many_objectives_what_matters_is_shown_and_the_rest_counted(
    slo: tuple[SloResult, ...], cell: str
) -> None:
    contract = replace(examples.passing_contract(), slo=slo)
    assert row_of(comment_of(examples.result(contract)), "order-id")[5] == cell


def test_latency_is_in_doubt_above_its_target_and_a_terminal_names_what_is() -> None:
    slow = SloResult("latency_p95_ms", 1000, 1400.0, None, None)
    quick = replace(slow, objective="latency_p50_ms", observed=300.0)
    slo = (*_checks(3, 0.95, None), *_checks(2, 0.95, True), quick, slow)
    told = printed(examples.result(replace(examples.passing_contract(), slo=slo)))
    shown = "latency p95 open; 4 open; 2 met"
    assert shown in " ".join(told.split())


def test_every_objective_is_a_line() -> None:
    hostile = "checks.a|b <img src=x>"
    slo = (
        SloResult("success_rate", 0.9, 0.97, ConfidenceInterval(0.93, 0.99), True),
        SloResult(hostile, 0.5, 0.0001, None, False),
        SloResult("cost_per_call_usd", 0.01, None, None, None),
    )
    budgets = (
        examples.BUDGET,
        ErrorBudget("7d", 10, 5.0, 6, -1.0, objective=hostile),
        ErrorBudget("1d", 0, 0.0, 0, 0.0, objective="cost_per_call_usd"),
    )
    contract = replace(examples.passing_contract(), slo=slo, error_budgets=budgets)
    comment = comment_of(examples.result(contract))
    fold = comment.partition("<details><summary>Objectives: 1 met, 1 missed, 1 open<")[2]
    lines = [line for line in fold.partition("</details>")[0].splitlines() if line[:1] == "-"]
    hidden = "a&#124;b &lt;img src=x> pass rate"
    assert lines == [
        "- ✅ success rate: 97 %, wanted ≥ 90 %, 95 % interval 93 % to 99 %: met; error budget of "
        "28d: 61.7 % left",
        f"- ❌ {hidden}: < 0.1 %, wanted ≥ 50 %: missed; error budget of 7d: −20 % left",
        "- ⚠️ cost per call: unknown, wanted ≤ 0.010 USD: open, not measured; error budget of "
        "1d: no history yet",
    ]
    page = " ".join(render_html(examples.result(contract)).replace("\u00a0", " ").split())
    assert "success rate: 97 %, wanted ≥ 90 %, 95 % interval 93 % to 99 %: met" in page
    assert "<img src=x" not in page


def test_a_row_is_sorted_by_numbers_and_not_by_what_is_shown() -> None:
    contract = examples.failing_contract()
    shown = {column.name: column.cells[0] for column in columns(examples.FAIL, [contract])}
    assert contract.base is not None
    assert contract.paired is not None
    assert shown["base"].sort_key == contract.base.success_rate
    assert shown["difference"].sort_key == contract.paired.difference == -0.2
    assert shown["difference"].bracketed
    assert shown["p"].sort_key == contract.paired.p_value
    assert shown["slo"].sort_key == 1
    unknown = columns(examples.FAIL, [replace(contract, base=None, paired=None, slo=())])
    assert {cell.sort_key for column in unknown[:1] for cell in column.cells} == {None}


def test_a_run_that_was_cut_short_shows_no_difference_of_rates_that_it_lacks() -> None:
    contract = examples.failing_contract()
    assert contract.head is not None
    short = replace(contract, head=replace(contract.head, fixtures=0, fixtures_passed=0))
    shown = {column.name: column.cells[0] for column in columns(examples.FAIL, [short])}
    assert shown["head"].lines == shown["difference"].lines
    assert shown["difference"].sort_key is None


def test_an_open_objective_sorts_below_a_missed_one() -> None:
    missed, open_ = (
        SloResult("success_rate", 0.95, 0.9, ConfidenceInterval(0.8, 0.94), met)
        for met in (False, None)
    )
    contracts = [
        replace(examples.failing_contract(), slo=slo)
        for slo in ((missed,), (open_, open_), (missed, open_), ())
    ]
    (cells,) = [c.cells for c in columns(examples.FAIL, contracts) if c.name == "slo"]
    assert [cell.sort_key for cell in cells] == [1, 0.02, 1.01, None]
