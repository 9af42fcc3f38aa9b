"""Does the gate cry wolf, what does it find, and how early does it stop? A simulation.

    python -m benchmarks.decisions [--runs 2000] [--seed 1] [--write benchmarks/error-rates.md]

Prints the tables, or writes them between the markers of a page. Ends with exit status 1 where
a design of this project blocks more often than --limit although head is no worse, or says "not
worse" more often than that although head is worse by the margin.
"""

from __future__ import annotations

import os

# Before numpy is loaded: the processes share the processors out already.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import sys
import time
from pathlib import Path

from benchmarks.decisions import rival_check
from benchmarks.decisions.scenarios import SCENARIOS
from benchmarks.decisions.simulation import Results, simulate
from benchmarks.decisions.table import tables, write_between_markers

OUR_DESIGNS = ("fixed", "adaptive")


def main() -> int:
    arguments = _arguments()
    if not rival_check.evalsig_is_installed():
        print("evalsig is not installed: our fast form of it is not checked against it")
    elif differences := rival_check.evalsig_differs_from_its_package():
        print("evalsig decides otherwise than our fast form of it:", *differences, sep="\n  ")
        return 1

    started = time.perf_counter()
    results = simulate(arguments.runs, arguments.seed, arguments.processes)
    text = tables(results, arguments.runs, arguments.seed)
    if arguments.write is None:
        print(text)
    else:
        write_between_markers(arguments.write, text)
    print(f"\n{len(SCENARIOS)} scenarios in {time.perf_counter() - started:.0f} s")

    broken_promises = [
        *_false_alarms(results, arguments.limit),
        *_wrongly_not_worse(results, arguments.limit),
    ]
    print(*broken_promises, sep="\n")
    return 1 if broken_promises else 0


def _false_alarms(results: Results, limit: float) -> list[str]:
    return [
        f"{design} blocks {rate:.1%} of runs, more than {limit:.1%}: {scenario.name}"
        for scenario in SCENARIOS
        if scenario.truth == "null"
        for design in OUR_DESIGNS
        if (rate := results[scenario.name][design].regressed_rate) > limit
    ]


def _wrongly_not_worse(results: Results, limit: float) -> list[str]:
    return [
        f'adaptive says "not worse" in {rate:.1%} of runs, more than {limit:.1%}: {scenario.name}'
        for scenario in SCENARIOS
        if scenario.truth == "margin"
        if (rate := results[scenario.name]["adaptive"].not_worse_rate) > limit
    ]


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--limit", type=float, default=0.055)
    parser.add_argument("--write", type=Path)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
