"""The simulation of several comparisons: what it counts, and what it promises."""

from __future__ import annotations

import pytest

from benchmarks.several_contracts import CASES, Case, broken_promises, count, table


@pytest.mark.long
def test_trivial_comparisons_hide_a_break_from_holm_alone():
    for others_change in (0.0, 0.1):
        for broken in (6, 8):
            case = Case(20, others_change, changes=0.0, broken=broken, tarone=False)
            assert count(case, 10, 1) == 0
            assert count(Case(20, others_change, changes=0.0, broken=broken), 10, 1) >= 9


@pytest.mark.long
def test_a_harmless_change_is_seldom_blocked():
    assert count(Case(20, 0.1), 100, 1) <= 12


def test_the_table_has_every_case_and_names_what_is_blocked_too_often():
    found = dict.fromkeys(CASES, 4)
    assert table(found, 100, 1).count("\n| ") == 12 + 4 + 2
    assert broken_promises(found, 100) == []
    assert len(broken_promises({**found, CASES[0]: 20}, 100)) == 1
