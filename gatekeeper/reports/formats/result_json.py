"""The result for other programs: a document whose keys are promised, and its JSON Schema."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from gatekeeper import __version__
from gatekeeper.contract.values.definition import NotRun, Quarantine
from gatekeeper.contract.values.trial import Arm
from gatekeeper.gate.results.call_result import Calls, Forecast, JudgeCalls
from gatekeeper.gate.results.fixture_result import (
    BrokenFixtures,
    Confirmation,
    FixtureFailure,
    FixtureResult,
    MustPassResult,
)
from gatekeeper.gate.results.judge_result import JudgeAgreement
from gatekeeper.gate.results.repair_result import RepairResult, RepairTally
from gatekeeper.gate.results.result import (
    ArmResult,
    ContractResult,
    Difference,
    GateResult,
    PairedResult,
    SloResult,
    UnderBase,
)
from gatekeeper.gate.results.step_result import StepResult
from gatekeeper.reports.formats.preference_json import preference_document
from gatekeeper.stats.error_budget import ErrorBudget
from gatekeeper.stats.estimate import Estimate
from gatekeeper.stats.interval import ConfidenceInterval

SCHEMA_VERSION = 1
_SCHEMA_FILE = "result.v1.json"


def result_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) that every result document follows."""
    from importlib.resources import files

    text = files("gatekeeper.reports").joinpath(_SCHEMA_FILE).read_text(encoding="utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema


def result_document(result: GateResult, notices: Sequence[str] = ()) -> dict[str, Any]:
    """Return the result as JSON-ready values; `notices` are later than the result.

    Unknown values are null; never NaN, never infinite.
    """
    started = result.started if result.started.tzinfo else result.started.replace(tzinfo=UTC)
    document = {
        "schema": SCHEMA_VERSION,
        "version": __version__,
        "kind": result.kind,
        "verdict": result.verdict,
        "exit_code": result.exit_code,
        "base": {"sha": result.base_sha},
        "head": {"sha": result.head_sha},
        "order_seed": result.order_seed,
        "started": started.isoformat(),
        "seconds": result.seconds,
        "calls": calls_document(result.calls),
        "cost_usd": result.cost_usd,
        "most_cost_usd": result.forecast.most.cost_usd if result.forecast else None,
        "forecast": forecast_document(result.forecast),
        "contracts": [_contract(contract) for contract in result.contracts],
        "uncovered": list(result.uncovered),
        "policy_weakened": [{"key": w.place, "text": w.text} for w in result.policy_weakened],
        "unaffected": result.unaffected,
        "judge_agreement": [judge_agreement_document(found) for found in result.judge_agreement],
        "blame": [asdict(found) for found in result.blame],
        "promises": [asdict(found) for found in result.promises],
        "notices": [*result.notices, *notices],
    }
    finite: dict[str, Any] = _finite(document)
    return finite


def render_result(result: GateResult, notices: Sequence[str] = ()) -> str:
    """Render `result.json`: the document as text."""
    return encode(result_document(result, notices), indent=2) + "\n"


@lru_cache
def _encoder(indent: int | None) -> json.JSONEncoder:
    """Return an encoder. Making one takes as long as encoding a short sample."""
    return json.JSONEncoder(ensure_ascii=False, allow_nan=False, indent=indent)


def encode(value: Any, indent: int | None = None) -> str:
    """Return JSON that any reader accepts, whatever a model wrote into it."""
    text = _encoder(indent).encode(value)
    try:
        text.encode()
    except UnicodeEncodeError:  # half a surrogate pair can only be written as an escape
        return json.dumps(value, ensure_ascii=True, allow_nan=False, indent=indent)
    # Readers that split text into lines would also split here.
    for separator in ("\x85", "\u2028", "\u2029"):
        text = text.replace(separator, f"\\u{ord(separator):04x}")
    return text


def _contract(contract: ContractResult) -> dict[str, Any]:
    return {
        "name": contract.name,
        "path": contract.path,
        **({"folder": contract.folder} if contract.folder else {}),
        "verdict": contract.verdict,
        "reasons": [
            {
                "code": reason.code,
                "text": reason.text,
                "verdict": reason.verdict,
                "contract_from": reason.contract_from,
            }
            for reason in contract.reasons
        ],
        "affected_by": [{"path": a.path, "change": a.change} for a in contract.affected_by],
        "base": _arm(contract.base),
        "head": _arm(contract.head),
        "paired": _paired(contract.paired),
        "slo": [_slo(slo) for slo in contract.slo],
        "error_budget": error_budget_document(contract.error_budget),
        "error_budgets": [error_budget_document(budget) for budget in contract.error_budgets],
        "fixtures": [_fixture(fixture) for fixture in contract.fixtures],
        "order_seed": contract.order_seed,
        "weakened": list(contract.weakened),
        "warnings": list(contract.warnings),
        "must_pass": [_must_pass(found) for found in contract.must_pass],
        "broken": _broken(contract.broken),
        "limits": [asdict(found) for found in contract.limits],
        "repairs": _repairs(contract.repairs),
        "missing_answers": asdict(contract.missing_answers) if contract.missing_answers else None,
        "mode": asdict(contract.mode) if contract.mode else None,
        "preferences": [preference_document(found) for found in contract.preferences],
        "under_base": _under_base(contract.under_base),
        "waiver": asdict(contract.waiver) if contract.waiver else None,
        "not_run": [_not_run(skipped) for skipped in contract.not_run],
        "anchors": [asdict(found) for found in contract.anchors],
    }


def _not_run(skipped: NotRun) -> dict[str, Any]:
    at = skipped.position
    return {"kind": skipped.kind, "path": at.path, "line": at.line, "why": skipped.why}


def _under_base(found: UnderBase | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {
        "base": _arm(found.base),
        "head": _arm(found.head),
        "paired": _paired(found.paired),
        "slo": [_slo(slo) for slo in found.slo],
        "fixtures": [_fixture(fixture) for fixture in found.fixtures],
        "contract_from": found.contract_from,
        "must_pass": [_must_pass(one) for one in found.must_pass],
        "broken": _broken(found.broken),
        "limits": [asdict(one) for one in found.limits],
        "repairs": _repairs(found.repairs),
        "preferences": [preference_document(one) for one in found.preferences],
    }


def _repairs(found: RepairResult | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {
        "action": found.action,
        "found": found.found,
        "p_value": found.p_value,
        "level": found.level,
        "base": _repair_tally(found.base),
        "head": _repair_tally(found.head),
    }


def _repair_tally(tally: RepairTally | None) -> dict[str, Any] | None:
    if tally is None:
        return None
    return {
        "answered": tally.answered,
        "repaired": tally.repaired,
        "repair_rate": tally.rate,
        "meaning_changed": tally.changed,
        "meaning_unknown": tally.unknown,
        "semantic_change_rate": tally.changed_rate,
        "steps": dict(tally.steps),
        "by_depth": [{**asdict(depth), "pass_rate": depth.rate} for depth in tally.by_depth],
    }


def _must_pass(found: MustPassResult) -> dict[str, Any]:
    return {
        "fixture": found.fixture,
        "check": found.check,
        "base": None if found.base is None else str(found.base),
        "head": str(found.head),
        "found": found.found,
        "confirmation": _confirmation(found.confirmation),
    }


def _confirmation(found: Confirmation | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {"base": str(found.base), "head": str(found.head), "found": found.found}


def _broken(found: BrokenFixtures | None) -> dict[str, Any] | None:
    if found is None:
        return None
    names = ("level", "allowed", "left_out", "maybe_fixed", "unrecorded", "p_value")
    return {name: getattr(found, name) for name in names}


def _slo(slo: SloResult) -> dict[str, Any]:
    return {
        "objective": slo.objective,
        "target": slo.target,
        "observed": slo.observed,
        "interval": _interval(slo.interval),
        "met": slo.met,
        "unmeasured": slo.unmeasured,
        "inputs": slo.inputs,
        "inputs_needed": slo.inputs_needed,
        "default": slo.default,
        "clustered": slo.clustered,
        "judged": slo.judged,
        "as_judged": slo.as_judged,
        "outdated": slo.outdated,
        "similar": asdict(slo.similar) if slo.similar else None,
    }


def _arm(arm: ArmResult | None) -> dict[str, Any] | None:
    if arm is None:
        return None
    return {
        "model": arm.model,
        "prompt": arm.prompt_path,
        "passed": arm.passed,
        "samples": arm.samples,
        "failed_calls": arm.failed_calls,
        "fixtures_passed": arm.fixtures_passed,
        "fixtures": arm.fixtures,
        "success_rate": arm.success_rate,
        "interval": _interval(arm.interval),
        "latency_p95_ms": arm.latency_p95_ms,
        "cost_per_call_usd": arm.cost_per_call_usd,
        "intervals": _intervals(arm.intervals),
        "latency_interval": _interval(arm.latency_interval),
        "cost_interval": _interval(arm.cost_interval),
        "steps": step_documents(arm.steps),
    }


def _paired(paired: PairedResult | None) -> dict[str, Any] | None:
    if paired is None:
        return None
    return {
        "method": paired.method,
        "alpha": paired.alpha,
        "fixtures": paired.fixtures,
        "broke": paired.broke,
        "fixed": paired.fixed,
        "unknown": paired.unknown,
        "p_value": paired.p_value,
        "difference": paired.difference,
        "interval": _interval(paired.interval),
        "minimum_detectable_effect": paired.minimum_detectable_effect,
        "detectable_breaks": paired.detectable_breaks,
        "stopped": paired.stopped,
        "rounds": paired.rounds,
        "planned_rounds": paired.planned_rounds,
        "family": paired.family,
        "margin": paired.margin,
        "unmeasured": paired.unmeasured,
        "fixtures_needed": paired.fixtures_needed,
        "adjusted_p_value": paired.adjusted_p_value,
        "intervals": _intervals(paired.intervals),
        "alternative_methods": dict(paired.alternative_methods),
        "latency_difference_ms": _difference(paired.latency_difference_ms),
        "cost_difference_usd": _difference(paired.cost_difference_usd),
        "corrected_difference": _difference(paired.corrected_difference),
        "resources": [
            {
                "resource": found.resource,
                "base": found.base,
                "head": found.head,
                "relative_interval": _interval(found.interval),
            }
            for found in paired.resources
        ],
        "clusters": asdict(paired.clusters) if paired.clusters else None,
        "weights": dict(paired.weights),
        "scores": list(paired.scores) if paired.scores else None,
        "category": paired.category,
        "slices": [_paired(found) for found in paired.slices],
    }


def _difference(difference: Difference | None) -> dict[str, Any] | None:
    if difference is None:
        return None
    return {"value": difference.value, "interval": _interval(difference.interval)}


def error_budget_document(budget: ErrorBudget | None) -> dict[str, Any] | None:
    """Return an error budget in the form of the schema of result.json."""
    if budget is None:
        return None
    projected = budget.projected_burn_rate
    return {
        "objective": budget.objective,
        "window": budget.window,
        "events": budget.events,
        "budget": budget.budget,
        "spent": budget.spent,
        "left": budget.left,
        "state": budget.state,
        "freezes_at": budget.freezes_at,
        "burn_rate": dict(budget.burn_rate),
        "projected_burn_rate": None if projected is None else list(projected),
        "burning": list(budget.burning),
        "exhausted_at": _moment(budget.exhausted_at),
        "frozen_until": _moment(budget.frozen_until),
    }


def _moment(time: datetime | None) -> str | None:
    return None if time is None else time.astimezone(UTC).isoformat()


@dataclass(slots=True)
class _Outputs:
    """Each text of one fixture once, by arm; the first sample's in front."""

    base: list[str] = field(default_factory=list)
    head: list[str] = field(default_factory=list)

    def place(self, arm: Arm, text: str) -> int:
        texts = self.base if arm == "base" else self.head
        if text not in texts:
            texts.append(text)
        return texts.index(text)


def _fixture(fixture: FixtureResult) -> dict[str, Any]:
    outputs = _Outputs()
    if fixture.base_output is not None:
        outputs.place("base", fixture.base_output)
    if fixture.head_output is not None:
        outputs.place("head", fixture.head_output)
    return {
        "id": fixture.id,
        "category": fixture.category,
        "base": None if fixture.base is None else str(fixture.base),
        "head": None if fixture.head is None else str(fixture.head),
        "base_passed": fixture.base_passed,
        "head_passed": fixture.head_passed,
        "change": fixture.change,
        "p_value": fixture.p_value,
        "failures": _failures(fixture.failures, outputs),
        "warnings": _failures(fixture.warnings, outputs),
        "errors": list(fixture.errors),
        "outputs": {"base": outputs.base, "head": outputs.head},
        "duplicate_of": fixture.duplicate_of,
        "cluster": fixture.cluster,
        "quarantine": _quarantine(fixture.quarantine),
        "confirmation": _confirmation(fixture.confirmation),
    }


def _quarantine(held: Quarantine | None) -> dict[str, str] | None:
    return None if held is None else {"until": held.until, "owner": held.owner, "why": held.why}


def _failures(failures: Sequence[FixtureFailure], outputs: _Outputs) -> list[dict[str, Any]]:
    """Return each finding once, with its place in the text and how many samples have it."""
    found = Counter((f.arm, f.check, f.message, outputs.place(f.arm, f.output)) for f in failures)
    return [
        {"arm": arm, "check": check, "message": message, "output": output, "samples": samples}
        for (arm, check, message, output), samples in found.items()
    ]


def _interval(interval: ConfidenceInterval | None) -> list[float] | None:
    if interval is None or not (math.isfinite(interval.low) and math.isfinite(interval.high)):
        return None
    return [interval.low, interval.high]


def _intervals(intervals: Mapping[str, ConfidenceInterval]) -> dict[str, list[float] | None]:
    return {method: _interval(interval) for method, interval in intervals.items()}


def _finite(value: Any) -> Any:
    """Replace every number that JSON cannot hold by null."""
    if value is None or isinstance(value, str | int):  # most values
        return value
    if isinstance(value, Mapping):
        return {key: _finite(entry) for key, entry in value.items()}
    if isinstance(value, list):
        # A pair of bounds with one unknown bound says nothing.
        if any(isinstance(entry, float) and not math.isfinite(entry) for entry in value):
            return None
        return [_finite(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def step_documents(steps: Sequence[StepResult]) -> list[dict[str, Any]]:
    """Return the steps of an arm; nothing for a single prompt."""
    return [_document(step) for step in steps]


def _document(step: StepResult) -> dict[str, Any]:
    return {
        "name": step.name,
        "prompt": step.prompt_path,
        "passed": step.passed,
        "samples": step.samples,
        "pass_rate": step.rate,
        "broke_first": step.broke,
    }


def judge_agreement_document(found: JudgeAgreement) -> dict[str, Any]:
    """Return how far the judges of a check agree."""
    return {
        "contract": found.contract,
        "check": found.check,
        "judges": list(found.judges),
        "outputs": found.outputs,
        "agreed": found.agreed,
        "kappa": _estimate(found.kappa),
        "repeats": {judge: _estimate(kappa) for judge, kappa in found.repeats.items()},
    }


def _estimate(estimate: Estimate | None) -> dict[str, Any] | None:
    if estimate is None:
        return None
    interval = estimate.interval
    bounds = None if interval is None else [interval.low, interval.high]
    return {"value": estimate.value, "interval": bounds}


def calls_document(calls: Calls) -> dict[str, Any]:
    """Return how many calls were made and not made, and what providers say of their tokens."""
    return {
        "made": calls.made,
        "cached": calls.cached,
        "saved": calls.saved,
        "surplus": calls.surplus,
        "failed": calls.failed,
        "unrecorded": calls.unrecorded,
        "throttled": calls.throttled,
        "prompt_tokens": calls.prompt_tokens,
        "completion_tokens": calls.completion_tokens,
        "cached_tokens": calls.cached_tokens,
        "cache_write_tokens": calls.cache_write_tokens,
        "reasoning_tokens": calls.reasoning_tokens,
        "judge": _of_others(calls.judge),
        "user": _of_others(calls.user),
    }


def forecast_document(forecast: Forecast | None) -> dict[str, Any] | None:
    """Return what the run was forecast to take."""
    return None if forecast is None else asdict(forecast)


def _of_others(calls: JudgeCalls | None) -> dict[str, Any] | None:
    """Return the calls to judges or simulated users, and their cost for 100 samples."""
    if calls is None:
        return None
    return {**asdict(calls), "cost_per_100_samples_usd": calls.cost_per_100_samples}
