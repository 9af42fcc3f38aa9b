"""The simulation of what a harmless change costs asks the test as it was and as it is."""

import numpy as np

from benchmarks import harmless_calls
from benchmarks.decisions import product
from benchmarks.decisions.scenarios import ALPHA, MARGIN, steady
from gatekeeper.stats.sequential import SequentialTest


def test_ending_early_saves_calls_and_finds_no_more():
    stream = steady(0.9, 0.9, 20, 5)(np.random.default_rng(4), 20)
    before = harmless_calls._before(stream)
    now = product.adaptive(stream, ALPHA, MARGIN)

    assert now.pairs.mean() < 0.8 * before.pairs.mean()
    assert before.pairs.mean() > 95
    assert now.regressed.sum() <= before.regressed.sum()


def test_the_share_of_the_first_round_is_given_back():
    stream = steady(0.9, 0.9, 5, 2)(np.random.default_rng(4), 1)
    harmless_calls._before(stream)

    assert [look.spent for look in SequentialTest(5, 2, 0.05, 0.05, 0.05).looks] == [0.2, 1.0]
