"""`metrics.prom`: the run as Prometheus metrics, for a Pushgateway or a node's text collector.

The text exposition format 0.0.4: https://prometheus.io/docs/instrumenting/exposition_formats/
Every metric is a gauge: it tells of this run alone, and the next one replaces it. A counter
(`_total`) would promise a sum over all runs. What is not known is left out.

Labels have few values: contracts, arms, models, verdicts and the like; never a fixture, a
commit or a message.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from types import SimpleNamespace
from typing import NamedTuple, get_args

from gatekeeper import __version__
from gatekeeper.gate.results.result import ArmResult, ContractResult, GateResult, Verdict
from gatekeeper.stats.objectives.error_budget import ErrorBudget

_LONGEST_LABEL = 200
_MILLISECONDS = 1000


class _Sample(NamedTuple):
    metric: str
    value: float | None
    labels: Mapping[str, str] = {}


HELP: Mapping[str, str] = {
    "gatekeeper_build_info": "Always 1; the label names the version that wrote these metrics.",
    "gatekeeper_run_timestamp_seconds": "When the run started, in Unix time.",
    "gatekeeper_run_duration_seconds": "The duration of the run in seconds.",
    "gatekeeper_run_verdict": "1 for the run's verdict, 0 for every other verdict.",
    "gatekeeper_run_calls": "Calls of the run, grouped by outcome.",
    "gatekeeper_run_cost_usd": "The cost of the run in US dollars.",
    "gatekeeper_run_role_calls": "Calls to judges and simulated users, grouped by outcome.",
    "gatekeeper_run_role_cost_usd": (
        "The cost of calls to judges and simulated users in US dollars."
    ),
    "gatekeeper_run_contracts": "Contracts that ran.",
    "gatekeeper_run_uncovered_prompts": "Changed prompts that have no contract.",
    "gatekeeper_contract_verdict": "1 for the contract's verdict, 0 for every other verdict.",
    "gatekeeper_contract_success_ratio": "The share of samples or fixtures that pass.",
    "gatekeeper_contract_success_lower_ratio": (
        "The lower end of the success ratio's confidence interval."
    ),
    "gatekeeper_contract_success_upper_ratio": (
        "The upper end of the success ratio's confidence interval."
    ),
    "gatekeeper_contract_fixtures": "Fixtures with a known outcome.",
    "gatekeeper_contract_fixtures_passed": "Fixtures that pass.",
    "gatekeeper_contract_samples": "Samples with a known outcome.",
    "gatekeeper_contract_samples_passed": "Samples that pass.",
    "gatekeeper_contract_failed_calls": "Samples without an answer.",
    "gatekeeper_contract_latency_p95_seconds": "The 95th percentile of the latency of a call.",
    "gatekeeper_contract_cost_per_call_usd": "The mean cost of a call in US dollars.",
    "gatekeeper_contract_changed_fixtures": (
        "Fixtures grouped by what changed from base to head: broke, fixed or unknown."
    ),
    "gatekeeper_contract_difference_ratio": (
        "The pass rate of head minus the pass rate of base, from -1 to 1."
    ),
    "gatekeeper_contract_p_value": (
        "The probability of a result at least this bad if head is as good as base."
    ),
    "gatekeeper_contract_objective_met": "1 if the objective is met, 0 if it is missed.",
    "gatekeeper_contract_error_budget_events": (
        "The number of failed samples that the objective allows in its window."
    ),
    "gatekeeper_contract_error_budget_left_events": (
        "The number of failed samples that the error budget still allows; negative if the budget "
        "is overspent."
    ),
    "gatekeeper_contract_burn_rate": (
        "The burn rate of the error budget by window; at a rate of 1, the budget lasts exactly "
        "one window."
    ),
}


def render_prometheus(result: GateResult) -> str:
    """Render all metrics, each family in one block as the format requires."""
    from prometheus_client import Metric, generate_latest

    families = {name: Metric(name, text, "gauge") for name, text in HELP.items()}
    for sample in _samples(result):
        if sample.value is not None and math.isfinite(sample.value):
            labels = {name: _label(value) for name, value in sample.labels.items()}
            families[sample.metric].add_sample(sample.metric, labels, sample.value)
    known = SimpleNamespace(collect=lambda: [f for f in families.values() if f.samples])
    return generate_latest(known).decode()


def _samples(result: GateResult) -> Iterator[_Sample]:
    yield _Sample("gatekeeper_build_info", 1, {"version": __version__})
    yield _Sample("gatekeeper_run_timestamp_seconds", result.started.timestamp())
    yield _Sample("gatekeeper_run_duration_seconds", result.seconds)
    yield from _verdict("gatekeeper_run_verdict", result.verdict, {})
    calls = result.calls
    for outcome in ("made", "cached", "saved", "failed", "surplus"):
        yield _Sample("gatekeeper_run_calls", getattr(calls, outcome), {"outcome": outcome})
    yield _Sample("gatekeeper_run_cost_usd", result.cost_usd)
    for role, asked in (("judge", calls.judge), ("simulated_user", calls.user)):
        if asked is not None:
            for outcome in ("made", "cached", "failed"):
                labels = {"role": role, "outcome": outcome}
                yield _Sample("gatekeeper_run_role_calls", getattr(asked, outcome), labels)
            yield _Sample("gatekeeper_run_role_cost_usd", asked.cost_usd, {"role": role})
    yield _Sample("gatekeeper_run_contracts", len(result.contracts))
    yield _Sample("gatekeeper_run_uncovered_prompts", len(result.uncovered))
    for contract in result.contracts:
        yield from _of_contract(contract)


def _of_contract(contract: ContractResult) -> Iterator[_Sample]:
    labels = {"contract": contract.name}
    yield from _verdict("gatekeeper_contract_verdict", contract.verdict, labels)
    for name, arm in (("base", contract.base), ("head", contract.head)):
        if arm is not None:
            yield from _of_arm(arm, labels | {"arm": name, "model": arm.model})
    paired = contract.paired
    if paired is not None:
        for change in ("broke", "fixed", "unknown"):
            count = getattr(paired, change)
            metric = "gatekeeper_contract_changed_fixtures"
            yield _Sample(metric, count, labels | {"change": change})
        yield _Sample("gatekeeper_contract_difference_ratio", paired.difference, labels)
        yield _Sample("gatekeeper_contract_p_value", paired.p_value, labels)
    for slo in contract.slo:
        objective = labels | {"objective": slo.objective}
        yield _Sample("gatekeeper_contract_objective_met", slo.met, objective)
    for budget in contract.error_budgets:
        yield from _of_budget(budget, labels | {"objective": budget.objective})


def _of_arm(arm: ArmResult, labels: Mapping[str, str]) -> Iterator[_Sample]:
    latency = arm.latency_p95_ms
    values = {
        "success_ratio": arm.success_rate,
        "success_lower_ratio": arm.interval.low if arm.interval else None,
        "success_upper_ratio": arm.interval.high if arm.interval else None,
        "fixtures": arm.fixtures,
        "fixtures_passed": arm.fixtures_passed,
        "samples": arm.samples,
        "samples_passed": arm.passed,
        "failed_calls": arm.failed_calls,
        "latency_p95_seconds": None if latency is None else latency / _MILLISECONDS,
        "cost_per_call_usd": arm.cost_per_call_usd,
    }
    for name, value in values.items():
        yield _Sample(f"gatekeeper_contract_{name}", value, labels)


def _of_budget(budget: ErrorBudget, labels: Mapping[str, str]) -> Iterator[_Sample]:
    yield _Sample("gatekeeper_contract_error_budget_events", budget.budget, labels)
    yield _Sample("gatekeeper_contract_error_budget_left_events", budget.left, labels)
    for window, rate in budget.burn_rate.items():
        yield _Sample("gatekeeper_contract_burn_rate", rate, {**labels, "window": window})


def _verdict(metric: str, verdict: Verdict, labels: Mapping[str, str]) -> Iterator[_Sample]:
    for each in get_args(Verdict):
        yield _Sample(metric, each == verdict, {**labels, "verdict": each})


def _label(value: str) -> str:
    """Return the value as valid UTF-8 of a bounded length."""
    return value[:_LONGEST_LABEL].encode(errors="replace").decode()
