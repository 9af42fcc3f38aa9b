"""Small designs of the sequential test: what may be drawn, and the test run through it."""

from itertools import product

import numpy as np
from hypothesis import strategies as st

from gatekeeper.stats.paired.sequential import SequentialTest

ROUNDS = [1, 2, 3, 5]
LEVELS = st.sampled_from([0.02, 0.05, 0.1, 0.2, 0.35])
CELLS = st.sampled_from([-1, 0, 1, 1])


def plan(fixtures, rounds, level=0.05, margin=0.05, early=True):
    return SequentialTest(fixtures, rounds, level, level, margin, early)


def table(rows):
    return np.array(rows, dtype=np.int8)


@st.composite
def drawn(draw, rounds=None, fewest=0, most=7):
    """Differences of shape (fixtures, rounds): a few that flicker, break or stay, any signs."""
    rounds = draw(st.sampled_from(ROUNDS)) if rounds is None else rounds
    same = st.sampled_from([-1, 0, 1]).map(lambda d: [d] * rounds)
    flickers = st.lists(CELLS, min_size=rounds, max_size=rounds)
    rows = draw(st.lists(st.one_of(same, flickers), min_size=fewest, max_size=most))
    return table(rows).reshape(len(rows), rounds)


def run(test, kindest, harshest=None):
    """The stop, and how many complete rounds and pairs of the first the decision rests on."""
    harshest = kindest if harshest is None else harshest
    early = test.after_pairs(kindest[:, 0], harshest[:, 0])
    if early:
        return early[0], 0, early[1]
    for done in range(1, test.rounds + 1):
        stop = test.after_round(kindest[:, :done], harshest[:, :done])
        if stop:
            return stop, done, len(kindest)
    raise AssertionError("it must end when all is drawn")


def every_sign(differences):
    """What a harmless change would be as likely to have given: each fixture as it is or the
    other way round."""
    for signs in product([1, -1], repeat=len(differences)):
        yield differences * np.array(signs, dtype=np.int8)[:, None]
