"""The values of other implementations in tests/reference, and how tests read them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from gatekeeper.stats.interval import ConfidenceInterval

REFERENCE = json.loads((Path(__file__).parent / "reference" / "statistics.json").read_text("utf-8"))


def cases(group: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = REFERENCE[group]["cases"]
    return found


def ends(interval: ConfidenceInterval) -> tuple[float, float]:
    return (interval.low, interval.high)
