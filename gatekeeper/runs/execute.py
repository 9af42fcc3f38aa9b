"""Executes a run plan. Work that calls no model starts no client, reads no history, shows no
progress, and does not load what these take."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from gatekeeper.errors import UsageError
from gatekeeper.gate.pipeline import build_result, conclude_without_calls
from gatekeeper.gate.results.links import links_from
from gatekeeper.gate.results.result import GateResult
from gatekeeper.reports.markers import page_of
from gatekeeper.reports.redact import environment_redactor
from gatekeeper.runs.run_plan import RunPlan


def execute(plan: RunPlan) -> GateResult:
    """Measure the work and return its result, without the secrets of this process's environment.

    Raises:
        UsageError: A model cannot be called, one call alone can cost more than the limits allow, or
            the limit of the month is reached.
        MeasurementError: The work is not trusted and could spend more than the limits.
    """
    result = _executed(plan)
    kept = page_of(result.started, result.head_sha) if plan.keep else ""
    published = plan.work.policy.links
    return replace(result, links=links_from(os.environ, published, result.head_sha, kept))


def _executed(plan: RunPlan) -> GateResult:
    work = plan.work
    redact = environment_redactor()
    require_recording(plan.replay)
    notices = plan.notices
    if not work.trials:
        found = conclude_without_calls(work, plan.waivers, notices)
        if plan.explain:
            found = plan.explain(work, found).added_to(found)
        return redact.value(build_result(work, found))
    from gatekeeper.runs.measured_run import measure_and_keep  # loads models, history, statistics

    return measure_and_keep(plan, notices)


def require_recording(replay: Path | None) -> None:
    """Say at once that the file is not there, and not as the failure of every call."""
    if replay is None:
        return
    if not replay.exists():
        raise UsageError(
            f"--replay {replay}: the file does not exist; give the path of a samples.jsonl"
        )
    if replay.is_dir():
        raise UsageError(f"--replay {replay}: this is a folder; name the samples.jsonl in it")
