"""What judges prefer, as a part of `result.json`."""

from __future__ import annotations

from typing import Any

from gatekeeper.gate.results.preference_result import PreferenceResult
from gatekeeper.stats.estimate import Estimate


def preference_document(found: PreferenceResult) -> dict[str, Any]:
    """Return the result of one comparison in pairs."""
    return {
        "check": found.check,
        "judges": list(found.judges),
        "pairs": found.pairs,
        "base_preferred": found.base_preferred,
        "head_preferred": found.head_preferred,
        "tied": found.tied,
        "unmeasured": found.unmeasured,
        "contradictory": _estimate(found.contradictory),
        "for_first": _estimate(found.for_first),
        "difference": found.difference,
        "p_value": found.p_value,
        "level": found.level,
        "worse": found.worse,
        "stopped": found.stopped,
    }


def _estimate(found: Estimate | None) -> dict[str, Any] | None:
    if found is None:
        return None
    ends = found.interval
    return {"value": found.value, "interval": None if ends is None else [ends.low, ends.high]}
