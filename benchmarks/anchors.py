"""How often a judge that does not change is reported as drifted within a year of nights.

    python -m benchmarks.anchors [--runs 1000]

Each anchor has a probability with which the judge grades it as people do, the same on every night
and at calibration. Some anchors are doubtful: the judge is right about them half of the time. The
last rows have a judge that passes everything from the first night on. People pass every second
anchor. Prints the table of benchmarks/error-rates.md.
"""

from __future__ import annotations

import argparse
import random
from dataclasses import dataclass

from gatekeeper.gate.results.parts import JUDGE_DRIFT_LEVEL
from gatekeeper.history.judge_drift import NIGHTS
from gatekeeper.stats.intervals.intervals import wilson
from gatekeeper.stats.judges.judge_accuracy import changed_verdicts_p

YEAR = 365
SEED = 14


@dataclass(frozen=True)
class Case:
    """`doubtful` of 30 anchors are right half of the time, the others always; with `lenient`, the
    judge passes everything from the first night on."""

    doubtful: int
    lenient: bool = False
    anchors: int = 30


CASES = (
    *(Case(doubtful) for doubtful in (0, 5, 10, 20, 30)),
    Case(5, lenient=True),
    Case(15, lenient=True),
    Case(5, lenient=True, anchors=16),
)


def nights_to_alarm(case: Case, rng: random.Random) -> tuple[int | None, int | None]:
    """Return the first night on which the judge differs, and the first on which it is reported."""
    n = case.anchors
    before = _grades(case, rng)
    first = reported = None
    row = 0
    for night in range(1, YEAR + 1):
        now = _grades(case, rng)
        if case.lenient:
            now = [number % 2 == 0 for number in range(n)]  # people fail the other half
        lost = [i for i in range(n) if before[i] and not now[i]]
        gained = [i for i in range(n) if now[i] and not before[i]]
        # Of what people fail, a verdict that is wrong now is a pass.
        to_pass = sum(i % 2 == 1 for i in lost) + sum(i % 2 == 0 for i in gained)
        p_value = changed_verdicts_p(len(lost), len(gained), to_pass)
        row = row + 1 if p_value <= JUDGE_DRIFT_LEVEL else 0
        if row and first is None:
            first = night
        if row >= NIGHTS:
            reported = night
            break
    return first, reported


def _grades(case: Case, rng: random.Random) -> list[bool]:
    doubtful = range(case.anchors - case.doubtful, case.anchors)
    return [rng.random() < 0.5 if i in doubtful else True for i in range(case.anchors)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    runs = parser.parse_args().runs
    print(
        f"{runs:,} years of each case, seed {SEED}. Brackets contain the 95 % interval (Wilson).\n"
    )
    print("| Anchors | Doubtful | The judge | Differs on some night | Reported as drifted |")
    print("| ---: | ---: | --- | ---: | ---: |")
    for number, case in enumerate(CASES):
        rng = random.Random(SEED + number)  # noqa: S311
        found = [nights_to_alarm(case, rng) for _ in range(runs)]
        cells = [_share(sum(f[i] is not None for f in found), runs) for i in (0, 1)]
        judge = "passes everything from then on" if case.lenient else "does not change"
        print(f"| {case.anchors} | {case.doubtful} | {judge} | {cells[0]} | {cells[1]} |")


def _share(count: int, runs: int) -> str:
    interval = wilson(count, runs)
    return f"{100 * count / runs:.1f} % ({100 * interval.low:.1f} – {100 * interval.high:.1f})"


if __name__ == "__main__":
    main()
