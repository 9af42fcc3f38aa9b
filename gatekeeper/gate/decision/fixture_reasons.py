"""Finds reasons in single fixtures, independent of the comparison of the suite. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from gatekeeper import numbers
from gatekeeper.gate.results.fixture_result import (
    FixtureResult,
    MustPassFinding,
    MustPassResult,
    Tally,
)
from gatekeeper.gate.results.result import ArmResult, Reason, Verdict

MOST_NAMES = 5


def nothing_passes_reasons(fixtures: Sequence[FixtureResult]) -> list[Reason]:
    """Return the reason for a suite in which no fixture passes on head.

    This needs no test: such a prompt, or such a contract, is not ready. If lost calls could have
    passed, it is `error`.
    """
    failed = sum(fixture.head_passed is False for fixture in fixtures)
    if not failed or any(fixture.head_passed for fixture in fixtures):
        return []
    found = f"No fixture passes on head: {failed:,} of {failed:,} measured fixtures fail"
    lost = sum(fixture.head_passed is None and bool(fixture.errors) for fixture in fixtures)
    if lost:
        text = f"{found}; {lost:,} could not be measured{commonest_error(fixtures)}."
        return [Reason("nothing_passes", text, "error")]
    return [Reason("nothing_passes", f"{found}.", "fail")]


def commonest_error(fixtures: Sequence[FixtureResult]) -> str:
    """Return why most samples could not be measured, after a colon; empty if all were."""
    errors = Counter(error for fixture in fixtures for error in fixture.errors)
    return f": {errors.most_common(1)[0][0]}" if errors else ""


def tolerance_reasons(
    tolerance: float | None, head: ArmResult, fixtures: Sequence[FixtureResult]
) -> list[Reason]:
    """Return the reason for PCSL's tau: the share of fixtures that must pass after aggregation."""
    inputs = sum(fixture.duplicate_of is None for fixture in fixtures)
    if tolerance is None or not inputs:
        return []
    best = head.fixtures_passed + inputs - head.fixtures
    counts = f"{head.fixtures_passed:,} of {numbers.count(inputs, 'fixture')} pass"
    required = f"the contract requires {numbers.percent(tolerance)}"
    if best / inputs < tolerance:
        return [Reason("tolerance", f"{counts}, but {required}.", "fail")]
    if head.fixtures_passed / inputs < tolerance:
        text = f"{counts}, and {inputs - head.fixtures} could not be measured"
        return [Reason("error", f"{text}; {required}.", "error")]
    return []


def must_pass_reasons(results: Sequence[MustPassResult]) -> list[Reason]:
    """Return the reasons of `must_pass`.

    A failure that fresh samples do not confirm is named and does not block.
    """
    reasons = []
    for found, verdict, text in _MUST_PASS:
        units = [_unit(r) for r in results if r.found == found and not _failed_before(r)]
        if units:
            reasons.append(Reason("must_pass", f"{text}: {_some(units)}.", verdict))
    before = [_unit(r) for r in results if _failed_before(r)]
    if before:
        text = f"{_MUST} fail on head, but also fail on base: {_some(before)}."
        reasons.append(Reason("must_pass", text, "pass"))
    return reasons


def _failed_before(result: MustPassResult) -> bool:
    """Return whether nothing passed on either side, so that the change did not break it."""
    if result.found != "open" or result.base is None:
        return False
    return not result.head.passed and not result.base.passed


_MUST = "Fixtures or checks with `must_pass: true`"
_MUST_PASS: tuple[tuple[MustPassFinding, Verdict, str], ...] = (
    ("broke", "fail", f"{_MUST} fail on head"),
    ("unknown", "error", f"{_MUST} cannot be evaluated, because samples are missing"),
    ("open", "pass", f"{_MUST} failed in some samples, but not significantly more often"),
)


def significantly_broken(fixtures: Sequence[FixtureResult]) -> str:
    """Return the fixtures that broke for certain; empty if there are none."""
    broken = [
        _change(fixture.id, fixture.base, fixture.head)
        for fixture in fixtures
        if fixture.head and has_broken(fixture)
    ]
    return _some(broken)


def has_broken(fixture: FixtureResult) -> bool:
    """Return whether fresh samples show that the fixture broke, or, without any, whether it passed
    every sample on base and none on head. Every report must name it. One in quarantine flickers, so
    it shows nothing."""
    if fixture.quarantine:
        return False
    if fixture.confirmation:
        return fixture.confirmation.found == "broke"
    base, head = fixture.base, fixture.head
    if base is None or head is None:
        return False
    return 0 < base.samples == base.passed and 0 == head.passed < head.samples


def _unit(result: MustPassResult) -> str:
    check = f", check `{result.check}`" if result.check else ""
    fresh = f", {result.confirmation}" if result.confirmation else ""
    return f"{_change(result.fixture, result.base, result.head)}{check}{fresh}"


def _change(fixture: str, base: Tally | None, head: Tally) -> str:
    before = f"{base} → " if base and base.samples else ""
    return f"`{fixture}` ({before}{head})"


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_NAMES:,} more" if len(names) > MOST_NAMES else ""
    return "; ".join(names[:MOST_NAMES]) + more
