"""Compares the results of two runs that were given the same answers."""

from __future__ import annotations

from typing import Any


def without_time_and_calls(value: Any) -> Any:
    """What a result says, without what each run has of its own."""
    if isinstance(value, dict):
        own = ("started", "seconds", "calls", "cost_usd", "latency", "notices", "duration")
        return {
            key: without_time_and_calls(inner)
            for key, inner in value.items()
            if not key.startswith(own)
        }
    return [without_time_and_calls(inner) for inner in value] if isinstance(value, list) else value
