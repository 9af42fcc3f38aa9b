"""How often does `gatekeeper blame` name the harmful edits, and how many calls does it take?

    python -m benchmarks.blame [--runs 2000] [--seed 1] [--write docs/error-rates.md]

A change of ten edits breaks two fifths of 40 fixtures: by one edit, by two edits that each break
some, or by two edits that only break together. A broken fixture still passes one time in ten, and
any other fails one time in twenty. The search and its sequential test are those of the command;
only the model is simulated. It ends with an error if the harmful edits are named less often than
promised, an innocent edit is blamed in more than 5 % of runs, a proposed revert leaves a cause in
more than 1 % of runs, or all of it takes more than 40 % of the calls that every edit alone on every
fixture would take.
"""

from __future__ import annotations

import asyncio
import random
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field

from benchmarks.decisions.table import markdown_table
from benchmarks.simulation_page import rate, show
from gatekeeper.author.blame.measure import MOST_CONFIRMED
from gatekeeper.author.blame.rates import Rates, expected_rates
from gatekeeper.author.blame.search import Group, find_causes, smallest_revert
from gatekeeper.stats.intervals import wilson
from gatekeeper.stats.mcnemar import mcnemar_exact

BEGIN, END = "<!-- bench-blame:begin -->", "<!-- bench-blame:end -->"
EDITS, FIXTURES = 10, 40
PROMISES = {"one edit": 0.95, "two edits": 0.9, "two edits together": 0.8}
INNOCENT, INCOMPLETE, CALLS = 0.05, 0.01, 0.4
_PASSES, _STILL_PASSES, _BREAKS = 0.95, 0.1, 0.4
_REPETITIONS = 5


@dataclass
class World:
    """A change with known causes, each with the fixtures that it breaks."""

    causes: Sequence[Group]
    drawn: random.Random
    breaks: list[set[int]] = field(init=False)
    calls: int = 0

    def __post_init__(self) -> None:
        self.breaks = [
            {number for number in range(FIXTURES) if self.drawn.random() < _BREAKS}
            for _ in self.causes
        ]

    def passes(self, edits: Group, fixture: int) -> bool:
        """Whether one answer passes, of base with these edits."""
        broken = any(
            cause <= edits and fixture in hit
            for cause, hit in zip(self.causes, self.breaks, strict=True)
        )
        return self.drawn.random() < (_STILL_PASSES if broken else _PASSES)

    def measure(self, edits: Group, fixtures: Sequence[int]) -> list[bool]:
        """One answer to each fixture, of base with these edits."""
        self.calls += len(fixtures)
        return [self.passes(edits, fixture) for fixture in fixtures]

    async def search(
        self, fixtures: Sequence[int], rates: Rates
    ) -> tuple[Sequence[Group], Group | None]:
        """Search the causes and the smallest revert as the command does."""

        async def breaks(edits: Group) -> bool | None:
            outcomes: list[bool] = []
            for _ in range(_REPETITIONS):
                for fixture in self.drawn.sample(fixtures, len(fixtures)):
                    outcomes.append(self.passes(edits, fixture))
                    self.calls += 1
                    if (decided := rates.decide(outcomes)) is not None:
                        return decided
            return None

        found = await find_causes(EDITS, breaks)
        for cause in found.causes:
            self.measure(cause, fixtures)
        if not found.explained:
            return found.causes, None
        revert = await smallest_revert(found.causes, EDITS, breaks)
        left = frozenset(range(EDITS)) - revert
        some = self.drawn.sample(fixtures, min(MOST_CONFIRMED, len(fixtures)))
        proven = not left or rates.evidence(self.measure(left, some)) < 0
        return found.causes, revert if proven else None


def table(seed: int, runs: int) -> tuple[str, list[str]]:
    """The table, and the promises that are broken."""
    rows, broken = [], []
    for kind, promised in PROMISES.items():
        drawn = random.Random(f"{seed}|{kind}")  # noqa: S311
        named = innocent = calls = proposed = incomplete = 0
        for _ in range(runs):
            (found, revert), causes, took = _run(kind, drawn)
            named += sorted(map(sorted, found)) == sorted(map(sorted, causes))
            innocent += not frozenset().union(*found) <= frozenset().union(*causes)
            calls += took
            proposed += revert is not None
            incomplete += revert is not None and not all(revert & cause for cause in causes)
        share = calls / runs / (EDITS * FIXTURES)
        rates = [rate(count, runs) for count in (named, innocent, proposed, incomplete)]
        rows.append([kind, *rates, f"{share * 100:.0f} %"])
        if wilson(named, runs, 0.99).high < promised:
            broken.append(f"{kind}: named in {named} of {runs} runs")
        if wilson(innocent, runs, 0.99).low > INNOCENT:
            broken.append(f"{kind}: an innocent edit blamed in {innocent} of {runs} runs")
        if wilson(incomplete, runs, 0.99).low > INCOMPLETE:
            broken.append(f"{kind}: a revert that leaves a cause in {incomplete} of {runs} runs")
        if share > CALLS:
            broken.append(f"{kind}: {share:.2f} of the calls of every edit alone")
    said = (
        f"{runs:,} changes of each kind that the gate blocks, seed {seed}; {EDITS} edits, "
        f"{FIXTURES} fixtures. Figures are % of runs; brackets contain the 95 % interval "
        "of the simulation itself (Wilson).\n\n"
    )
    titles = ["harmful", "named exactly", "an innocent edit blamed"]
    titles += ["a revert proposed", "it leaves a cause", "calls"]
    return said + markdown_table(titles, rows), broken


def _run(
    kind: str, drawn: random.Random
) -> tuple[tuple[Sequence[Group], Group | None], Sequence[Group], int]:
    """One change that the gate blocks: what is found, the causes, and the calls."""
    everything = frozenset(range(EDITS))
    while True:
        one, other = drawn.sample(range(EDITS), 2)
        causes = {
            "one edit": [frozenset({one})],
            "two edits": [frozenset({one}), frozenset({other})],
            "two edits together": [frozenset({one, other})],
        }[kind]
        world = World(causes, drawn)
        base, head = (
            [world.passes(edits, number) for number in range(FIXTURES)]
            for edits in (frozenset(), everything)
        )
        broke = [n for n in range(FIXTURES) if base[n] and not head[n]]
        fixed = sum(after and not before for before, after in zip(base, head, strict=True))
        rates = expected_rates(sum(base) / FIXTURES, 0.0, len(broke), fixed) if broke else None
        if rates and mcnemar_exact(len(broke), fixed) <= 0.05:
            return asyncio.run(world.search(broke, rates)), causes, world.calls


if __name__ == "__main__":
    sys.exit(show(table, BEGIN, END, 2000))
