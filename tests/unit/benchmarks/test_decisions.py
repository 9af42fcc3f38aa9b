"""The simulation behind benchmarks/error-rates.md computes what it says it does."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.machine_needs import EVALSIG

from benchmarks.decisions import betting, designs, rival_check, rivals
from benchmarks.decisions import product as own
from benchmarks.decisions.scenarios import (
    FIXTURES,
    MARGIN,
    ROUNDS,
    SCENARIOS,
    Scenario,
    broken,
    copied_mixed_effects,
    drifting,
    failing_calls,
    mixed_effects,
    steady,
    temperature_zero,
)
from benchmarks.decisions.sign_flip import sign_flip_p
from benchmarks.decisions.simulation import DESIGNS, simulate
from benchmarks.decisions.stream import Stream
from benchmarks.decisions.table import BEGIN, END, tables, write_between_markers
from gatekeeper.stats.paired.mcnemar import mcnemar_exact
from gatekeeper.stats.paired.sign_flip import sign_flip_test

ALPHA = 0.05


def rng() -> np.random.Generator:
    return np.random.default_rng(7)


def stream_of(differences: list[list[int]], sizes: list[int] | None = None) -> Stream:
    """One run; its fixtures' differences, round by round."""
    x = np.array([differences])
    ones = np.ones(x.shape[1], int) if sizes is None else np.array(sizes)
    answered = np.ones(x.shape, bool)
    return Stream(x == 1, x == -1, answered, answered, ones)


class TestSignFlip:
    @given(
        st.integers(1, 8).flatmap(
            lambda n: st.lists(
                st.lists(st.integers(-10, 10), min_size=n, max_size=n), min_size=1, max_size=3
            )
        )
    )
    def test_it_counts_the_choices_of_signs_that_reach_the_sum(self, runs):
        signs = np.array(list(product([1, -1], repeat=len(runs[0]))))
        enumerated = [np.mean(signs @ np.abs(run) >= sum(run)) for run in runs]
        assert sign_flip_p(np.array(runs)) == pytest.approx(enumerated, abs=1e-12)

    def test_it_is_the_test_of_the_product(self):
        counts = copied_mixed_effects()(rng(), 50).by_cluster.sum(axis=2, dtype=int)
        one_by_one = [sign_flip_test(run) for run in counts.tolist()]
        assert sign_flip_p(counts) == pytest.approx(one_by_one, abs=1e-12)

    def test_many_fixtures_with_large_counts_keep_the_precision(self):
        runs = np.array([[10] * 200, [-10] * 200, [10, -10] * 100])
        one_in, all_of, half = sign_flip_p(runs)
        assert one_in == pytest.approx(0, abs=1e-12)
        assert all_of == pytest.approx(1)
        assert half == pytest.approx(mcnemar_exact(100, 100))


class TestBetting:
    def test_capital_grows_to_the_level_no_more_often_than_it_says(self):
        """1 round of 100 fixtures at the edge of what is bet against."""
        x = steady(0.8, 0.8, rounds=1)(rng(), 4000).by_cluster[:, :, 0]
        reached = betting.worse(x, ALPHA)
        assert reached.any(axis=1).mean() < ALPHA

    def test_worse_is_the_capital_of_the_bettors(self):
        x = np.array([[1, 0, 1, -1, 1, 1, 1, 1, 1, 1, 1]], np.int8)
        stakes = (np.arange(20) + 0.5) / 20
        capital = np.cumprod(1 + stakes[:, None] * x, axis=1).mean(axis=0)
        assert betting.worse(x, ALPHA)[0].tolist() == (capital >= 20).tolist()


class TestStream:
    def test_plan_order_takes_round_after_round(self):
        stream = stream_of([[1, 0, 0], [-1, 1, 0]])
        assert stream.in_plan_order.tolist() == [[1, -1, 0, 1, 0, 0]]

    def test_the_copies_of_an_input_have_one_vote(self):
        stream = stream_of([[1, -1], [1, 1], [-1, -1], [0, 0]], sizes=[3, 1])
        assert stream.by_cluster.tolist() == [[[1, -1], [0, 0]]]
        assert stream.pairs_after_cluster.tolist() == [3, 4]

    def test_a_pair_without_an_answer_shows_no_difference(self):
        stream = Stream(
            base=np.ones((1, 1, 3), bool),
            head=np.zeros((1, 1, 3), bool),
            base_answered=np.array([[[True, False, True]]]),
            head_answered=np.array([[[True, True, False]]]),
            sizes=np.ones(1, int),
        )
        assert stream.differences.tolist() == [[[1, 0, 0]]]
        assert stream.kindest_by_cluster.tolist() == [[[1, 0, 0]]]
        assert stream.harshest_by_cluster.tolist() == [[[1, 1, 1]]]


class TestScenarios:
    @pytest.mark.parametrize(
        "scenario", [s for s in SCENARIOS if s.truth == "null"], ids=lambda s: s.name
    )
    def test_without_an_effect_the_arms_pass_alike(self, scenario: Scenario):
        stream = scenario.draw(rng(), 2000)
        drops = stream.differences.mean(axis=(1, 2))
        standard_error = drops.std() / np.sqrt(drops.size)
        assert abs(drops.mean()) <= 4 * standard_error

    @pytest.mark.parametrize(
        "scenario", [s for s in SCENARIOS if s.truth == "margin"], ids=lambda s: s.name
    )
    def test_the_drop_at_the_margin_is_the_margin(self, scenario: Scenario):
        drop = scenario.draw(rng(), 2000).differences.mean()
        assert drop == pytest.approx(scenario.margin, abs=0.005)

    def test_steady_rates(self):
        stream = steady(0.95, 0.85, fixtures=50, rounds=5)(rng(), 2000)
        assert stream.base.shape == (2000, 50, 5)
        assert stream.base.mean() == pytest.approx(0.95, abs=0.002)
        assert stream.head.mean() == pytest.approx(0.85, abs=0.003)

    def test_three_in_ten_fixtures_move_by_a_quarter(self):
        stream = mixed_effects()(rng(), 3000)
        assert stream.base.mean() == pytest.approx(0.7, abs=0.002)
        # Over ten draws the moved fixtures add 0.3 · 0.25² · 100 to the variance of a count.
        between = stream.differences.sum(axis=2).var()
        rates = ((0.7, 0.7), (0.15, 0.45), (0.15, 0.95))
        within = 10 * (0.7 * 0.3 + sum(share * rate * (1 - rate) for share, rate in rates))
        assert between == pytest.approx(within + 0.3 * 0.25**2 * 100, rel=0.02)

    def test_at_temperature_zero_nothing_changes_but_the_flips(self):
        stream = temperature_zero()(rng(), 2000)
        assert (stream.differences == stream.differences[:, :, :1]).all()
        assert (stream.differences != 0).mean() == pytest.approx(0.08, abs=0.002)
        assert stream.base.shape[2] == ROUNDS

    @pytest.mark.parametrize("draw", [temperature_zero(copies=0.3), copied_mixed_effects()])
    def test_three_in_ten_fixtures_are_copies(self, draw):
        stream = draw(rng(), 2)
        assert stream.fixtures == stream.sizes.sum() == FIXTURES
        assert stream.by_cluster.shape == (2, 70, ROUNDS)

    def test_copies_answer_alike_at_temperature_zero(self):
        stream = temperature_zero(copies=0.3)(rng(), 20)
        of_first_copy = np.repeat(np.cumsum(stream.sizes) - stream.sizes, stream.sizes)
        assert (stream.differences == stream.differences[:, of_first_copy]).all()

    def test_drift_hits_both_arms(self):
        stream = drifting()(rng(), 1000)
        for arm in (stream.base, stream.head):
            assert arm[:, :10, 0].mean() == pytest.approx(0.95, abs=0.01)
            assert arm[:, -10:, -1].mean() == pytest.approx(0.60, abs=0.01)

    def test_one_call_in_twenty_fails_in_either_arm(self):
        stream = failing_calls()(rng(), 1000)
        assert stream.measured.mean() == pytest.approx(0.95**2, abs=0.002)

    def test_a_broken_fixture_never_passes(self):
        stream = broken(0.2)(rng(), 1000)
        silent = ~stream.head.any(axis=2)
        assert silent.mean() == pytest.approx(0.2, abs=0.005)
        assert stream.head[~silent].mean() == pytest.approx(0.95, abs=0.002)

    def test_a_fixture_broken_by_half_passes_half_as_often(self):
        stream = broken(1.0, base=0.9, fixtures=20, kept=0.5)(rng(), 1000)
        assert stream.head.shape == (1000, 20, ROUNDS)
        assert stream.head.mean() == pytest.approx(0.45, abs=0.005)


class TestDesigns:
    def test_fixed_tests_the_counts_of_each_input(self):
        stream = stream_of([[1, 1]] * 5 + [[0, 0]] * 5)
        decisions = designs.fixed(stream, ALPHA, MARGIN)
        assert decisions.regressed.tolist() == [True]  # 1 of 32 choices of signs
        assert decisions.pairs.tolist() == [20]

    def test_fixed_takes_a_failed_call_for_head(self):
        lost = np.ones((1, 5, 1), bool)
        lost[0, 0] = False
        whole, broke = np.ones((1, 5, 1), bool), np.zeros((1, 5, 1), bool)
        sizes = np.ones(5, int)
        seen = Stream(whole, broke, whole, whole, sizes)
        unseen = Stream(whole, broke, whole, lost, sizes)
        assert designs.fixed(seen, ALPHA, MARGIN).regressed.all()
        assert not designs.fixed(unseen, ALPHA, MARGIN).regressed.any()

    @pytest.mark.parametrize(("failed", "unmeasured"), [(0, False), (4, False), (6, True)])
    def test_too_many_failed_calls_end_the_adaptive_design_without_an_answer(
        self, failed, unmeasured
    ):
        """Four of a hundred stay below the margin, however they would have answered."""
        same = np.ones((1, 100, 2), bool)
        answered = same.copy()
        answered[0, :failed] = False
        stream = Stream(same, same, same, answered, np.ones(100, int))
        decisions = own.adaptive(stream, ALPHA, MARGIN)
        assert decisions.unmeasured.tolist() == [unmeasured]
        assert not decisions.regressed.any()

    def test_where_contracts_share_alpha_each_still_claims_its_own_margin(self):
        stream = stream_of([[0] * 5] * 100)
        alone, shared = (own.adaptive(stream, ALPHA / m, MARGIN) for m in (1, 8))
        assert alone.not_worse.all()
        assert shared.pairs.tolist() == alone.pairs.tolist()

    def test_threshold_fails_beyond_the_margin_only(self):
        at_margin = stream_of([[1]] * 5 + [[0]] * 95)
        beyond = stream_of([[1]] * 6 + [[0]] * 94)
        assert not rivals.threshold(at_margin, ALPHA, MARGIN).regressed.any()
        assert rivals.threshold(beyond, ALPHA, MARGIN).regressed.all()

    def test_pooling_takes_repetitions_for_new_fixtures(self):
        stream = stream_of([[1] * 10] + [[0] * 10] * 99)
        assert rivals.pooled_mcnemar(stream, ALPHA, MARGIN).regressed.all()
        assert rivals.naive_e_process(stream, ALPHA, MARGIN).regressed.all()
        assert not designs.fixed(stream, ALPHA, MARGIN).regressed.any()

    def test_peeking_ends_at_the_first_round_that_is_significant(self):
        stream = stream_of([[0, 1, -1]] * 5 + [[0, 0, 0]] * 5)
        decisions = rivals.peeking(stream, ALPHA, MARGIN)
        assert decisions.regressed.all()
        assert decisions.pairs.tolist() == [20]

    @EVALSIG.mark
    def test_evalsig_decides_as_its_package_does(self):
        assert rival_check.evalsig_differs_from_its_package(runs=2) == []


class TestSimulation:
    @pytest.mark.long
    def test_the_result_depends_on_the_seed_alone(self):
        one, other = simulate(6, 3, processes=1), simulate(6, 3, processes=2)
        assert tables(one, 6, 3) == tables(other, 6, 3)

    @pytest.mark.long
    def test_every_scenario_and_design_is_there(self):
        results = simulate(4, 3, processes=1)
        assert list(results) == [scenario.name for scenario in SCENARIOS]
        for scenario in SCENARIOS:
            outcomes = results[scenario.name]
            asked = ("adaptive",) if scenario.truth == "margin" else DESIGNS
            assert list(outcomes) == list(asked)
            assert all(outcome.regressed.size == 4 for outcome in outcomes.values())


class TestPage:
    def test_only_what_stands_between_the_markers_changes(self, tmp_path):
        page = tmp_path / "page.md"
        page.write_text(f"above\n{BEGIN}\nold\n{END}\nbelow\n", "utf-8")
        write_between_markers(page, "new")
        assert page.read_text("utf-8") == f"above\n{BEGIN}\n\nnew\n\n{END}\nbelow\n"

    def test_a_page_without_markers_is_left_alone(self, tmp_path):
        page = tmp_path / "page.md"
        page.write_text("above\n", "utf-8")
        with pytest.raises(ValueError, match="page"):
            write_between_markers(page, "new")
        assert page.read_text("utf-8") == "above\n"
