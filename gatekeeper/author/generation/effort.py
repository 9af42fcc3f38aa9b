"""How much a generation spends: the number of tests, and what is done to improve them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Effort:
    """What a level of effort means. `rates` has a model review the whole collection: tests with
    the same intent are dropped, and missing kinds are written. `expands` makes inputs longer."""

    tests_per_rule: int
    rates: bool = False
    expands: bool = False

    def calls(self, rules: int, scenarios: int) -> int:
        """Return the fewest calls that write and improve the tests of so many rules."""
        return rules * ((scenarios or 1) + self.expands) + self.rates

    def is_less_than(self, other: Effort) -> bool:
        """Return whether this effort does less than the other, and nothing that the other does
        not."""
        pairs = (
            (self.tests_per_rule, other.tests_per_rule),
            (self.rates, other.rates),
            (self.expands, other.expands),
        )
        return self != other and all(mine <= theirs for mine, theirs in pairs)


EFFORTS: Mapping[str, Effort] = {
    "min": Effort(1),
    "low": Effort(3),
    "medium": Effort(3, rates=True),
    "high": Effort(5, rates=True, expands=True),
}
DEFAULT = "low"
MOST_BASELINE_TESTS = 200
"""That one run writes."""
