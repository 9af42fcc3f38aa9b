"""What result.json says of the calls of a run, and of their forecast."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from gatekeeper.gate.call_result import Calls, Forecast, JudgeCalls


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
