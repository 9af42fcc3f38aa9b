"""Finds the reasons in what fresh samples show of fixtures that seemed to have broken. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from gatekeeper import numbers
from gatekeeper.gate.decision.fixture_reasons import MOST_NAMES
from gatekeeper.gate.results.fixture_result import BrokenFixtures, Tally, Unit
from gatekeeper.gate.results.result import Reason, ReasonCode

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
