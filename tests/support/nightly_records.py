"""Records of runs on the default branch, made up night by night.

records = nights(20, fixtures=30, rate=0.9)
records += nights(10, fixtures=30, rate=0.5, start=20)
"""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import Any

from gatekeeper.history.record import Record, fixture_key

FIRST = datetime(2026, 1, 1, 3, tzinfo=UTC)


def night(number: int, failed: dict[str, int], samples: int = 1, **fields: Any) -> Record:
    """One run; `failed` says how many of each fixture's samples failed."""
    events = samples * len(failed)
    defaults = {
        "id": f"{fields.get('contract', 'words')}-{number}",
        "time": FIRST + timedelta(days=number),
        "trigger": "schedule",
        "sha": f"{number:040x}",
        "contract": "words",
        "model": "openai/gpt-4o-mini",
        "version": "0.1.0",
        "samples": events,
        "failed": sum(failed.values()),
        "interval": None,
        "calls": events,
        "failed_calls": 0,
        "prompt_digest": "p1",
        "contract_digest": "c1",
        "fixtures": {fixture_key(name): (samples, n) for name, n in failed.items()},
    }
    return Record(**(defaults | fields))


def nights(
    count: int, *, fixtures: int = 30, rate: float = 0.9, start: int = 0, seed: int = 1, **fields
) -> list[Record]:
    """That many nights, each fixture passing with the chance `rate`."""
    rng = random.Random(seed + start)  # noqa: S311
    return [
        night(number, {f"f{i}": int(rng.random() >= rate) for i in range(fixtures)}, **fields)
        for number in range(start, start + count)
    ]
