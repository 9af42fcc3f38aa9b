"""Words for numbers of units: fixtures, or clusters of related ones. Pure."""

from __future__ import annotations

from gatekeeper import numbers
from gatekeeper.contract.values.clusters import ClusterCounts
from gatekeeper.gate.results.result import PairedResult
from gatekeeper.stats.paired.mcnemar import mcnemar_exact

_FEWEST_FLIPS = 3
"""The smallest number of changes in each direction that is reported. Below it, chance alone
can change a third of a small suite."""


def unit_noun(*, clustered: bool) -> str:
    """Name what evidence is counted in."""
    return "cluster" if clustered else "fixture"


def compared_units(paired: PairedResult, noun: str = "fixture") -> str:
    """Say how many fixtures were compared, and in how many clusters if related ones count as one:
    `20 fixtures in 4 clusters`. `noun` is what to call fixtures that are not in clusters."""
    if paired.clusters is None:
        return numbers.count(paired.fixtures, noun)
    clusters = numbers.count(paired.clusters.total, "cluster")
    return f"{numbers.count(paired.fixtures, 'fixture')} in {clusters}"


def changed_units(paired: PairedResult) -> str:
    """Say how many fixtures broke and how many were fixed, and what that makes of the clusters."""
    if paired.clusters is None:
        return f"{paired.broke:,} of {compared_units(paired)} broke, {paired.fixed:,} fixed"
    text = f"{paired.broke:,} of {compared_units(paired)} broke, {paired.fixed:,} fixed"
    return f"{text} ({changed_clusters(paired.clusters)})"


def changed_clusters(counts: ClusterCounts) -> str:
    """Say how many clusters got worse and better: `1 of 4 clusters worse, 0 better`."""
    total = numbers.count(counts.total, "cluster")
    return f"{counts.broke:,} of {total} worse, {counts.fixed:,} better"


def detectable_sizes(paired: PairedResult) -> str:
    """Say what the run could have detected: how many units that break outright, and which drop of
    all inputs. Only for a run that could have detected a drop."""
    drop = f"a drop of {size_of(paired, paired.minimum_detectable_effect or 0)} or more"
    breaks = paired.detectable_breaks
    if breaks is None:
        return f"{drop} over all inputs"
    units = numbers.count(breaks, unit_noun(clustered=paired.clusters is not None))
    return f"{units} that always fail{'s' * (breaks == 1)}, or {drop} over all inputs"


def size_of(paired: PairedResult, amount: float) -> str:
    """Write the size of a difference: in points of the pass rate, or as a score."""
    return numbers.score(abs(amount)) if paired.scores else numbers.size_in_points(amount)


def signed(paired: PairedResult, difference: float | None) -> str:
    """Write head minus base, in points of the pass rate or as a score."""
    if paired.scores and difference is not None:
        return numbers.signed_score(difference)
    return numbers.points(difference)


def likely(paired: PairedResult) -> str:
    """Write the interval of head minus base, in the unit of `signed`; empty if there is none."""
    interval = paired.interval
    if paired.scores and interval is not None:
        low, high = (numbers.signed_score(end) for end in (interval.low, interval.high))
        return f"[{low}, {high}]"
    return numbers.points_interval(interval)


def mean_scores(paired: PairedResult) -> str:
    """Say how the mean score changed: `mean score fell from 0.84 to 0.71`; empty for passes."""
    if paired.scores is None:
        return ""
    base, head = map(numbers.score, paired.scores)
    if base == head:
        return f"mean score {base} as before"
    return f"mean score {'fell' if head < base else 'rose'} from {base} to {head}"


def paired_p_value(paired: PairedResult, *, equals: str = "= ") -> str:
    """Format the p-value, as a bound if samples were not measured, because they could have had any
    outcome. Samples that were not taken because the result was certain leave it exact."""
    bound = paired.unmeasured > 0 and not paired.sequential
    return numbers.p_value(paired.p_value, paired.alpha, at_most=bound, equals=equals)


def flips_note(paired: PairedResult) -> str:
    """Point to a cause outside of the prompt if fixtures flip in both directions.

    They do if at least a third of the units changed, three or more each way, and the two-sided
    exact McNemar test does not tell the directions apart at 5 %. Empty if they do not.
    """
    counts = paired.clusters or paired
    broke, fixed = counts.broke, counts.fixed
    if min(broke, fixed) < _FEWEST_FLIPS or 3 * (broke + fixed) < paired.units:
        return ""
    if mcnemar_exact(broke, fixed, "two-sided") <= 0.05:
        return ""
    noun = unit_noun(clustered=paired.clusters is not None)
    return (
        f" {broke + fixed:,} of {numbers.count(paired.units, noun)} changed: some got worse, "
        "others got better. Such changes often come from the provider or from a temperature above "
        "0, not from the prompt."
    )
