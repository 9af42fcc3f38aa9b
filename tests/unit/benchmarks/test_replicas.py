"""A provider that answers badly with a period: harmless changes pass, and worse ones are found."""

from __future__ import annotations

import pytest

from benchmarks.replicas import (
    CONCURRENCIES,
    PERIODS,
    WORSE,
    Case,
    broken_promises,
    cases,
    is_found_worse,
    planned,
    table,
)

JOB = planned()


def found_worse(case: Case, runs: int) -> int:
    return sum(is_found_worse(JOB, case, f"{number}|{case}") for number in range(runs))


@pytest.mark.long
@pytest.mark.parametrize("period", PERIODS)
def test_a_harmless_change_does_not_fail_for_the_sake_of_one_bad_replica(period: int) -> None:
    """At most 5 % of 24 runs fail: more than 6 of them have a probability of 0.0002."""
    failed = sum(found_worse(Case(period, width, 1.0), 8) for width in CONCURRENCIES)
    assert failed <= 6


@pytest.mark.parametrize("period", PERIODS)
@pytest.mark.parametrize("concurrency", CONCURRENCIES)
def test_a_change_that_is_half_as_good_is_found_in_spite_of_it(
    period: int, concurrency: int
) -> None:
    assert found_worse(Case(period, concurrency, WORSE), 2) == 2


@pytest.mark.long
def test_the_simulation_shows_what_it_was_made_for() -> None:
    """With base always first, one replica of two decides everything by where the run begins."""
    assert found_worse(Case(2, 1, 1.0, base_first=True), 10) >= 2
    assert found_worse(Case(2, 1, WORSE, base_first=True), 10) <= 8


def test_the_table_has_a_row_for_each_setting_and_names_what_does_not_hold() -> None:
    found = {case: 100 if case.kept < 1 else 2 for case in cases()}
    assert table(found, 100, 1).count(" 2.0% ") == 18
    assert broken_promises(found, 100) == []
    case = Case(3, 2, 1.0)
    assert broken_promises({**found, case: 40}, 100) == [f"{case}: 40 of 100"]
    case = Case(4, 1, WORSE)
    assert broken_promises({**found, case: 40}, 100) == [f"{case}: 40 of 100"]
