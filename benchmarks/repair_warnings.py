"""How often does the warning about repairs come by chance? A simulation of two arms that are alike.

    python -m benchmarks.repair_warnings [--runs 1500]

The comparison of the suite may end the sampling, and the repair rate is then tested on the samples
that are there. `passes` and `fails` are the worst cases: an output needs a repair exactly if it
passes, or fails. Ends with exit status 1 if more than 2 % of runs warn in any case.
"""

from __future__ import annotations

import argparse
import itertools
import sys

import numpy as np
from numpy.random import Generator

from gatekeeper.gate.plan.alpha import LIMITS
from gatekeeper.stats.paired.sequential import SequentialTest
from gatekeeper.stats.paired.sign_flip import sign_flip_test

ALPHA, MARGIN = 0.05, 0.05
LEVEL = ALPHA * LIMITS
MOST = 0.02
SUITES = ((40, 1), (200, 1), (60, 5))
PASS_RATES = (0.5, 0.9)
NEEDS = ("by chance", "passes", "fails")


def warns(rng: Generator, fixtures: int, rounds: int, pass_rate: float, needs: str) -> bool:
    """Simulate one run, and return whether it warns."""
    shape = (fixtures, rounds)
    base, head = rng.random(shape) < pass_rate, rng.random(shape) < pass_rate
    if needs == "by chance":
        repaired = rng.random(shape) < 0.3, rng.random(shape) < 0.3
    else:
        repaired = (base, head) if needs == "passes" else (~base, ~head)
    more = repaired[1].astype(np.int8) - repaired[0].astype(np.int8)
    drops = base.astype(np.int8) - head.astype(np.int8)
    test = SequentialTest(fixtures, rounds, ALPHA, ALPHA, MARGIN)
    early = test.after_pairs(drops[:, 0], drops[:, 0])
    if early is not None:
        sampled = more[: early[1], :1]
    else:
        ends = (k for k in range(1, rounds + 1) if test.after_round(drops[:, :k], drops[:, :k]))
        sampled = more[:, : next(ends, rounds)]
    return sign_flip_test(sampled.sum(axis=1, dtype=int).tolist()) <= LEVEL


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1500)
    runs = parser.parse_args().runs
    highest = 0.0
    print("| fixtures | samples | pass rate | needs a repair | runs that warn |")
    print("| ---: | ---: | ---: | --- | ---: |")
    for (fixtures, rounds), rate, needs in itertools.product(SUITES, PASS_RATES, NEEDS):
        rng = np.random.default_rng(1)
        share = sum(warns(rng, fixtures, rounds, rate, needs) for _ in range(runs)) / runs
        highest = max(highest, share)
        print(f"| {fixtures} | {rounds} | {rate} | {needs} | {share:.2%} |", flush=True)
    return int(highest > MOST)


if __name__ == "__main__":
    sys.exit(main())
