"""Fixtures and checks with `must_pass: true`: each is decided separately, whatever the suite shows.

One that seems to have broken is sampled again (confirmation.py), so that one that flickers
holds up no change. Without a base there is nothing to compare: one that fails in every sample is
broken.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gatekeeper.contract.values.definition import Contract
from gatekeeper.contract.values.trial import Arm, Outcome
from gatekeeper.gate.results.parts import (
    BrokenFixtures,
    MustPassFinding,
    MustPassResult,
    Tally,
    Unit,
)


def must_pass_units(contract: Contract) -> tuple[Unit, ...]:
    """Return each fixture that must pass, and each check that must pass with each of its
    fixtures."""
    return tuple(_units(contract))


def must_pass_results(
    contract: Contract,
    outcomes: Sequence[Outcome],
    broken: BrokenFixtures | None,
    *,
    complete: bool,
) -> tuple[MustPassResult, ...]:
    """Return the result of each unit.

    Args:
        contract: The contract.
        outcomes: The planned samples.
        broken: What fresh samples show; None if there are none, because there is no base or head is
            worse anyway.
        complete: Whether every sample that is planned should be there. What is missing then counts
            as unknown; otherwise sampling ended before, and only the samples taken count.
    """
    planned = contract.sampling.samples if complete else None
    results = (_result(unit, outcomes, broken, planned) for unit in _units(contract))
    return tuple(result for result in results if result is not None)


def _units(contract: Contract) -> Iterator[Unit]:
    for fixture in contract.fixtures:
        if fixture.quarantine:
            continue
        if fixture.must_pass:
            yield Unit(fixture.id)
        for spec in contract.checks_for(fixture):
            if spec.must_pass:
                yield Unit(fixture.id, spec.name)


def _result(
    unit: Unit, outcomes: Sequence[Outcome], broken: BrokenFixtures | None, planned: int | None
) -> MustPassResult | None:
    own = [o for o in outcomes if o.sample.trial.fixture == unit.fixture]
    # A fixture that the base prompt cannot take has no base arm; it is not one that was lost.
    compared = any(o.sample.trial.arm == "base" for o in own)
    base, head = _tally(unit, own, "base"), _tally(unit, own, "head")
    most = max(head.samples, base.samples if compared else 0) if planned is None else planned
    if not most:
        return None
    confirmed = broken.confirmations.get(unit) if broken else None
    found = confirmed.found if confirmed else None
    finding: MustPassFinding
    if found in ("broke", "unknown"):
        finding = "broke" if found == "broke" else "unknown"
    elif head.samples and head.passed == head.samples:
        finding = "kept"
    elif not head.passed and not compared:
        finding = "broke" if head.samples == most else "unknown"
    else:
        finding = "open" if head.samples else "unknown"
    fresh = confirmed if broken and broken.p_value is None else None
    return MustPassResult(
        unit.fixture, unit.check, base if compared else None, head, finding, fresh
    )


def _tally(unit: Unit, outcomes: Sequence[Outcome], arm: Arm) -> Tally:
    flags = [unit.passed(o) for o in outcomes if o.sample.trial.arm == arm]
    known = [flag for flag in flags if flag is not None]
    return Tally(sum(known), len(known))
