"""Families of fixtures that flip together, in small: `cluster` keeps the promises."""

from __future__ import annotations

import pytest

from benchmarks.clusters import (
    SUITES,
    Case,
    Suite,
    broken_promises,
    cases,
    goes_wrong_or_right,
    planned,
    table,
)

STEADY, TENS = SUITES[:2]


def often(case: Case, runs: int) -> int:
    return sum(goes_wrong_or_right(case, f"{number}|{case}") for number in range(runs))


@pytest.mark.long
def test_the_simulation_shows_what_clusters_are_for() -> None:
    """Far more than 5 % of harmless changes fail where families of 10 count as ten."""
    assert often(Case(TENS, "harmless", False), 30) >= 5


@pytest.mark.long
def test_clusters_keep_the_level() -> None:
    """At most 5 % of 60 runs fail: more than 9 have a probability of 0.001."""
    assert often(Case(TENS, "harmless", True), 60) <= 9


@pytest.mark.long
def test_clusters_find_6_of_20_broken_families() -> None:
    assert often(Case(STEADY, "worse", True), 30) >= 20


@pytest.mark.long
def test_an_objective_at_its_target_is_seldom_called_met() -> None:
    case = Case(Suite(20, 10, 0.1), "at target", True)
    assert often(case, 30) <= 6


def test_the_plan_has_the_families_as_clusters() -> None:
    evaluation = planned(TENS, clustered=True).evaluations[0]
    assert (len(evaluation.units()), evaluation.clustered) == (20, True)
    assert not planned(TENS, clustered=False).evaluations[0].clustered


def test_the_table_has_a_row_for_each_suite_and_names_what_does_not_hold() -> None:
    found = {case: 90 if case.question == "worse" else 1 for case in cases()}
    assert table(found, 100, 1).count("\n| ") == len(SUITES) + 2
    assert broken_promises(found, 100) == []
    for case, count in (
        (Case(TENS, "harmless", True), 30),
        (Case(TENS, "at target", True), 30),
        (Case(STEADY, "worse", True), 50),
    ):
        assert broken_promises({**found, case: count}, 100) == [f"{case}: {count} of 100"]
    # Without clusters nothing is promised.
    assert broken_promises({**found, Case(TENS, "harmless", False): 40}, 100) == []
