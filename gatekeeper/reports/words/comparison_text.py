"""Writes the comparison of the arms in words: the finding, its test, how early it was certain."""

from __future__ import annotations

from dataclasses import dataclass

from gatekeeper import numbers
from gatekeeper.gate.decision.fixture_reasons import has_broken
from gatekeeper.gate.decision.unit_words import (
    changed_clusters,
    compared_units,
    paired_p_value,
    signed,
    unit_noun,
)
from gatekeeper.gate.results.result import ArmResult, ContractResult, PairedResult, UnderBase

_ROUGH = 0.1
"""An estimate as large as this is written in whole points."""


@dataclass(frozen=True, slots=True)
class Rate:
    """How many `passed` and how many there are on one arm: fixtures, or samples if a fixture has
    several."""

    passed: int
    of: int
    value: float | None

    @property
    def share(self) -> str:
        return numbers.percent(self.value)


def base_contract_label(found: UnderBase) -> str:
    """Return the words that follow the contract's name for the base contract."""
    if found.contract_from == "base_settings":
        return "under the base contract with its own model and parameters"
    if found.contract_from == "base_reading":
        return "under the base contract with the prompt read as on base"
    return "under the base contract"


def in_samples(arm: ArmResult, paired: PairedResult | None) -> bool:
    """Return whether rates count samples and not fixtures."""
    return paired.rounds > 1 if paired else arm.samples > arm.fixtures


def rates(arm: ArmResult, paired: PairedResult | None) -> Rate:
    """Return the two rates whose difference every report shows: of fixtures, or of samples if there
    are several of each, which the objectives count too."""
    if in_samples(arm, paired):
        return Rate(arm.passed, arm.samples, arm.success_rate)
    share = arm.fixtures_passed / arm.fixtures if arm.fixtures else None
    return Rate(arm.fixtures_passed, arm.fixtures, share)


def difference(paired: PairedResult) -> str:
    """Return head minus base, in percentage points or as a score.

    After an early stop the number is usually too large, so it is marked as an estimate.
    """
    if paired.difference is None or not ended_early(paired):
        return signed(paired, paired.difference)
    exact = paired.difference
    return f"about {signed(paired, round(exact, 2) if abs(exact) >= _ROUGH else exact)}"


def early_size(paired: PairedResult) -> str:
    """Return how large the change is after an early stop, which leaves no interval.

    If head was found worse before each fixture had one sample, that is how many fixtures broke of
    those sampled: the difference of so few says nothing of all fixtures.
    """
    if is_significant(paired) and not paired.compared_rounds:
        return f"{paired.broke:,} of {_drawn(paired):,} broke"
    return f"{difference(paired)}, estimated after an early stop"


def _drawn(paired: PairedResult) -> int:
    """Return how many fixtures were sampled in an incomplete first round."""
    return paired.fixtures - max(0, paired.unknown - paired.unmeasured)


def corrected_difference(paired: PairedResult) -> str:
    """Return head minus base as people would find it; empty if no calibrated judge alone gates."""
    found = paired.corrected_difference
    if found is None:
        return ""
    return (
        "after correction for the judge's errors, head minus base is "
        f"{numbers.points(found.value)} {numbers.points_interval(found.interval)}; "
        "the gate uses the test above, which counts the judge's uncorrected verdicts"
    )


def is_significant(paired: PairedResult) -> bool:
    """Return whether head is significantly worse."""
    return paired.p_value is not None and paired.p_value <= paired.alpha


def is_better(paired: PairedResult) -> bool:
    """Return whether head is significantly better; an early stop leaves no interval that could say
    so."""
    interval = None if ended_early(paired) else paired.interval
    return interval is not None and interval.low > 0


def can_be_chance(paired: PairedResult, contract: ContractResult) -> bool:
    """Return whether a reader may be told that the difference can be chance: not beside an interval
    that excludes zero, nor beside a fixture that broke for certain."""
    shown = None if ended_early(paired) else paired.interval
    excluded = shown is not None and (shown.low > 0 or shown.high < 0)
    broke = any(reason.code == "broke" for reason in contract.reasons)
    return not (
        is_significant(paired) or excluded or broke or any(map(has_broken, contract.fixtures))
    )


def seeable_effect(paired: PairedResult) -> float | None:
    """Return the smallest drop that the run could have detected, which every result without a
    finding must say. None if sampling ended early: the number is that of the planned samples."""
    # If head was shown to be no worse than the margin, that is the answer.
    answered = paired.p_value is None or is_significant(paired) or paired.stopped == "not_worse"
    return None if answered or paired.incomplete else paired.minimum_detectable_effect


def fixtures_wanted(paired: PairedResult) -> str:
    """Return how many fixtures are needed, if nothing was found and there are fewer; empty
    otherwise."""
    needed = paired.fixtures_needed
    answered = is_significant(paired) or paired.stopped == "not_worse"
    if needed is None or needed <= paired.units or answered:
        return ""
    margin = "the contract's margin"
    if paired.margin is not None:
        margin = numbers.size_in_points(paired.margin)
    others = paired.family - 1
    together = f" in a run with {numbers.count(others, 'other comparison')}" if others else ""
    units = numbers.count(needed, unit_noun(clustered=paired.clusters is not None))
    return f"{units} would show a drop of {margin}{together}"


def counts(paired: PairedResult) -> str:
    """Write the counts of changed inputs, such as `9 broke, 0 fixed`, and how many were
    compared."""
    text = f"{paired.broke:,} broke, {paired.fixed:,} fixed"
    if paired.clusters:
        text += f" ({changed_clusters(paired.clusters)})"
    early = early_stop(paired)
    if early and not paired.rounds:
        # Fixtures that were not sampled are unknown as well, but were not needed.
        text += f", {paired.unmeasured:,} not measured" if paired.unmeasured else ""
    elif paired.unknown and (paired.unmeasured or not early):
        text += f", {paired.unknown:,} unknown"
    return f"{text}; {early}" if early else text


def ended_early(paired: PairedResult) -> bool:
    """Return whether sampling ended before every planned pair was sampled, because the result was
    certain or could hardly change any more."""
    return paired.stopped in ("regressed", "not_worse", "futile") and paired.incomplete


def early_stop(paired: PairedResult) -> str:
    """Say how soon sampling ended and why; empty if all planned pairs were sampled."""
    if not ended_early(paired):
        return ""
    if paired.stopped == "regressed" and not is_significant(paired):
        return "sampling ended because the result of the contract's other comparison was certain"
    if paired.compared_rounds:
        planned = numbers.count(paired.planned_rounds, "sample")
        part = f"{paired.compared_rounds:,} of {planned}"
        of_each = " of each fixture"
    else:
        part, of_each = f"{_drawn(paired):,} of {numbers.count(paired.fixtures, 'fixture')}", ""
    if paired.stopped == "futile":
        because = "because more could hardly have changed the answer"
        return f"sampling ended after {part} {because}"
    return f"the result was certain after {part}{of_each}"


def deciding_test(paired: PairedResult) -> str:
    """Return the test that decides, its level, and how many comparisons of the run share alpha."""
    of = paired.family
    shared = f", with Holm's correction for {of:,} comparisons" if of > 1 else ""
    inputs = compared_units(paired, "distinct input")
    weighted = " (fixtures that flicker count less)" if paired.weights else ""
    return f"{paired.method} on {inputs}{weighted}, level {paired.alpha:.3g}{shared}"


def decided_by(paired: PairedResult) -> str:
    """Return the deciding test with its p-value, and what the run would have needed to detect
    more."""
    p = paired_p_value(paired)
    value = "no p-value" if p == numbers.NONE else f"p {p}"
    parts = [
        f"{deciding_test(paired)}: {value}",
        counts(paired),
        "unfinished" if paired.stopped is None else "",
        fixtures_wanted(paired),
    ]
    return "; ".join(filter(None, parts))
