"""The simulation of broken fixtures decides as the gate does, and notices a promise that is
broken."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks import broken_fixtures as bench
from benchmarks.broken_fixtures import Case, Counted, Promise, Suite

PAGE = Path(__file__).parents[3] / "benchmarks" / "error-rates.md"
SMALL = Suite(40, 2)


def test_the_tables_stand_on_the_page():
    page = PAGE.read_text("utf-8")
    assert page.count(bench.BEGIN) == page.count(bench.END) == 1
    tables = page.partition(bench.BEGIN)[2].partition(bench.END)[0]
    rows = [*bench.OUTRIGHT, *bench.AMONG_FLICKERING, *bench.PROMISES]
    changes = {case.change for case in (*bench.HARMLESS, *bench.EVENED_OUT, *bench.MOST_FALL)}
    twice = len(bench.SPREAD_OUT) + len(changes)  # what is blocked, and the calls
    assert tables.count("\n| ") == len(rows) + 2 * twice + 9 * 2


@pytest.mark.parametrize("broken", [1, 4])
def test_broken_fixtures_are_found_with_a_few_fresh_samples(broken):
    rng = np.random.default_rng(3)
    runs = [bench.decide(Case(SMALL, bench.USUAL, broken), rng) for _ in range(16)]
    assert sum(run.blocked for run in runs) >= 15
    assert sum(run.blocked_before for run in runs) < 12
    assert sum(run.calls - run.calls_before for run in runs) / len(runs) < 32 + 18 * broken


def test_a_harmless_change_costs_a_few_calls_and_is_not_blocked():
    rng = np.random.default_rng(4)
    runs = [bench.decide(Case(SMALL, bench.USUAL), rng) for _ in range(20)]
    assert sum(run.blocked for run in runs) <= 2
    assert sum(run.calls - run.calls_before for run in runs) / len(runs) < -30


def test_at_temperature_zero_nothing_is_sampled_again():
    rng = np.random.default_rng(5)
    runs = [bench.decide(Case(SMALL, bench.DETERMINISTIC), rng) for _ in range(20)]
    assert sum(run.calls for run in runs) < sum(run.calls_before for run in runs)


def test_a_wandering_quality_favours_neither_base_nor_head():
    rng = np.random.default_rng(6)
    model = bench._Model(np.full(20, 0.5), np.full(20, 0.5), rng, wandering=True)
    base, head = model.round(100)
    drawn = base - head
    assert abs(drawn.mean()) < 0.05
    assert 0.3 < np.abs(drawn).mean() < 0.5


def test_promises_that_are_not_kept_are_told():
    promised = [*bench.HARMLESS, *(case for row in bench.OUTRIGHT for case in row)]
    kept = dict.fromkeys(promised, Counted(0, 1, blocked=200, calls=1))
    as_before = dict.fromkeys(bench._DROPS, Counted(200, 1, blocked=190, calls=1, differ=10))
    assert len(bench._broken(kept | as_before, 400)) == len(promised)
    weaker = dict.fromkeys(bench._DROPS, Counted(200, 1, blocked=160, calls=1, differ=40))
    broken = bench._broken(kept | weaker, 400)
    assert [told for told in broken if ": found 200, now 160 of 400" in told]
    assert bench._not_kept([(40, 400, 1.0)] * len(bench.PROMISES), 400)
    assert not bench._not_kept([(0, 400, 1.0)] * len(bench.PROMISES), 400)


def test_a_fixture_that_must_pass_is_spared_if_it_flickers_and_found_if_it_breaks():
    wrong, found, calls = bench.keep(0, Promise(5, 1, 0.9), 40, 1)
    assert wrong <= 1
    assert found >= 28
    assert calls < 20
