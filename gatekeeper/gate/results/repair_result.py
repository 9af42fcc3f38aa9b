"""The results for repairs: part of `result`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from gatekeeper.contract.values.definition import RepairAction

RepairFinding = Literal["worse", "kept", "unknown", "untested"]
"""`worse`: head needs repairs significantly more often than base; `unknown`: that depends on calls
that failed; `untested`: nothing was compared, or sampling ended early where the test gates."""


@dataclass(frozen=True, slots=True)
class Passed:
    """`passed` of `measured` samples."""

    passed: int
    measured: int

    @property
    def rate(self) -> float | None:
        """Return the share that passed; None if nothing was measured."""
        return self.passed / self.measured if self.measured else None


@dataclass(frozen=True, slots=True)
class RepairTally:
    """The repairs of one arm, in samples.

    `repaired` of `answered` needed a repair. It changed the meaning of `changed`, and for `unknown`
    it is not known whether it did. `steps` counts the samples that each step changed. `by_depth`
    says how many samples pass if only their first 0, 1, 2 … repairs are applied.
    """

    answered: int
    repaired: int
    changed: int
    unknown: int
    steps: Mapping[str, int] = field(default_factory=dict)
    by_depth: tuple[Passed, ...] = ()

    @property
    def rate(self) -> float | None:
        """Return the share of answers that needed a repair."""
        return self.repaired / self.answered if self.answered else None

    @property
    def changed_rate(self) -> float | None:
        """Return the share of answers whose meaning a repair changed for certain."""
        return self.changed / self.answered if self.answered else None


@dataclass(frozen=True, slots=True)
class RepairResult:
    """The repairs of both arms, and whether head needs more of them.

    `p_value` is the one-sided p-value of the sign-flip test over the distinct inputs, or clusters
    of them, to be compared with `level`; None if nothing was compared.
    """

    action: RepairAction
    base: RepairTally | None
    head: RepairTally
    p_value: float | None
    level: float | None
    found: RepairFinding
