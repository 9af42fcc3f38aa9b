"""Every function of statistics names an argument that it cannot take."""

import math
from datetime import datetime
from functools import partial

import numpy as np
import pytest
from support.budget_events import NOW

from gatekeeper.stats import arguments as required
from gatekeeper.stats.intervals.bootstrap import (
    block_bootstrap_interval,
    clustered_bootstrap_interval,
    mean_interval,
    politis_white_block_length,
)
from gatekeeper.stats.intervals.gaffke import (
    chance_below,
    gaffke_interval,
    inputs_needed,
    proven_side,
)
from gatekeeper.stats.intervals.intervals import (
    clustered_mean_interval,
    clustered_rate_interval,
    jeffreys,
    paired_difference_interval,
    quantile_bounds,
    wilson,
)
from gatekeeper.stats.intervals.relative_change import relative_change, rise_beyond
from gatekeeper.stats.judges.agreement import cohen_kappa, fleiss_kappa
from gatekeeper.stats.judges.calibration import best_threshold, roc_auc
from gatekeeper.stats.judges.prediction_powered import powered_mean
from gatekeeper.stats.multiple import benjamini_hochberg, holm, holm_levels
from gatekeeper.stats.nights.control_chart import ewma_chart
from gatekeeper.stats.nights.drift import find_drift, homogeneity_p
from gatekeeper.stats.objectives.error_budget import Event, error_budget
from gatekeeper.stats.objectives.objective import decide
from gatekeeper.stats.objectives.rate_boundary import fewest_failures
from gatekeeper.stats.paired.confirmation import MOST_PAIRS, confirm, p_value, suspicion
from gatekeeper.stats.paired.first_round_boundary import walk_boundary, walk_p_value
from gatekeeper.stats.paired.mcnemar import fisher_exact, mcnemar_chi_square, mcnemar_exact
from gatekeeper.stats.paired.noninferiority import drop_bound, most_broken, not_worse_capital
from gatekeeper.stats.paired.power import (
    fixtures_needed,
    minimum_detectable_effect,
    regression_power,
)
from gatekeeper.stats.paired.sequential import SequentialTest

RNG = np.random.default_rng(0)
WALK = walk_boundary(5, 0.05)
NAIVE = datetime(2025, 6, 1)  # noqa: DTZ001
BLOCKS = partial(block_bootstrap_interval, confidence=0.9, rng=RNG)
MEANS = partial(mean_interval, rng=RNG)
CLUSTERS = partial(clustered_bootstrap_interval, rng=RNG)
CHANGE = partial(relative_change, confidence=0.95, rng=RNG)
RISE = partial(rise_beyond, rng=RNG)


@pytest.mark.parametrize(
    ("function", "wrong"),
    [
        (required.require_count, [-1, 0.5, 1.0, True, "2"]),
        (required.require_inside, [0.0, 1.0, -0.1, math.nan]),
        (required.require_share, [-0.1, 1.1, math.nan]),
        (required.require_finite, [[math.nan], [math.inf], [0.0, -math.inf]]),
        (required.require_numbers, [[math.nan]]),
        (required.require_whole, [[0.5], [1.0], [True], ["1"], [None]]),
    ],
)
def test_each_requirement_refuses_what_it_names(function, wrong):
    for value in wrong:
        with pytest.raises(ValueError, match=r"^argument: "):
            function("argument", value)


@pytest.mark.parametrize(
    ("named", "function", "arguments"),
    [
        ("values", MEANS, ([1, math.nan], 0.9)),
        ("confidence", MEANS, ([1, 2], 1.0)),
        ("resamples", partial(MEANS, resamples=0), ([1, 2], 0.9)),
        ("resamples", partial(MEANS, resamples=True), ([1, 2], 0.9)),
        ("samples", CLUSTERS, ([1], [1, 1], 0.9)),
        ("passed", CLUSTERS, ([2], [1], 0.9)),
        ("confidence", CLUSTERS, ([1], [1], 0.0)),
        ("values", BLOCKS, ([1, math.inf],)),
        ("block_length", partial(BLOCKS, block_length=0), ([1, 2],)),
        ("values", politis_white_block_length, ([math.nan],)),
        ("values", gaffke_interval, ([math.inf], 0, 1)),
        ("values", gaffke_interval, ([1.5], 0, 1)),
        ("least", gaffke_interval, ([0.5], 1, 0)),
        ("most", gaffke_interval, ([0.5], 0, math.inf)),
        ("confidence", gaffke_interval, ([0.5], 0, 1, 1.0)),
        ("values", proven_side, ([math.nan], 0.5)),
        ("values", proven_side, ([-0.1], 0.5)),
        ("target", proven_side, ([0.1], 1.5)),
        ("values", chance_below, ([-1.0], 0.5)),
        ("mean", chance_below, ([1.0], math.nan)),
        ("confidence", inputs_needed, (0.9, 0.0)),
        *((name, f, a) for f in (wilson, jeffreys) for name, a in [
            ("passed", (3, 2)), ("passed", (-1, 2)), ("n", (0, -1)), ("n", (0, 0)),
            ("confidence", (1, 2, math.nan)),
        ]),
        ("samples", clustered_rate_interval, ([1], [1, 2])),
        ("passed", clustered_rate_interval, ([2], [1])),
        ("confidence", clustered_rate_interval, ([1], [1], 1.0)),
        ("totals", clustered_mean_interval, ([math.inf], [1])),
        ("totals", clustered_mean_interval, ([-1.0], [1])),
        ("samples", clustered_mean_interval, ([1.0], [1, 2])),
        ("samples", clustered_mean_interval, ([1.0], [1.5])),
        ("confidence", clustered_mean_interval, ([1.0], [1], 1.0)),
        ("most", clustered_mean_interval, ([1.0], [1], 0.95, math.inf)),
        ("values", quantile_bounds, ([1.0, math.nan], 0.5)),
        ("q", quantile_bounds, ([1.0], 1.0)),
        ("confidence", quantile_bounds, ([1.0], 0.5, 2.0)),
        ("both", paired_difference_interval, (-1, 1, 1, 1)),
        ("broke", paired_difference_interval, (1, -1, 1, 1)),
        ("fixed", paired_difference_interval, (1, 1, -1, 1)),
        ("neither", paired_difference_interval, (1, 1, 1, -1)),
        ("head", CHANGE, ([[1.0]], [])),
        ("base", CHANGE, ([[math.nan]], [[1.0]])),
        ("head", CHANGE, ([[1.0]], [[]])),
        ("quantile", partial(CHANGE, quantile=1.0), ([[1.0], [2.0]], [[1.0], [2.0]])),
        ("level", RISE, (0.2, [[1.0]], [[1.0]], 0.0)),
        ("limit", RISE, (-0.1, [[1.0]], [[1.0]], 0.05)),
        ("limit", RISE, (math.nan, [[1.0]], [[1.0]], 0.05)),
        ("head", RISE, (0.2, [[1.0]], [], 0.05)),
        ("base", RISE, (0.2, [[math.nan]], [[1.0]], 0.05)),
        ("b", cohen_kappa, ("ab", "a")),
        ("confidence", cohen_kappa, ("ab", "ab", 1.0)),
        ("confidence", fleiss_kappa, ([], 0.0)),
        *(("counts", fleiss_kappa, (counts,)) for counts in [
            [[1, 2], [1, 2, 0]], [[1, 2], [1, 1]], [[1, 0], [0, 1]], [[3, -1]], [[0.5, 1.5]],
        ]),
        ("labels", roc_auc, ([1.0], [])),
        ("scores", roc_auc, ([math.nan], [True])),
        ("labels", roc_auc, ([1.0], [2])),
        ("confidence", roc_auc, ([], [], 1.0)),
        ("labels", best_threshold, ([1.0, 2.0], [True])),
        ("human", powered_mean, ([1.0, math.nan], [1.0, 0.0], [1.0, 0.0])),
        ("judge", powered_mean, ([1.0, 0.0], [1.0], [1.0, 0.0])),
        ("power", powered_mean, ([1.0, 0.0], [1.0, 0.0], [1.0, 0.0], 1.5)),
        *((name, f, a) for f in (holm, benjamini_hochberg) for name, a in [
            ("p_values", ([1.1],)), ("p_values", ([math.nan],)), ("alpha", ([0.5], 0.0)),
        ]),
        ("alphas", holm_levels, ({"a": 0.0}, lambda *_: False)),
        ("alphas", holm_levels, ({"a": 1.0}, lambda *_: False)),
        ("scores", ewma_chart, ([0.9, math.nan], 0.01)),
        *(("resolution", ewma_chart, ([0.9], wrong)) for wrong in (0.0, -1.0, math.nan)),
        ("alpha", find_drift, ([], 1)),
        ("samples", homogeneity_p, ([0.5], [1, 2])),
        ("rates", homogeneity_p, ([1.5, 0.5], [1, 2])),
        ("rates", homogeneity_p, ([math.nan, 0.5], [1, 2])),
        ("samples", homogeneity_p, ([0.5, 0.5], [0, 2])),
        *(("objective", error_budget, ([], o, "28d", NOW)) for o in (-0.1, 1.1, math.nan)),
        *(("head_interval", error_budget, ([], 0.9, "28d", NOW, interval)) for interval in [
            (0.5, 0.4), (-0.1, 0.5), (0.5, 1.1),
        ]),
        ("now", error_budget, ([], 0.9, "28d", NAIVE)),
        ("time", Event, (NAIVE, 1, 0)),
        *(("failed", Event, (NOW, *counts)) for counts in [(1, 2), (1, -1), (-1, 0)]),
        ("observed", decide, (math.nan, 0.1, 0.2, 0.5, "higher")),
        ("low", decide, (0.1, math.nan, 0.2, 0.5, "higher")),
        ("high", decide, (0.1, 0.1, math.nan, 0.5, "higher")),
        ("target", decide, (0.1, 0.1, 0.2, math.nan, "higher")),
        ("low", decide, (0.1, 0.3, 0.2, 0.5, "higher")),
        ("better", decide, (0.1, 0.1, 0.2, 0.5, "bigger")),
        ("allowed", fewest_failures, ([(20, 0.0)], -0.1, 0.05)),
        ("alpha", fewest_failures, ([(20, 0.0)], 0.1, 0.0)),
        *(("looks", fewest_failures, (looks, 0.1, 0.05)) for looks in [
            [(-1, 0.0)], [(1, 1.5)], [(1, math.nan)], [(1, 0.5), (1, 0.4)],
        ]),
        ("differences", suspicion, ([2],)),
        ("differences", confirm, ([[-2]], 0.005)),
        ("lead", p_value, (-1, 3)),
        ("pairs", p_value, (4, 3)),
        ("pairs", p_value, (1, MOST_PAIRS + 1)),
        ("fixtures", walk_boundary, (-1, 0.05)),
        ("fixtures", walk_boundary, (2.5, 0.05)),
        ("level", walk_boundary, (5, 0.0)),
        ("changed", walk_p_value, (WALK, -1, 0)),
        ("broke", walk_p_value, (WALK, 1, -1)),
        ("broke", mcnemar_exact, (-1, 0)),
        ("fixed", mcnemar_exact, (0, True)),
        ("broke", mcnemar_chi_square, (0.5, 0)),
        ("fixed", mcnemar_chi_square, (0, -1)),
        ("alternative", mcnemar_exact, (1, 1, "greater")),
        ("base_passed", fisher_exact, (2, 1, 0, 1)),
        ("head_passed", fisher_exact, (0, 1, 2, 1)),
        ("base_n", fisher_exact, (0, -1, 0, 1)),
        ("head_n", fisher_exact, (0, 1, 0, -1)),
        ("level", drop_bound, ([0.1, 0.2], 0.0)),
        ("drops", drop_bound, ([0.0, math.nan], 0.05)),
        ("drops", drop_bound, ([math.inf, 0.0], 0.05)),
        ("alpha", most_broken, (5, 0.5, 1.0)),
        ("share", most_broken, (5, math.nan, 0.5)),
        ("margin", not_worse_capital, ([0, 0], 0.0)),
        ("margin", not_worse_capital, ([0, 0], math.nan)),
        ("fixtures", regression_power, (-1, 0.5, 0.05)),
        ("drop", regression_power, (5, 1.5, 0.05)),
        ("alpha", regression_power, (5, 0.5, 0.0)),
        ("fixed_rate", regression_power, (5, 0.5, 0.05, -0.1)),
        ("drop", regression_power, (5, 0.6, 0.05, 0.5)),
        ("power", minimum_detectable_effect, (5, 0.05, 1.0)),
        ("fixed_rate", minimum_detectable_effect, (5, 0.05, 0.8, 1.1)),
        ("power", fixtures_needed, (0.5, 0.05, 0.0)),
        ("drop", fixtures_needed, (-0.5, 0.05)),
        ("level", SequentialTest, (10, 3, 0.0, 0.05, 0.05)),
        ("alpha", SequentialTest, (10, 3, 0.05, math.nan, 0.05)),
    ],
)  # fmt: skip
def test_a_wrong_argument_is_named(named, function, arguments):
    with pytest.raises(ValueError, match=rf"^{named}: "):
        function(*arguments)
