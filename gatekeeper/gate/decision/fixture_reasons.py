"""Finds reasons in single fixtures, independent of the comparison of the suite. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from gatekeeper import numbers
from gatekeeper.gate.results.parts import (
    BrokenFixtures,
    FixtureResult,
    MustPassFinding,
    MustPassResult,
    Tally,
    Unit,
)
from gatekeeper.gate.results.result import ArmResult, Reason, ReasonCode, Verdict

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
    return numbers.some(names, MOST_NAMES, "; ")


# Finds the reasons in what fresh samples show of fixtures that seemed to have broken. Pure.


_INCOMPLETE: Mapping[str | None, ReasonCode] = {"limit": "limit", "interrupted": "interrupted"}


def broken_reasons(found: BrokenFixtures | None, *, better: bool) -> list[Reason]:
    """Return the reason of broken fixtures; none if none broke. `better` says that head is
    significantly better over all inputs, which outweighs them."""
    if found is None or not found.claimed:
        return []
    broke, fixed = len(found.fixtures("broke")), len(found.fixtures("fixed"))
    open_ = len(found.fixtures("unknown")) + found.left_out
    surely = broke - fixed - found.maybe_fixed > found.allowed
    maybe = broke + open_ - fixed > found.allowed
    if better and (surely or maybe):
        text = "but head is significantly better over all inputs"
        return [Reason("broke", f"{_what_broke(found)}; {text}.", "pass")] if broke else []
    if surely and found.p_value is not None:
        return [_counted_once(found)]
    if surely:
        return [Reason("broke", f"{_what_broke(found)}{_net(found)}.", "fail")]
    if maybe:
        return [_unresolved(found)]
    return [Reason("broke", f"{_what_broke(found)}{_net(found)}.", "pass")] if broke else []


def _counted_once(found: BrokenFixtures) -> Reason:
    """Return the reason if fresh samples prove nothing. Broken fixtures are certain then, and what
    is open is whether they are more than such a change always costs."""
    text = f"{_what_broke(found)}{_net(found)}. Repeated requests get the same answer"
    text += " (temperature 0 or a cache), so each fixture counts once"
    assert found.p_value is not None  # noqa: S101
    if found.p_value <= found.level:
        return Reason("broke", f"{text} (p {numbers.p_value(found.p_value)}).", "fail")
    return Reason("broke", f"{text}, and whether more inputs break is open.", "inconclusive")


def _unresolved(found: BrokenFixtures) -> Reason:
    names = _listed(sorted(found.fixtures("unknown")))
    if not names and not found.left_out:
        text = f"{_what_broke(found)}; whether as many were fixed is not known"
        if found.ended is None:
            return Reason("broke", f"{text}.", "inconclusive")
        code = _INCOMPLETE.get(found.ended, "error")
        return Reason(code, f"{text}: {found.detail or found.ended}.", "error")
    if not names:
        more = numbers.count(found.left_out, "more fixture")
        text = f"{more} may have broken: so many seem to have that not all are sampled again"
        return Reason("broke", f"{text}.", "inconclusive")
    text = f"{names} passed on base and failed on head"
    if found.unrecorded:
        text += ", and the recording has no further samples to confirm that"
        return Reason("broke", f"{text}.", "inconclusive")
    if found.ended:
        why = f"{found.detail or found.ended}"
        text += f", and could not be sampled again: {why}"
        return Reason(_INCOMPLETE.get(found.ended, "error"), f"{text}.", "error")
    return Reason("error", f"{text}, and fresh samples have no answer.", "error")


def _what_broke(found: BrokenFixtures) -> str:
    names = sorted(found.fixtures("broke"))
    groups: dict[tuple[Tally, Tally], list[str]] = defaultdict(list)
    for name in names[:MOST_NAMES]:
        confirmed = found.confirmations[Unit(name)]
        groups[confirmed.base, confirmed.head].append(name)
    told = [
        f"{_listed(each)} passed {_of(base)} on base and pass{'es' * (len(each) == 1)} "
        f"{_of(head)} now"
        for (base, head), each in groups.items()
    ]
    more = len(names) - MOST_NAMES
    rest = f"; {more:,} more broke" if more > 0 else ""
    return f"{numbers.count(len(names), 'fixture')} broke: {'; '.join(told)}{rest}"


def _net(found: BrokenFixtures) -> str:
    fixed = sorted(found.fixtures("fixed"))
    told = f"; {_listed(fixed)} {'was' if len(fixed) == 1 else 'were'} fixed" if fixed else ""
    if found.allowed:
        told += f"; the contract allows {found.allowed:,} more to break than are fixed"
    return told


def _listed(names: Sequence[str]) -> str:
    shown = [f"`{name}`" for name in names[:MOST_NAMES]]
    if len(names) > MOST_NAMES:
        shown.append(f"{len(names) - MOST_NAMES:,} more")
    return " and ".join(filter(None, (", ".join(shown[:-1]), *shown[-1:])))


def _of(tally: Tally) -> str:
    return f"{tally.passed} of {tally.samples}"
