"""metrics.prom, read back by the parser of Prometheus' own client."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import Metric
from prometheus_client.parser import text_string_to_metric_families
from support import results as examples

from gatekeeper.gate.results.parts import JudgeCalls
from gatekeeper.gate.results.result import GateResult
from gatekeeper.reports.formats.prometheus import HELP, render_prometheus

_Values = dict[tuple[str, frozenset[tuple[str, str]]], float]


def _families(result: GateResult) -> list[Metric]:
    return list(text_string_to_metric_families(render_prometheus(result)))


def _values(result: GateResult) -> _Values:
    samples = [sample for family in _families(result) for sample in family.samples]
    values = {(s.name, frozenset(s.labels.items())): s.value for s in samples}
    assert len(values) == len(samples), "a series twice is refused by every server"
    return values


def _value(result: GateResult, name: str, **labels: str) -> float | None:
    return _values(result).get((f"gatekeeper_{name}", frozenset(labels.items())))


@pytest.mark.parametrize("result", examples.EVERY.values(), ids=examples.EVERY)
def test_every_result_can_be_read(result: GateResult) -> None:
    families = _families(result)
    names = [family.name for family in families]
    assert len(set(names)) == len(names)
    for family in families:
        assert family.type == "gauge"
        assert family.documentation == HELP[family.name]
        assert family.samples
        assert all(sample.timestamp is None for sample in family.samples)


def test_a_run() -> None:
    result = examples.FAIL
    assert _value(result, "run_timestamp_seconds") == 1772447467
    assert _value(result, "run_duration_seconds") == 41.7
    assert _value(result, "run_verdict", verdict="fail") == 1
    assert _value(result, "run_verdict", verdict="pass") == 0
    assert _value(result, "run_calls", outcome="made") == 400
    assert _value(result, "run_cost_usd") == 0.0084
    assert _value(result, "run_contracts") == 2


def test_calls_to_judges_and_simulated_users() -> None:
    calls = replace(examples.FAIL.calls, judge=JudgeCalls(7, 2, 1, 5, 0.25), user=JudgeCalls(3))
    result = replace(examples.FAIL, calls=calls)
    assert _value(result, "run_role_calls", role="judge", outcome="made") == 7
    assert _value(result, "run_role_calls", role="judge", outcome="failed") == 1
    assert _value(result, "run_role_cost_usd", role="judge") == 0.25
    assert _value(result, "run_role_calls", role="simulated_user", outcome="made") == 3
    assert _value(result, "run_role_cost_usd", role="simulated_user") is None
    assert _value(examples.FAIL, "run_role_calls", role="judge", outcome="made") is None


def test_a_contract() -> None:
    result = examples.FAIL
    labels = {"contract": "speech-tag", "arm": "head", "model": "openai/gpt-4o-mini"}
    assert _value(result, "contract_fixtures_passed", **labels) == 30
    assert _value(result, "contract_success_ratio", **labels) == 0.75
    assert _value(result, "contract_latency_p95_seconds", **labels) == 0.8124
    assert _value(result, "contract_changed_fixtures", contract="speech-tag", change="broke") == 9
    assert _value(result, "contract_verdict", contract="order-id", verdict="pass") == 1
    slo = {"contract": "speech-tag", "objective": "success_rate"}
    assert _value(result, "contract_objective_met", **slo) == 0


def test_each_error_budget_is_told_by_its_objective() -> None:
    slow = replace(examples.BUDGET, objective="latency_p95_ms", left=-2.0)
    contract = replace(examples.failing_contract(), error_budgets=(examples.BUDGET, slow))
    result = examples.result(contract)
    rate = {"contract": "speech-tag", "objective": "success_rate"}
    latency = {"contract": "speech-tag", "objective": "latency_p95_ms"}
    assert _value(result, "contract_burn_rate", **rate, window="7d") == 0.4
    assert _value(result, "contract_burn_rate", **rate, window="1d") is None
    assert _value(result, "contract_error_budget_events", **rate) == 60
    assert _value(result, "contract_error_budget_left_events", **rate) == 37
    assert _value(result, "contract_error_budget_left_events", **latency) == -2


def test_what_is_not_known_is_left_out() -> None:
    values = _values(examples.ERROR)
    names = {name for name, _ in values}
    assert "gatekeeper_run_cost_usd" not in names
    assert "gatekeeper_contract_p_value" not in names
    assert "gatekeeper_contract_objective_met" not in names
    head = {"contract": "speech-tag", "arm": "head", "model": "openai/gpt-4o-mini"}
    assert _value(examples.ERROR, "contract_success_ratio", **head) is None


def test_infinity_is_not_known() -> None:
    result = replace(examples.FAIL, cost_usd=float("nan"), seconds=float("inf"))
    assert _value(result, "run_cost_usd") is None
    assert _value(result, "run_duration_seconds") is None


@given(st.text(max_size=40))
def test_any_model_is_one_label(model: str) -> None:
    contract = examples.failing_contract()
    assert contract.head is not None
    result = examples.result(replace(contract, head=replace(contract.head, model=model)))
    shown = model.encode(errors="replace").decode()
    labels = {"contract": "speech-tag", "arm": "head", "model": shown}
    assert _value(result, "contract_fixtures", **labels) == 40


def test_no_label_is_without_bound() -> None:
    contract = examples.failing_contract()
    assert contract.head is not None
    result = examples.result(replace(contract, head=replace(contract.head, model="m" * 10_000)))
    values = _values(result)
    assert max(len(value) for _, labels in values for _, value in labels) == 200
    names = {name for _, labels in values for name, _ in labels}
    assert names == {
        "version", "verdict", "outcome", "contract", "arm", "model", "change", "objective",
        "window",
    }  # fmt: skip


def test_names_follow_the_conventions_and_are_documented() -> None:
    page = Path("docs/reports.md").read_text("utf-8")
    for name in HELP:
        assert re.fullmatch(r"gatekeeper_[a-z0-9_]+", name)
        assert not name.endswith(("_total", "_count", "_sum", "_bucket", "_ms"))
        assert f"`{name}" in page
