"""How far ahead of the first unanswered call should a run go?

    python -m benchmarks.ahead [--runs 40] [--calls 400] [--enough 60]

Latencies are log-normal with a median of a second; one call in a hundred takes a minute more.
Each distance is tried on runs that need every call, for the seconds they take, and on runs that
have enough after the first samples, for the calls they pay for. Time is simulated.
"""

from __future__ import annotations

import argparse
import asyncio
import random
from collections.abc import Sequence
from statistics import fmean

from benchmarks.simulated_time import SimulatedLoop
from gatekeeper.contract.policies.policy import Limits
from gatekeeper.contract.values.definition import Message
from gatekeeper.contract.values.trial import Completion, Outcome, Request, Sample, Trial
from gatekeeper.sampling import runner
from gatekeeper.sampling.retries import RetryPolicy

CONCURRENCY = 16
DISTANCES = (1, 2, 4, 8, 16, 10_000)


class _Client:
    def __init__(self, seed: int, spread: float, stuck: float) -> None:
        self._random = random.Random(seed)  # noqa: S311
        self._spread, self._stuck = spread, stuck

    async def complete(self, request: Request) -> Completion:  # noqa: ARG002
        seconds = self._random.lognormvariate(0, self._spread)
        await asyncio.sleep(seconds + 60 * (self._random.random() < self._stuck))
        return Completion("ok")

    async def aclose(self) -> None: ...


class _Watch:
    def __init__(self, enough: int) -> None:
        self._missing = enough

    def wants(self, trial: Trial) -> bool:  # noqa: ARG002
        return self._missing > 0

    def questions(self, sample: Sample) -> tuple[Request, ...]:  # noqa: ARG002
        return ()

    def evaluate(self, sample: Sample) -> Outcome:
        return Outcome(sample)

    def add(self, outcome: Outcome) -> None:  # noqa: ARG002
        self._missing -= 1


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=40)
    parser.add_argument("--calls", type=int, default=400)
    parser.add_argument("--enough", type=int, default=60)
    options = parser.parse_args()
    trials = [
        Trial("c", str(n), "head", 0, Request("m", (Message("user", str(n)),), {}, 1, 0))
        for n in range(options.calls)
    ]
    print("spread stuck | calls ahead per slot | seconds to the end | calls to an early stop")
    for spread, stuck in ((0.5, 0.0), (1.0, 0.0), (0.5, 0.01)):
        for distance in DISTANCES:
            runner.CALLS_AHEAD = distance
            seeds = range(options.runs)
            whole = [_run(trials, seed, spread, stuck, options.calls)[0] for seed in seeds]
            early = [_run(trials, seed, spread, stuck, options.enough)[1] for seed in seeds]
            figures = f"{fmean(whole):18.1f} | {fmean(early):22.0f}"
            print(f"{spread:6} {stuck:5} | {distance:20} | {figures}")


def _run(
    trials: Sequence[Trial], seed: int, spread: float, stuck: float, enough: int
) -> tuple[float, int]:
    """Seconds until the run ended, and the calls it made."""
    loop = SimulatedLoop()
    try:
        done = loop.run_until_complete(
            runner.run_trials(
                trials,
                _Client(seed, spread, stuck),
                _Watch(enough),
                Limits(None, None, None, CONCURRENCY),
                retry=RetryPolicy(timeout_seconds=120),
                clock=loop.time,
            )
        )
        return loop.time(), done.made
    finally:
        loop.close()


if __name__ == "__main__":
    main()
