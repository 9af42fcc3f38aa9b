"""evalsig's rule is computed for all runs at once; this holds it against the package itself."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np

from benchmarks.decisions import rivals
from benchmarks.decisions.designs import Decisions
from benchmarks.decisions.scenarios import broken, failing_calls, steady, temperature_zero
from benchmarks.decisions.stream import Stream

ALPHA = 0.05


def evalsig_is_installed() -> bool:
    return find_spec("evalsig") is not None


def evalsig_differs_from_its_package(runs: int = 5, seed: int = 1) -> list[str]:
    """What the two forms disagree on, run by run."""
    draws = {
        "identical": steady(0.95, 0.95),
        "all broken": broken(1.0),
        "some broken": broken(0.1),
        "temperature 0": temperature_zero(),
        "nothing but breaks": steady(1.0, 0.0),
        "failed calls": failing_calls(),
    }
    found = []
    for name, draw in draws.items():
        stream = draw(np.random.default_rng(seed), runs)
        batch = rivals.evalsig(stream, ALPHA, 0.05)
        found += [
            f"{name}, run {run}: the package {theirs}, here {ours}"
            for run in range(runs)
            if (theirs := _by_the_package(stream, run)) != (ours := _by_the_batch(batch, run))
        ]
    return found


def _by_the_package(stream: Stream, run: int) -> tuple[bool, int]:
    """Did it fire, and how many pairs had been drawn by then."""
    from evalsig import sequential_gate

    drawn = np.flatnonzero(stream.measured_in_plan_order[run])
    fed = stream.in_plan_order[run, drawn].astype(float)
    outcome = sequential_gate(
        fed,
        alpha=ALPHA,
        alternative="greater",
        rho=rivals.EVALSIG_RHO,
        min_n=rivals.EVALSIG_FROM_PAIR,
    )
    if outcome.ci[0] <= 0:
        return False, stream.pairs
    return True, int(drawn[outcome.n_pairs - 1]) + 1


def _by_the_batch(decisions: Decisions, run: int) -> tuple[bool, int]:
    return bool(decisions.regressed[run]), int(decisions.pairs[run])
