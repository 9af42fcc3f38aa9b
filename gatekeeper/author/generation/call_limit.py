"""Stops a run that its limit of calls would end anyway, before it pays for its tests."""

from __future__ import annotations

from gatekeeper.author.generation.ask import Asker
from gatekeeper.contract.policies.policy import POLICY_PATH
from gatekeeper.errors import MeasurementError
from gatekeeper.numbers import count


class TooFewCalls(MeasurementError):
    """The limit of calls leaves fewer than the rules need. `what` says how many each is."""

    def __init__(self, what: str) -> None:
        super().__init__(f"{what}; raise `limits.calls` in {POLICY_PATH}")
        self.what = what


def require_calls(asker: Asker, needed: int, rules: int) -> None:
    """Raise TooFewCalls if the limit leaves fewer calls than so many rules need."""
    left = asker.calls_left
    if left is not None and left < needed:
        raise TooFewCalls(
            f"{count(rules, 'rule')} would need at least {count(needed, 'more call')}, but "
            f"the limit on calls allows only {left:,} more"
        )
