"""Related fixtures: the cluster is what the comparison and the objectives count."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.outcomes import contract, outcome
from support.random_comparisons import evaluation

from gatekeeper.contract.values.definition import GatePolicy, SamplingPolicy
from gatekeeper.contract.values.objectives import read_objectives
from gatekeeper.gate.comparison.pair_counts import count_clusters, count_pairs, paired_result
from gatekeeper.gate.comparison.paired_comparison import Comparison
from gatekeeper.gate.decision.unit_words import changed_units, compared_units
from gatekeeper.gate.objectives.objectives import slo_results
from gatekeeper.gate.plan.plan import Evaluation
from gatekeeper.gate.results.parts import FixtureResult
from gatekeeper.gate.results.result import PairedResult
from gatekeeper.stats.paired.mcnemar import mcnemar_exact
from gatekeeper.stats.paired.sign_flip import sign_flip_test

Drops = list[list[int | None]]
"""By family: 1 where a fixture broke, -1 where it was fixed, 0 where it stayed, None if lost."""


def name(family: int, member: int) -> str:
    return f"f{family:02}-{member}"


def families(drops: Drops, sampling: SamplingPolicy, *, related: bool = True) -> Evaluation:
    names = [name(f, m) for f, family in enumerate(drops) for m in range(len(family))]
    found = evaluation(names, sampling)
    clusters = {n: n.split("-")[0] if related else None for n in names}
    fixtures = tuple(replace(f, cluster=clusters[f.id]) for f in found.contract.fixtures)
    return replace(found, contract=replace(found.contract, fixtures=fixtures))


def compare(drops: Drops, mode: str = "fixed", *, related: bool = True) -> Comparison:
    policy = SamplingPolicy(samples=1, mode=mode)
    comparison = Comparison(families(drops, policy, related=related), 0.05)
    for f, family in enumerate(drops):
        for m, drop in enumerate(family):
            comparison.add(outcome(name(f, m), "base", 0, drop != -1))
            comparison.add(outcome(name(f, m), "head", 0, None if drop is None else drop != 1))
    return comparison


def reported(drops: Drops, mode: str = "fixed") -> PairedResult:
    comparison = compare(drops, mode)
    found = families(drops, SamplingPolicy())
    fixtures = [
        FixtureResult(
            name(f, m), None, None, None, drop != -1, None if drop is None else drop != 1, None
        )
        for f, family in enumerate(drops)
        for m, drop in enumerate(family)
    ]
    return paired_result(
        count_pairs(fixtures),
        comparison,
        [],
        GatePolicy(margin=0.05),
        0.05,
        "exhausted",
        count_clusters(fixtures, found.counts_with),
    )


def test_one_family_that_flips_is_one_piece_of_evidence():
    drops: Drops = [[1] * 10, *([0] * 10 for _ in range(19))]

    assert compare(drops, related=False).evaluate(0.05).p_value == mcnemar_exact(10, 0) < 0.001
    assert compare(drops).evaluate(0.05).p_value == 0.5


def test_the_unit_is_the_total_of_the_family():
    drops: Drops = [[1, 1, 1], [1, 1, 0], [0, -1, 0], [1, -1, 0], [1, 1, 1], [1, 0, 0]]

    assert compare(drops).evaluate(0.05).p_value == sign_flip_test([3, 2, -1, 0, 3, 1])


@given(
    st.lists(st.lists(st.sampled_from([-1, 0, 1]), min_size=1, max_size=4), min_size=1, max_size=8)
)
@settings(max_examples=60, deadline=None)
def test_at_temperature_0_it_is_exact_whatever_the_families_do(drops):
    """Over all ways to swap the arms of whole families, p is at most a level in no more than that
    share of them."""
    seen = compare(drops).evaluate(0.05).p_value
    totals = [sum(family) for family in drops]
    signs = range(1 << len(totals))
    flipped = [sum(-t if way >> i & 1 else t for i, t in enumerate(totals)) for way in signs]
    extreme = sum(total >= sum(totals) for total in flipped) / len(signs)
    assert seen == pytest.approx(extreme if any(totals) else 1.0)


@pytest.mark.parametrize("mode", ["fixed", "adaptive"])
def test_families_of_one_decide_bit_for_bit_as_without_clusters(mode):
    drops: Drops = [[1], [0], [-1], [1], [1], [1], [0], [1], [1]]
    one, other = compare(drops, mode), compare(drops, mode, related=False)

    assert not one.clustered
    assert one.evaluate(0.05) == other.evaluate(0.05)
    assert (one.stopped, one.drops(), one.largest_drop()) == (
        other.stopped,
        other.drops(),
        other.largest_drop(),
    )


def test_the_difference_is_that_over_fixtures_and_its_interval_that_over_clusters():
    drops: Drops = [[1] * 9, [1], [0] * 5, [0] * 5]
    found = reported(drops)

    assert found.difference == pytest.approx(-0.5)
    assert "newcombe" not in found.intervals
    assert found.interval == found.intervals["bootstrap_fixtures"]
    assert (found.fixtures, found.broke, found.units) == (20, 10, 4)
    assert (found.clusters.total, found.clusters.broke, found.clusters.fixed) == (4, 2, 0)
    assert "20 fixtures in 4 clusters" in compared_units(found)
    assert "10 of 20 fixtures in 4 clusters broke" in changed_units(found)
    assert "clusters" in found.method


def test_no_drop_can_be_seen_with_four_clusters_however_many_fixtures_they_have():
    assert reported([[0] * 50] * 4).minimum_detectable_effect is None
    assert reported([[0] * 5] * 40).minimum_detectable_effect == pytest.approx(
        reported([[0] * 2] * 40).minimum_detectable_effect
    )


def test_an_unmeasured_fixture_may_speak_for_head_or_against_it():
    comparison = compare([[1, None], [1, 1], [0, 0], [1, 1]])

    assert comparison.unmeasured == 1
    assert comparison.evaluate(0.05).p_value == sign_flip_test([1, 2, 0, 2])
    assert comparison.evaluate(0.05, harshly=True).p_value == sign_flip_test([2, 2, 0, 2])
    assert comparison.largest_drop() == pytest.approx(6 / 8)


def test_what_head_cannot_be_asked_is_unknown_within_its_family():
    sampling = SamplingPolicy(mode="fixed")
    whole = families([[0, 0, 0], [0, 0]], sampling)
    lost = Comparison(replace(whole, unanswerable=(name(0, 0), name(1, 0), name(1, 1))), 0.05)
    for member in (1, 2):
        lost.add(outcome(name(0, member), "base", 0, True))
        lost.add(outcome(name(0, member), "head", 0, True))

    assert lost.unmeasured == 3
    assert lost.largest_drop() == pytest.approx(3 / 5)
    assert lost.evaluate(0.05).p_value == 1.0


def test_not_worse_is_said_of_clusters_and_not_of_fixtures():
    """120 fixtures without a change prove it, 12 families of 10 do not."""
    whole: Drops = [[0] * 10] * 12
    assert compare(whole, "adaptive", related=False).stopped == "not_worse"
    assert compare(whole, "adaptive").stopped == "exhausted"
    assert compare([[0] * 2] * 120, "adaptive").stopped == "not_worse"


def test_a_large_family_that_broke_is_not_passed_over_for_many_small_ones():
    found = compare([[1] * 40, *([0] for _ in range(200))], "adaptive")
    assert found.stopped == "exhausted"
    assert found.largest_drop() == pytest.approx(40 / 240)


def test_an_objective_is_proven_by_clusters():
    names = [f"{family}-{member}" for family in range(6) for member in range(10)]
    whole = contract(*names, slo=read_objectives({"success_rate": 0.9}))
    outcomes = [outcome(n, "head", 0, True) for n in names]
    units = {n: f"{n.split('-')[0]}-0" for n in names if not n.endswith("-0")}

    (alone,) = slo_results(whole, outcomes, Counter(names))
    (found,) = slo_results(whole, outcomes, Counter(names), counts_with=units, same_input={})

    assert (alone.met, alone.inputs) == (True, 60)
    assert (found.met, found.inputs, found.clustered) == (None, 6, True)
    assert found.interval.low < alone.interval.low
