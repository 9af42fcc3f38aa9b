"""Tries one contract under several settings in this process."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gatekeeper.runs.models import free_price, open_models, require_recording

if TYPE_CHECKING:
    import asyncio

    from gatekeeper.contract.policies.policy import Policy
    from gatekeeper.contract.values.change import Revision
    from gatekeeper.contract.values.definition import Contract
    from gatekeeper.gate.sweep.compare import SweepResult
    from gatekeeper.gate.sweep.grid import Setting
    from gatekeeper.gate.sweep.measure import Measured
    from gatekeeper.reports.terminal.progress import TerminalProgress


def sweep(
    contract: Contract,
    settings: Sequence[Setting],
    policy: Policy,
    revision: Revision,
    replay: Path | None = None,
) -> SweepResult:
    """Try a contract under each of the settings. SIGINT and SIGTERM end it."""
    import asyncio

    from gatekeeper.gate.sweep.compare import summarise_sweep
    from gatekeeper.gate.sweep.measure import measure_sweep
    from gatekeeper.providers.models.cost_estimate import worst_cost

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

    from gatekeeper.runs.signals import with_signals

    return summarise_sweep(contract, settings, asyncio.run(with_signals(client, within)))


def _load_prices(settings: Sequence[Setting], policy: Policy) -> None:
    """Load the price list before the first call."""
    from gatekeeper.contract.values.trial import Request
    from gatekeeper.providers.models.cost_estimate import worst_cost

    if policy.limits.cost_usd is not None:
        for model in {setting.target.model for setting in settings}:
            worst_cost(Request(model, (), {}, None, 0))
