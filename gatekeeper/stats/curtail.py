"""Curtailment: stop as soon as no further outcome can change the decision.

It costs nothing in error rates, because the decision is the one the full sample would give.
"""

from __future__ import annotations

from typing import Literal

from gatekeeper.stats.arguments import require_count, require_inside
from gatekeeper.stats.mcnemar import mcnemar_exact

Certain = Literal["regressed", "not_regressed"]


def certain_decision(broke: int, fixed: int, unknown: int, alpha: float) -> Certain | None:
    """What the exact one-sided McNemar test will say at `alpha`, whatever the `unknown`
    fixtures turn out to be; None while that depends on them.

    The p-value falls with every fixture that breaks and rises with every one that is fixed,
    so the two extremes bound every completion. `regressed` means p <= alpha.
    """
    require_count("unknown", unknown)
    require_inside("alpha", alpha)
    if mcnemar_exact(broke, fixed + unknown) <= alpha:
        return "regressed"
    if mcnemar_exact(broke + unknown, fixed) > alpha:
        return "not_regressed"
    return None
