"""What a whole `gatekeeper check` takes, compared with the time that the model needs.

    python -m benchmarks.whole_runs [--calls 2000] [--concurrency 64] [--repeat 3]

A server in another process answers every request after a delay. Each row is the median of processes
of `gatekeeper check` with three checks and all default reports, with their byte code compiled as
after an installation. *Process* is the time from start to end, reports included. *Measuring* is
`seconds` in `result.json`: calls, checks and statistics, without start-up and reports. *Sampling*
is the time from the first request to the last answer. *Client* is the same without checks and
statistics, and without a run around it. The ideal is the time of the rounds of calls
that the server answers. The processor time without start-up is that of the run less that of a run
of two calls. Ends with 1 if a row does not reach its goal.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.engine import (
    PROCESSES,
    Cost,
    byte_code,
    ideal_seconds,
    run_check,
    server,
    take_row,
)

NATIVE = PROCESSES[0]
FEW, MANY = 40, 10_000
"""The calls of a user's pull request, and of the suite whose memory is measured."""


@dataclass(frozen=True, slots=True)
class Row:
    """One measure with the value to reach."""

    name: str
    value: float
    goal: float | None = None

    @property
    def is_missed(self) -> bool:
        """Whether the row has a goal and does not reach it."""
        return self.goal is not None and self.value > self.goal

    def __str__(self) -> str:
        goal = "-" if self.goal is None else f"{self.goal:.2f}"
        return f"{self.name:50}{self.value:9.2f}{goal:>10}{'  missed' if self.is_missed else ''}"


def median(runs: list[Cost], read: Callable[[Cost], float | None]) -> float:
    """Return the median of what `read` returns for each run."""
    return statistics.median(value for run in runs if (value := read(run)) is not None)


def measure(calls: int, concurrency: int, repeat: int, many: int) -> list[Row]:
    """Return the rows. `many` is the number of calls of the run whose memory is measured."""

    def runs(delay_ms: float, count: int, times: int = repeat) -> list[Cost]:
        with server(delay_ms):
            return [run_check(NATIVE, count, concurrency) for _ in range(times)]

    def client(row: str, delay_ms: float, goal: float) -> Row:
        with server(delay_ms):
            taken = [take_row(row, calls, concurrency) for _ in range(repeat)]
        ratio = median(taken, _wall) / ideal_seconds(calls, concurrency, delay_ms)
        return Row(f"client, {row} / ideal, {delay_ms:g} ms", ratio, goal)

    runs(0, 2, 1)  # compiles
    idle, few, largest = runs(0, 2), runs(0, FEW), runs(0, many, 1)
    slow, usual, quick = (runs(delay, calls) for delay in (500, 200, 50))
    ideals = [ideal_seconds(calls, concurrency, delay) for delay in (500, 200, 50)]
    added = median(usual, _processor) - median(idle, _processor)
    return [
        Row("process / ideal, 500 ms", median(slow, _wall) / ideals[0], 1.15),
        Row("process / ideal, 200 ms", median(usual, _wall) / ideals[1], 1.30),
        Row("sampling / ideal, 200 ms", median(usual, _sampling) / ideals[1], 1.05),
        Row("sampling / ideal, 50 ms", median(quick, _sampling) / ideals[2], 1.25),
        Row("measuring / ideal, 200 ms", median(usual, _measuring) / ideals[1]),
        Row("measuring / ideal, 50 ms", median(quick, _measuring) / ideals[2]),
        client("native", 200, 1.05),
        client("native", 50, 1.25),
        client("litellm", 200, 2.2),
        Row("processor ms a call, without start-up, 200 ms", added / (calls - 2) * 1000, 1.5),
        Row(f"process, {FEW} calls, 0 ms: s", median(few, _wall), 1.5),
        Row(f"memory, {many:,} calls: MB", median(largest, _peak), 150),
    ]


def _wall(run: Cost) -> float:
    return run.wall


def _processor(run: Cost) -> float:
    return run.processor


def _sampling(run: Cost) -> float | None:
    return run.sampling


def _measuring(run: Cost) -> float | None:
    return run.measuring


def _peak(run: Cost) -> float | None:
    return run.peak_mb


def main() -> int:
    """Print the rows; 1 if one does not reach its goal."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--calls", type=int, default=2000)
    parser.add_argument("--concurrency", type=int, default=64)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--smoke", action="store_true", help="show that it runs; decide nothing")
    options = parser.parse_args()
    with byte_code():
        rows = measure(
            options.calls, options.concurrency, options.repeat, FEW if options.smoke else MANY
        )
    print(f"{options.calls} calls, {options.concurrency} at once, median of {options.repeat}")
    print(f"{'':50}{'measured':>9}{'to reach':>10}")
    print("\n".join(map(str, rows)))
    return int(not options.smoke and any(row.is_missed for row in rows))


if __name__ == "__main__":
    raise SystemExit(main())
