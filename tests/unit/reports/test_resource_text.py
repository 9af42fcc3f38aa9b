"""What a change does to cost, tokens and latency is said where it is decided."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from support import results as examples
from support.ticket_run import gate_result

from gatekeeper.gate.results.parts import ResourceChange
from gatekeeper.gate.results.result import ContractResult, GateResult
from gatekeeper.reports.formats.result_json import render_result
from gatekeeper.reports.html import render_html
from gatekeeper.reports.markdown.comment import render_comment
from gatekeeper.stats.interval import ConfidenceInterval

DEARER = ResourceChange("cost_per_call_usd", 0.001, 0.0043, ConfidenceInterval(3.2, 3.4))
SLOWER = ResourceChange("latency_p95_ms", 400.0, 600.0, ConfidenceInterval(0.4, 0.6))
SAME = ResourceChange("latency_p50_ms", 300.0, 303.0, ConfidenceInterval(-0.02, 0.04))
LITTLE = ResourceChange("tokens_per_call", 100.0, 101.0, ConfidenceInterval(0.005, 0.02))


def _with(contract: ContractResult, *resources: ResourceChange) -> ContractResult:
    assert contract.paired
    return replace(contract, paired=replace(contract.paired, resources=resources))


def _read(result: GateResult) -> str:
    return render_comment(result).replace("\u00a0", " ")


def test_a_dearer_head_is_in_the_title_the_text_and_the_table() -> None:
    contract = _with(examples.passing_contract(), DEARER, LITTLE, SAME, SLOWER)
    comment = _read(examples.result(contract))
    assert "significantly worse, but a call of `order-id` costs 330 % more" in comment
    assert (
        "**Cost and latency:** cost 0.0010 → 0.0043 USD (+330 %), "
        "latency p95 400 → 600 ms (+50 %)." in comment
    )
    assert "cost +330 % [+320, +340]<br>latency p95 +50 % [+40, +60]" in comment
    assert "tokens 100 → 101, +1 % [+0.5, +2]" in comment
    assert "cost +330" in render_html(examples.result(contract)).replace("\u00a0", " ")


def test_a_pass_says_in_one_line_that_nothing_changed() -> None:
    comment = _read(examples.result(_with(examples.passing_contract(), LITTLE, SAME)))
    line = "**Cost and latency:** no clear change: tokens 100 → 101, latency p50 300 → 303 ms."
    assert line in comment
    assert "| Cost and latency |" not in comment
    two = examples.result(
        _with(examples.passing_contract("a"), SAME), _with(examples.passing_contract("b"), SAME)
    )
    assert "**Cost and latency:** no clear change.\n" in _read(two)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ((SLOWER,), "but the latency p95 of `order-id` is 50 % higher"),
        (
            (SLOWER, ResourceChange("latency_p50_ms", 100.0, 300.0, ConfidenceInterval(1.8, 2.2))),
            "but the latency p50 of `order-id` is 200 % higher",
        ),
        ((SLOWER, DEARER), "but a call of `order-id` costs 330 % more"),
        (
            (SLOWER, ResourceChange("tokens_per_call", 10.0, 90.0, ConfidenceInterval(7, 9))),
            "but the latency p95 of `order-id` is 50 % higher",
        ),
    ],
)
def test_the_title_names_the_largest_rise(changes: tuple[ResourceChange, ...], said: str) -> None:
    contract = _with(examples.passing_contract(), *changes)
    assert said in _read(examples.result(contract)).splitlines()[1]


def test_a_failure_mentions_what_changed_and_nothing_else() -> None:
    assert "**Cost and latency:** latency p95 400" in _read(
        examples.result(_with(examples.failing_contract(), SLOWER))
    )
    assert "**Cost and latency:**" not in _read(
        examples.result(_with(examples.failing_contract(), SAME))
    )


def test_of_several_contracts_each_is_named() -> None:
    names = ("a", "b", "c", "d")
    found = [_with(examples.passing_contract(name), SLOWER) for name in names]
    comment = _read(examples.result(*found))
    assert "`a` latency p95 400 → 600 ms (+50 %); `b` latency" in comment
    assert "; and 1 more contract." in comment


@pytest.mark.parametrize(
    ("base", "head", "interval", "differs"),
    [
        (1.0, 2.0, ConfidenceInterval(0.9, 1.1), True),
        (1.0, 0.5, ConfidenceInterval(-0.6, -0.4), True),
        (1.0, 1.02, ConfidenceInterval(0.01, 0.03), False),
        (1.0, 2.0, ConfidenceInterval(-0.1, 3.0), False),
        (1.0, 2.0, None, False),
        (0.0, 2.0, None, False),
    ],
)
def test_what_counts_as_a_change(
    base: float, head: float, interval: ConfidenceInterval | None, differs: bool
) -> None:
    assert ResourceChange("cost_per_call_usd", base, head, interval).differs is differs


def test_the_gate_measures_them_on_the_same_fixtures() -> None:
    result = gate_result(60, 1)
    paired = result.contracts[0].paired
    assert paired
    found = {change.resource: change for change in paired.resources}
    assert set(found) == {
        "cost_per_call_usd",
        "tokens_per_call",
        "latency_p50_ms",
        "latency_p95_ms",
    }
    for change in found.values():
        assert change.relative is not None
        assert change.interval
        assert change.interval.low <= change.relative <= change.interval.high
    assert found["latency_p95_ms"].differs
    told = json.loads(render_result(result))["contracts"][0]["paired"]["resources"]
    assert [each["resource"] for each in told] == list(found)
