"""The values of other implementations in tests/reference, and how tests read them."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from gatekeeper.stats.interval import ConfidenceInterval


def cases(group: str, document: str = "statistics") -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = _read(document)[group]["cases"]
    return found


def ends(interval: ConfidenceInterval) -> tuple[float, float]:
    return (interval.low, interval.high)


@cache
def _read(document: str) -> dict[str, Any]:
    path = Path(__file__).parents[1] / "reference" / f"{document}.json"
    found: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return found
