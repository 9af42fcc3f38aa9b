"""The result of one fixture on both arms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

from gatekeeper.contract.values.definition import Quarantine
from gatekeeper.contract.values.trial import Arm, Outcome

FixtureChange = Literal["broke", "fixed", "same"]
MustPassFinding = Literal["kept", "broke", "open", "unknown"]
"""`open`: it failed in some samples, which can be chance or cannot be compared; `unknown`: it
depends on samples that could not be measured."""


@dataclass(frozen=True, slots=True)
class Tally:
    """`passed` of `samples` measured outputs of one fixture and arm."""

    passed: int
    samples: int

    def __str__(self) -> str:
        return f"{self.passed}/{self.samples}"


class Unit(NamedTuple):
    """A fixture, or one check of a fixture."""

    fixture: str
    check: str | None = None

    def passed(self, outcome: Outcome) -> bool | None:
        """Return whether the fixture, or its check, passed in a sample."""
        if self.check is None:
            return outcome.passed
        return next((j.passed for j in outcome.check_results if j.check == self.check), None)


ConfirmedChange = Literal["broke", "fixed", "kept", "unknown"]
_CONFIRMED = {"broke": "broke", "fixed": "fixed", "kept": "by chance", "unknown": "not known"}


@dataclass(frozen=True, slots=True)
class Confirmation:
    """The fresh samples of a fixture, or of one of its checks, that seemed to have changed.

    `found` is what they show: `kept` if the change was chance, `unknown` if samples are missing.
    """

    base: Tally
    head: Tally
    found: ConfirmedChange

    def __str__(self) -> str:
        shown = f"again {self.base} → {self.head}" if self.base.samples else "not sampled again"
        return f"{shown}: {_CONFIRMED[self.found]}"


@dataclass(frozen=True, slots=True)
class BrokenFixtures:
    """What fresh samples show of the fixtures and checks that seemed to have changed.

    `level` is that of all of them together, `allowed` how many more may break than are fixed.
    `left_out` were not sampled again, because there were too many. `unrecorded` says that a
    recording has no fresh samples. `p_value` is given if repeated requests always get the same
    answer: each fixture then counts once, and its confirmation has its planned samples. `claimed`
    is False if only what must pass was sampled again. `maybe_fixed` may have been fixed, but that
    is not known. `ended` and `detail` say why samples are missing; None if nothing ended the run.
    """

    confirmations: Mapping[Unit, Confirmation]
    level: float
    allowed: int = 0
    claimed: bool = True
    left_out: int = 0
    maybe_fixed: int = 0
    unrecorded: bool = False
    p_value: float | None = None
    ended: str | None = None
    detail: str | None = None

    @property
    def fewest_found(self) -> int | None:
        """Return how many fixtures that always fail on head are found by their fresh samples; None
        if fresh samples are no evidence."""
        if not self.claimed or self.unrecorded or self.ended or self.p_value is not None:
            return None
        return self.allowed + 1

    def fixtures(self, found: ConfirmedChange) -> list[str]:
        """Return the fixtures of which the samples show this."""
        each = self.confirmations.items()
        return [unit.fixture for unit, c in each if unit.check is None and c.found == found]


@dataclass(frozen=True, slots=True)
class FixtureFailure:
    """A check that failed on a sample, maybe `tolerated`: the sample passed by its score."""

    arm: Arm
    check: str
    message: str
    output: str
    tolerated: bool = False


@dataclass(frozen=True, slots=True)
class FixtureResult:
    """One fixture on both arms. `change` is None if an arm's outcome is not known, or the fixture
    is quarantined.

    `errors` are messages of calls that failed; `failures` the failing error-severity checks,
    `warnings` the other failing ones. The two outputs are the first sample of each arm. `input` and
    `wanted` are the variables and `expected` as text, only of fixtures that fail on head.
    """

    id: str
    category: str | None
    base: Tally | None
    head: Tally | None
    base_passed: bool | None
    head_passed: bool | None
    change: FixtureChange | None
    p_value: float | None = None
    failures: tuple[FixtureFailure, ...] = ()
    warnings: tuple[FixtureFailure, ...] = ()
    errors: tuple[str, ...] = ()
    base_output: str | None = None
    head_output: str | None = None
    duplicate_of: str | None = None
    input: str | None = None
    wanted: str | None = None
    cluster: str | None = None
    confirmation: Confirmation | None = None
    quarantine: Quarantine | None = None


@dataclass(frozen=True, slots=True)
class MustPassResult:
    """A fixture with `must_pass`, or a check with it on one fixture. `confirmation` has the fresh
    samples, if it seemed to have broken."""

    fixture: str
    check: str | None
    base: Tally | None
    head: Tally
    found: MustPassFinding
    confirmation: Confirmation | None = None
