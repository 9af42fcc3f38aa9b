"""Records of past runs, as values and as lines of a history."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from itertools import count
from typing import Any

from gatekeeper.history.record import Record
from gatekeeper.stats.interval import ConfidenceInterval

STARTED = datetime(2026, 11, 3, 10, 15, tzinfo=UTC)
_NUMBERS = count(1)


def record(name: str = "", **changes: Any) -> Record:
    """Twenty samples of the contract `tag`, two of which failed."""
    fields: dict[str, Any] = {
        "id": name or f"record-{next(_NUMBERS):06}",
        "time": STARTED,
        "trigger": "push",
        "sha": "a" * 40,
        "contract": "tag",
        "model": "openai/gpt-4o-mini",
        "version": "0.1.0",
        "samples": 20,
        "failed": 2,
        "interval": ConfidenceInterval(0.7, 0.97),
        "calls": 21,
        "failed_calls": 1,
    }
    return Record(**(fields | changes))


def line(**changes: Any) -> str:
    """A record as the format has it, with fields of whatever value; without a line end."""
    fields: dict[str, Any] = {
        "schema": 1,
        "id": f"line-{next(_NUMBERS):06}",
        "time": STARTED.isoformat(),
        "trigger": "push",
        "sha": "a" * 40,
        "contract": "tag",
        "model": "openai/gpt-4o-mini",
        "version": "0.1.0",
        "samples": 5,
        "failed": 1,
        "interval": {"low": 0.5, "high": 0.9},
        "calls": 5,
        "failed_calls": 0,
    }
    return json.dumps(fields | changes)
