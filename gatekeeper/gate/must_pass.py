"""Fixtures and checks with `must_pass: true`: each is decided separately, whatever the suite shows.

One that fails in every sample on head is broken without a test, unless it passed none on base
either: the change did not break it. One that fails in some samples is compared with base by
Fisher's exact test. Unmeasured samples are read twice, as favourable to head and as unfavourable:
only the favourable reading can find it broken.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from gatekeeper.contract.definition import Contract
from gatekeeper.contract.trial import Arm, Outcome
from gatekeeper.gate.alpha import must_pass_level
from gatekeeper.gate.fixture_result import MustPassFinding, MustPassResult, Tally
from gatekeeper.stats.fisher import fisher_exact
from gatekeeper.stats.multiple import holm


class Unit(NamedTuple):
    """A fixture that must pass, or one check of a fixture."""

    fixture: str
    check: str | None = None

    def passed(self, outcome: Outcome) -> bool | None:
        if self.check is None:
            return outcome.passed
        return next((j.passed for j in outcome.check_results if j.check == self.check), None)


def must_pass_units(contract: Contract) -> tuple[Unit, ...]:
    """Return each fixture that must pass, and each check that must pass with each of its
    fixtures."""
    return tuple(_units(contract))


def must_pass_results(
    contract: Contract,
    outcomes: Sequence[Outcome],
    level: float | None,
    *,
    complete: bool,
) -> tuple[MustPassResult, ...]:
    """Return the result of each unit.

    Args:
        level: That of the suite's comparison; None if nothing is compared.
        complete: Whether every sample that is planned should be there. What is missing then counts
            as unknown; otherwise sampling ended before, and only the samples taken count.
    """
    planned = contract.sampling.samples if complete else None
    counts = [_count(unit, outcomes, planned) for unit in _units(contract)]
    counts = [count for count in counts if count.planned]
    own = None if level is None else must_pass_level(contract, level)
    kindly = _broken([count.p_value(harshly=False) for count in counts], own)
    harshly = _broken([count.p_value(harshly=True) for count in counts], own)
    return tuple(
        MustPassResult(
            fixture=count.unit.fixture,
            check=count.unit.check,
            base=count.base,
            head=count.head,
            p_value=count.p_value(harshly=False) if count.base else None,
            found=count.found(kindly=kind, harshly=harsh),
        )
        for count, kind, harsh in zip(counts, kindly, harshly, strict=True)
    )


class _Count(NamedTuple):
    """How often a unit passed; `planned` is how many samples each arm should have."""

    unit: Unit
    base: Tally | None
    head: Tally
    planned: int

    def p_value(self, *, harshly: bool) -> float:
        """Return the p-value that head got worse; 1 without a base.

        `harshly` counts unknown samples as failed on head and as passed on base.
        """
        if self.base is None:
            return 1.0
        head, base = self.head.passed, self.base.passed
        if harshly:
            base += self.planned - self.base.samples
        else:
            head += self.planned - self.head.samples
        return fisher_exact(base, self.planned, head, self.planned)

    def found(self, *, kindly: bool, harshly: bool) -> MustPassFinding:
        lost = self.planned - self.head.samples
        if kindly:
            return "broke"
        if not self.head.passed and self.base and self.base.samples and not self.base.passed:
            return "open" if self.base.samples == self.planned else "unknown"
        if not self.head.passed and not lost:
            return "broke"
        if harshly or (not self.head.passed and lost):
            return "unknown"
        return "kept" if self.head.passed == self.head.samples else "open"


def _units(contract: Contract) -> Iterator[Unit]:
    for fixture in contract.fixtures:
        if fixture.must_pass:
            yield Unit(fixture.id)
        for spec in contract.checks_for(fixture):
            if spec.must_pass:
                yield Unit(fixture.id, spec.name)


def _count(unit: Unit, outcomes: Sequence[Outcome], planned: int | None) -> _Count:
    own = [o for o in outcomes if o.sample.trial.fixture == unit.fixture]
    # A fixture that the base prompt cannot take has no base arm; it is not one that was lost.
    compared = any(o.sample.trial.arm == "base" for o in own)
    base, head = _tally(unit, own, "base"), _tally(unit, own, "head")
    most = max(head.samples, base.samples if compared else 0)
    return _Count(unit, base if compared else None, head, most if planned is None else planned)


def _tally(unit: Unit, outcomes: Sequence[Outcome], arm: Arm) -> Tally:
    flags = [unit.passed(o) for o in outcomes if o.sample.trial.arm == arm]
    known = [flag for flag in flags if flag is not None]
    return Tally(sum(known), len(known))


def _broken(p_values: Sequence[float], level: float | None) -> Sequence[bool]:
    return holm(p_values, level).rejected if level else [False] * len(p_values)
