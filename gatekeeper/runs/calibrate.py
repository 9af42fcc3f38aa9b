"""Asks the judges of one contract about labelled outputs, in this process."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from gatekeeper.runs.models import (
    free_price,
    open_models,
    require_known_models,
    require_recording,
)

if TYPE_CHECKING:
    import asyncio

    from gatekeeper.contract.policies.policy import Policy
    from gatekeeper.contract.values.change import Revision
    from gatekeeper.gate.calibration.measure import CalibrationPlan, CalibrationRun
    from gatekeeper.reports.terminal.progress import TerminalProgress


def calibrate(
    plan: CalibrationPlan, policy: Policy, revision: Revision, replay: Path | None = None
) -> CalibrationRun:
    """Grade the labelled outputs. SIGINT and SIGTERM end it. Raises UsageError and
    ContractError."""
    import asyncio

    from gatekeeper.gate.calibration.measure import grade_labels
    from gatekeeper.providers.models.cost_estimate import worst_cost
    from gatekeeper.runs.signals import with_signals

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
