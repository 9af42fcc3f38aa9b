"""What is known of the quality of a specification and its tests, as frozen values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gatekeeper.author.quality.agreement import Agreement
from gatekeeper.author.quality.ground_truth import Proposals
from gatekeeper.author.specification.records import Lines


@dataclass(frozen=True, slots=True)
class RuleQuality:
    """A rule, and whether it follows from its lines; None if unknown. `left_out` if it is not in
    the specification any more."""

    id: str
    text: str
    lines: Lines
    grounded: bool | None
    reason: str = ""
    left_out: bool = False


@dataclass(frozen=True, slots=True)
class TestQuality:
    """A test, and whether it is valid; None if unknown. `rule` is empty for a test of no rule."""

    __test__ = False

    id: str
    category: str
    rule: str
    valid: bool | None
    reason: str = ""
    by_person: bool = False
    left_out: bool = False


@dataclass(frozen=True, slots=True)
class Tally:
    """Of `total` items, `good` are as they should be and `bad` are not. The others are unknown."""

    good: int
    bad: int
    total: int

    @property
    def unknown(self) -> int:
        """Return of how many nothing is known."""
        return self.total - self.good - self.bad


@dataclass(frozen=True, slots=True)
class Coverage:
    """Of `rules`, how many have a test that is valid, and whose inverses do; `both` have both."""

    rules: int
    rule: int
    inverse: int
    both: int


@dataclass(frozen=True, slots=True)
class QualityReport:
    """All that a run found. `rules` and `tests` are None if they were not checked, `agreement` and
    `proposals` if they were not asked for. `unusable` answers of the judges had no vote."""

    prompt: str
    judges: tuple[str, ...]
    rules: tuple[RuleQuality, ...] | None = None
    tests: tuple[TestQuality, ...] | None = None
    agreement: Agreement | None = None
    proposals: Proposals | None = None
    unusable: int = 0
    own_judge: bool = False

    @property
    def groundedness(self) -> Tally:
        """Return how many rules follow from their lines."""
        return tally([rule.grounded for rule in self.rules or ()])

    def validity(self, category: str) -> Tally:
        """Return how many tests of a category are valid."""
        return tally([test.valid for test in self.tests or () if test.category == category])

    @property
    def categories(self) -> tuple[str, ...]:
        """Return the categories of the tests, in the order of the file."""
        return tuple(dict.fromkeys(test.category for test in self.tests or ()))

    @property
    def coverage(self) -> Coverage:
        """Return how many rules that are left have valid tests."""
        valid = {(t.rule, t.category) for t in self.tests or () if t.valid and not t.left_out}
        left = [rule.id for rule in self.rules or () if not rule.left_out]
        own = {name for name in left if (name, "rule") in valid}
        inverse = {name for name in left if (name, "inverse_rule") in valid}
        return Coverage(len(left), len(own), len(inverse), len(own & inverse))

    @property
    def uncovered(self) -> tuple[str, ...]:
        """Return the rules that are left of which no test is valid."""
        valid = {test.rule for test in self.tests or () if test.valid and not test.left_out}
        return tuple(r.id for r in self.rules or () if not r.left_out and r.id not in valid)


def tally(answers: Sequence[bool | None]) -> Tally:
    """Count answers."""
    good = sum(answer is True for answer in answers)
    return Tally(good, sum(answer is False for answer in answers), len(answers))
