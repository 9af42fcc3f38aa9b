"""Sorts contracts, reasons and fixtures for a reader, the worst of each first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gatekeeper.contract.values.trial import Arm
from gatekeeper.gate.decision.fixture_reasons import has_broken
from gatekeeper.gate.results.parts import FixtureResult, Tally
from gatekeeper.gate.results.result import ContractResult, Reason, Verdict
from gatekeeper.reports.words.comparison_text import is_significant

_SEVERITY: dict[Verdict, int] = {"fail": 0, "error": 1, "inconclusive": 2, "pass": 3}
_PROVEN = 0.05
"""A fixture's own p-value, adjusted over the fixtures, at which its change is beyond chance."""


def by_severity(contracts: Sequence[ContractResult]) -> tuple[ContractResult, ...]:
    """Sort contracts, the worst first; among equals those that are proven worse, then those
    of which a fixture broke, then the largest drop."""
    return tuple(sorted(contracts, key=_contract_rank))


def worst_reasons(contract: ContractResult) -> tuple[Reason, ...]:
    """Sort reasons, the worst first. That too few fixtures prove little comes last among equals."""
    return tuple(sorted(contract.reasons, key=lambda r: (_SEVERITY[r.verdict], r.code == "unseen")))


def worst_verdict(reasons: Sequence[Reason]) -> Verdict:
    """Return the verdict of the worst reason; there must be one."""
    return min((reason.verdict for reason in reasons), key=_SEVERITY.__getitem__)


def by_loss(fixtures: Iterable[FixtureResult], arm: Arm = "head") -> tuple[FixtureResult, ...]:
    """Sort fixtures: proven losses first, then the largest losses on `arm` against the other, then
    the lowest pass rates on it; otherwise in the contract's order."""
    return tuple(sorted(fixtures, key=lambda fixture: _fixture_rank(fixture, arm)))


def broken_fixtures(contract: ContractResult) -> tuple[FixtureResult, ...]:
    """Return the fixtures that broke, the worst first."""
    return by_loss(f for f in contract.fixtures if f.change == "broke")


def failing_fixtures(contract: ContractResult) -> tuple[FixtureResult, ...]:
    """Return the other fixtures that fail on head, the worst first."""
    return by_loss(
        f
        for f in contract.fixtures
        if f.head_passed is False and not f.quarantine and f.change != "broke"
    )


def is_proven(fixture: FixtureResult) -> bool:
    """Return whether the fixture's own test shows that it got worse."""
    return fixture.p_value is not None and fixture.p_value <= _PROVEN


def _contract_rank(contract: ContractResult) -> tuple[int, bool, bool, float, str]:
    paired = contract.paired
    worse = paired is not None and is_significant(paired)
    difference = paired.difference if paired and paired.difference is not None else 0.0
    broke = any(map(has_broken, contract.fixtures)) if paired else False
    return _SEVERITY[contract.verdict], not worse, not broke, difference, contract.name


def _fixture_rank(fixture: FixtureResult, arm: Arm) -> tuple[bool, float, float]:
    base, head = rate(fixture.base), rate(fixture.head)
    lost, won = (head, base) if arm == "head" else (base, head)
    return not is_proven(fixture), lost - won, lost


def rate(tally: Tally | None) -> float:
    """Return the share of samples that passed; 0 without one."""
    return tally.passed / tally.samples if tally and tally.samples else 0.0
