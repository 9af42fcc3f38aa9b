"""Tries settings and judges: asks models for a sweep or a calibration."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from gatekeeper.contract.policies.policy import Policy
from gatekeeper.contract.values.change import Revision
from gatekeeper.contract.values.definition import Contract
from gatekeeper.contract.values.trial import Request
from gatekeeper.gate.calibration.measure import CalibrationPlan, CalibrationRun, grade_labels
from gatekeeper.gate.sweep.compare import SweepResult, summarise_sweep
from gatekeeper.gate.sweep.grid import Setting
from gatekeeper.gate.sweep.measure import Measured, measure_sweep
from gatekeeper.providers.models.cost_estimate import worst_cost
from gatekeeper.reports.terminal.progress import TerminalProgress
from gatekeeper.runs.execute import require_recording
from gatekeeper.runs.models import free_price, open_models, require_known_models
from gatekeeper.runs.signals import with_signals


def sweep(
    contract: Contract,
    settings: Sequence[Setting],
    policy: Policy,
    revision: Revision,
    replay: Path | None = None,
) -> SweepResult:
    """Try a contract under each of the settings. SIGINT and SIGTERM end it."""
    require_recording(replay)
    client = open_models((revision,), policy.through_litellm, replay)

    async def within(progress: TerminalProgress, stop: asyncio.Event) -> Measured:
        await client.require_keys(dict.fromkeys(setting.target.model for setting in settings))
        price = free_price if replay else worst_cost
        if not replay:
            await asyncio.to_thread(_load_prices, settings, policy)
        return await measure_sweep(
            contract, settings, client, policy.limits, progress=progress, stop=stop, price=price
        )

    return summarise_sweep(contract, settings, asyncio.run(with_signals(client, within)))


def _load_prices(settings: Sequence[Setting], policy: Policy) -> None:
    """Load the price list before the first call."""
    if policy.limits.cost_usd is not None:
        for model in {setting.target.model for setting in settings}:
            worst_cost(Request(model, (), {}, None, 0))


def calibrate(
    plan: CalibrationPlan, policy: Policy, revision: Revision, replay: Path | None = None
) -> CalibrationRun:
    """Grade the labelled outputs. SIGINT and SIGTERM end it. Raises UsageError and
    ContractError."""
    require_recording(replay)
    if replay is None:
        require_known_models(plan.evaluator.judge_models, [revision])
    client = open_models((revision,), policy.through_litellm, replay)

    async def within(progress: TerminalProgress, stop: asyncio.Event) -> CalibrationRun:
        await client.require_keys(dict.fromkeys(sorted(plan.models)))
        price = free_price if replay else worst_cost
        return await grade_labels(
            plan, client, policy.limits, progress=progress, stop=stop, price=price
        )

    return asyncio.run(with_signals(client, within))
