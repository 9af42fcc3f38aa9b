"""The charts of report.html: what they draw, and the tables that say the same in digits."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from xml.etree import ElementTree

import pytest
from support import results as examples
from support.report_texts import text_of
from support.ticket_run import gate_result, past

from gatekeeper import numbers
from gatekeeper.gate.objectives.error_budgets import most_pressing
from gatekeeper.gate.results.result import ContractResult, GateResult, PastRun, SloResult
from gatekeeper.reports.html import charts, plots, render_html
from gatekeeper.stats.objectives.error_budget import Event, error_budget

SVG = re.compile(r"<svg .*?</svg>", re.DOTALL)


@pytest.fixture(scope="module")
def result() -> GateResult:
    return gate_result(30, 2)


def drawn(figure: str) -> ElementTree.Element:
    (svg,) = SVG.findall(figure)
    return ElementTree.fromstring(svg)  # noqa: S314


def test_every_chart_has_a_title_a_sentence_and_its_numbers(result: GateResult) -> None:
    nights = past()
    (contract,) = result.contracts
    events = [night.events["success_rate"] for night in nights]
    budget = error_budget(events, 0.9, "28d", result.started)
    evaluated = replace(contract, error_budgets=(budget,))
    page = render_html(replace(result, contracts=(evaluated,), past=nights))
    found = re.findall(r'<figure class="chart[^"]*">.*?</figure>', page, re.DOTALL)
    titles = [re.search(r"<figcaption><b>([^<]+)", figure)[1] for figure in found]  # type: ignore[index]
    assert titles == [
        "Success rate over runs",
        "Error budget left: success rate",
        "Latency",
        "Tokens and cost of a call",
    ]
    assert "<tbody><tr>" in found[-1]
    for figure, name in zip(found[:-1], titles, strict=False):
        svg = drawn(figure)
        assert svg.get("role") == "img"
        assert (svg.get("aria-label") or "").startswith(name)
        assert not {each.tag.rpartition("}")[2] for each in svg.iter()} & {"script", "style"}
        assert "<tbody><tr>" in figure


def test_the_trend_has_a_row_a_run_with_its_interval() -> None:
    nights = past(runs=10)
    figure = charts.success_trend(nights[::-1], None, 0.9)
    rows = rows_of(figure)
    assert len(rows) == 10
    assert rows[0][:2] == [f"{nights[0].time:%Y-%m-%d}", numbers.percent(nights[0].success_rate)]
    assert (drawn(figure).find(".//*[@class='dots']").get("d") or "").count("M") == 10  # type: ignore[union-attr]
    assert drawn(figure).find(".//*[@class='band']") is not None


def test_the_interval_of_the_change_is_drawn_beside_those_of_the_runs() -> None:
    bands = drawn(charts.success_trend(past(runs=3), examples.arm(3, 4), None))
    runs, change = bands.findall(".//*[@class='band']")
    places = [int(re.match(r"M(\d+) ", band.get("d") or "")[1]) for band in (runs, change)]  # type: ignore[index]
    assert places[0] == 0
    assert places[1] > plots.WIDTH // 2


def test_a_trend_needs_runs_and_passes_over_those_without_a_sample() -> None:
    nights = past(runs=3)
    assert charts.success_trend((), examples.arm(3, 4), 0.9) == ""
    assert charts.success_trend(nights[:1], None, 0.9) == ""
    empty = replace(nights[1], samples=0, failed=0, interval=None)
    figure = charts.success_trend((nights[0], empty, nights[2]), None, None)
    assert len(rows_of(figure)) == 2


def with_budgets(result: GateResult, nights: Sequence[PastRun], **targets: float) -> GateResult:
    """The result as the gate would give it with that past and those objectives."""
    (contract,) = result.contracts
    slo = tuple(SloResult(name, target, None, None, None) for name, target in targets.items())
    spent = {name: [n.events[name] for n in nights if name in n.events] for name in targets}
    budgets = tuple(
        error_budget(events, targets[name], "28d", nights[-1].time + timedelta(hours=1), name=name)
        for name, events in spent.items()
    )
    evaluated = replace(
        contract, slo=slo, error_budgets=budgets, error_budget=most_pressing(budgets)
    )
    runs = tuple(replace(night, contract=contract.name) for night in nights)
    return replace(result, contracts=(evaluated,), past=runs)


def spending(*failed: int, **more: Sequence[int]) -> list[PastRun]:
    """Nights of 100 events each; `more` are the failures of other objectives."""
    counts = {"success_rate": failed, **more}
    nights = past(runs=len(failed))
    return [
        replace(n, events={name: Event(n.time, 100, of[i]) for name, of in counts.items()})
        for i, n in enumerate(nights)
    ]


def rows_of(figure: str) -> list[list[str]]:
    body = figure.partition("<tbody>")[2]
    cells = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in body.split("</tr>")]
    return [row for row in cells if row]


def test_the_budget_is_counted_over_its_window_alone() -> None:
    nights = spending(9, 9, 9, 5)
    late = nights[-1].time + timedelta(days=40)
    nights[-1] = replace(nights[-1], time=late, events={"success_rate": Event(late, 100, 5)})
    now = error_budget([nights[-1].events["success_rate"]], 0.9, "28d", late + timedelta(days=1))
    rows = rows_of(charts.budget_trend(nights, now, 0.9))
    assert [row[1:] for row in rows[2:]] == [
        [numbers.percent(0.1), "3", "30"],
        [numbers.percent(0.5), "5", "10"],
        [numbers.percent(0.5), "5", "10"],
    ]
    assert [row[0] for row in rows[3:]] == [f"{late:%Y-%m-%d}", "now"]


def test_what_left_the_window_since_the_latest_run_counts_no_more() -> None:
    nights = spending(10, 10, 1)
    first, *later = (night.events["success_rate"] for night in nights)
    now = error_budget([first, *later], 0.9, "28d", first.time + timedelta(days=28))
    *_, latest, today = rows_of(charts.budget_trend(nights, now, 0.9))
    assert latest[1:] == [numbers.percent(0.3), "9", "30"]
    assert today[1:] == [numbers.percent(9 / 20), "9", "20"]


def test_no_budget_is_drawn_without_runs_or_failures_allowed() -> None:
    nights = spending(1, 2, 3)
    now = nights[-1].time
    events = [night.events["success_rate"] for night in nights]
    budget = error_budget(events, 0.9, "28d", now)
    assert charts.budget_trend(nights[:1], budget, 0.9) == ""
    assert charts.budget_trend(nights, error_budget(events, 1.0, "28d", now), 1.0) == ""
    assert charts.budget_trend(nights, error_budget([], 0.9, "28d", now), 0.9) == ""
    mean = replace(budget, objective="cost_per_call_usd")
    assert charts.budget_trend(nights, mean, 0.01) == ""


def test_an_objective_that_is_new_has_gaps_before_its_first_run() -> None:
    nights = spending(1, 2, 3, **{"checks.short": [0, 0, 5]})
    nights[:2] = [replace(n, events={"success_rate": n.events["success_rate"]}) for n in nights[:2]]
    events = [nights[-1].events["checks.short"]]
    budget = error_budget(events, 0.9, "28d", nights[-1].time, name="checks.short")
    figure = charts.budget_trend(nights, budget, 0.9)
    half = numbers.percent(0.5)
    assert [row[1] for row in rows_of(figure)] == ["–", "–", half, half]
    assert drawn(figure).get("role") == "img"


def test_the_budgets_under_most_pressure_are_drawn_and_the_others_named() -> None:
    kept = {f"checks.c{i}": [i, i, i] for i in range(4)}
    nights = spending(9, 9, 9, **kept)
    targets = {"success_rate": 0.9, **dict.fromkeys(kept, 0.9)}
    page = render_html(with_budgets(examples.PASS, nights, **targets))
    titles = re.findall(r"<figcaption><b>(Error budget left[^<]+)", page)
    assert titles == [
        "Error budget left: success rate",
        "Error budget left: c3 pass rate",
        "Error budget left: c2 pass rate",
    ]
    told = "Left of the error budgets that are not drawn: c1 pass rate 90 %, c0 pass rate 100 %."
    assert told in text_of(page)


def test_a_budget_that_cannot_be_drawn_is_named() -> None:
    nights = spending(0, 1, 0)
    text = text_of(render_html(with_budgets(examples.PASS, nights, success_rate=1)))
    assert "Left of the error budgets that are not drawn: success rate overspent." in text
    assert "Error budget left:" not in text
    hostile = {"checks.<b>\u202e": [1, 1, 1]}
    nights = spending(0, 0, 0, **hostile)
    page = render_html(with_budgets(examples.PASS, nights, **dict.fromkeys(hostile, 0.9)))
    assert "<b>\u202e" not in page
    assert "\u202e" not in page


def test_where_nothing_is_known_nothing_is_drawn() -> None:
    arms = {"base": None, "head": examples.arm(1, 2)}
    without = {"base": [], "head": [examples.outcome(text=None)]}
    assert charts.latency_chart(without, arms) == ""  # type: ignore[arg-type]
    assert charts.token_table(without, arms) == ""  # type: ignore[arg-type]
    nothing = ContractResult("c", "c.yaml", "pass", ())
    assert charts.interval_strip(nothing) == ""
