"""The result of one fixture on both arms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from gatekeeper.contract.trial import Arm

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
    """One fixture on both arms. `change` is None if an arm's outcome is not known.

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


@dataclass(frozen=True, slots=True)
class MustPassResult:
    """A fixture with `must_pass`, or a check with it on one fixture.

    `p_value` is that of Fisher's exact test that head got worse; None if there is no base.
    """

    fixture: str
    check: str | None
    base: Tally | None
    head: Tally
    p_value: float | None
    found: MustPassFinding
