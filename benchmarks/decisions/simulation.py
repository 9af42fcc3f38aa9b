"""Every design on the same streams, in pieces that share out over the processors."""

from __future__ import annotations

import multiprocessing
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.decisions import designs, product, rivals
from benchmarks.decisions.designs import Decisions, Design
from benchmarks.decisions.scenarios import ALPHA, SCENARIOS, Scenario
from benchmarks.decisions.stream import Bools, Ints

_ROWS_AT_ONCE = 500
"""Runs drawn together: some tens of megabytes at the largest scenario."""

DESIGNS: Mapping[str, Design] = {
    "fixed": designs.fixed,
    "adaptive": product.adaptive,
    "evalsig": rivals.evalsig,
    "pooled McNemar": rivals.pooled_mcnemar,
    "naive e-process": rivals.naive_e_process,
    "threshold": rivals.threshold,
    "peeking": rivals.peeking,
}


@dataclass(frozen=True)
class Outcome:
    """How the runs of one scenario ended under one design; pairs over all contracts of a run."""

    regressed: Bools
    not_worse: Bools
    unmeasured: Bools
    pairs: Ints
    pairs_without_stopping: int

    @property
    def regressed_rate(self) -> float:
        return float(self.regressed.mean())

    @property
    def not_worse_rate(self) -> float:
        return float(self.not_worse.mean())

    @property
    def unmeasured_rate(self) -> float:
        return float(self.unmeasured.mean())

    @property
    def median_pairs(self) -> float:
        return float(np.median(self.pairs))

    @property
    def saved(self) -> float:
        """The share of the fixed design's calls that were not made, over all runs."""
        return 1 - float(self.pairs.mean()) / self.pairs_without_stopping


Results = Mapping[str, Mapping[str, Outcome]]
"""By scenario and design."""


@dataclass(frozen=True)
class _Piece:
    scenario: int
    runs: int
    seed: np.random.SeedSequence


def simulate(runs: int, seed: int, processes: int) -> Results:
    """`runs` runs of every scenario. The result depends on `runs` and `seed` alone."""
    pieces = list(_pieces(runs, seed))
    parts: dict[tuple[int, str], list[Outcome]] = defaultdict(list)
    for piece, outcomes in zip(pieces, _decided(pieces, processes), strict=True):
        for name, outcome in outcomes.items():
            parts[piece.scenario, name].append(outcome)
    return {
        scenario.name: {name: _joined(parts[number, name]) for name in asked(scenario)}
        for number, scenario in enumerate(SCENARIOS)
    }


def asked(scenario: Scenario) -> Sequence[str]:
    """The designs that a scenario is put to: only one may be wrong in saying "not worse"."""
    return ("adaptive",) if scenario.truth == "margin" else tuple(DESIGNS)


def _decided(pieces: Sequence[_Piece], processes: int) -> Iterator[dict[str, Outcome]]:
    """The outcomes of each piece, in order."""
    if processes == 1:
        yield from map(_decide, pieces)
        return
    with multiprocessing.get_context("spawn").Pool(processes) as pool:
        yield from pool.imap(_decide, pieces)


def _pieces(runs: int, seed: int) -> Iterator[_Piece]:
    seeds = np.random.SeedSequence(seed).spawn(len(SCENARIOS))
    for number, (scenario, own_seed) in enumerate(zip(SCENARIOS, seeds, strict=True)):
        size = max(1, _ROWS_AT_ONCE // scenario.contracts)
        starts = range(0, runs, size)
        for start, piece_seed in zip(starts, own_seed.spawn(len(starts)), strict=True):
            yield _Piece(number, min(size, runs - start), piece_seed)


def _decide(piece: _Piece) -> dict[str, Outcome]:
    scenario = SCENARIOS[piece.scenario]
    rng = np.random.default_rng(piece.seed)
    stream = scenario.draw(rng, piece.runs * scenario.contracts)
    level = ALPHA / scenario.contracts
    return {
        name: _per_run(DESIGNS[name](stream, level, scenario.margin), scenario, stream.pairs)
        for name in asked(scenario)
    }


def _per_run(decisions: Decisions, scenario: Scenario, pairs: int) -> Outcome:
    """A run is blocked by any of its contracts. By Holm the first has alpha over their number."""
    shape = (-1, scenario.contracts)
    regressed = np.any(decisions.regressed.reshape(shape), axis=1)
    return Outcome(
        regressed,
        np.all(decisions.not_worse.reshape(shape), axis=1),
        np.any(decisions.unmeasured.reshape(shape), axis=1) & ~regressed,
        np.sum(decisions.pairs.reshape(shape), axis=1),
        pairs * scenario.contracts,
    )


def _joined(parts: Sequence[Outcome]) -> Outcome:
    return Outcome(
        np.concatenate([part.regressed for part in parts]),
        np.concatenate([part.not_worse for part in parts]),
        np.concatenate([part.unmeasured for part in parts]),
        np.concatenate([part.pairs for part in parts]),
        parts[0].pairs_without_stopping,
    )
