"""The simulation of weights asks the test without and with them on the same streams."""

import numpy as np

from benchmarks import fixture_weights
from benchmarks.decisions import product
from benchmarks.decisions.scenarios import ALPHA, MARGIN


def test_weights_find_a_drop_that_flicker_hides_more_often():
    change = next(c for c in fixture_weights.CHANGES if "all fall" in c.name)
    stream, weights = fixture_weights._draw(np.random.default_rng(3), change, (60, 50, 1))
    found = [product.adaptive(stream, ALPHA, MARGIN, w).regressed.sum() for w in ((), weights)]

    assert len(set(weights[0])) > 1
    assert found[1] > found[0]
