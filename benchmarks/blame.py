"""How often does `gatekeeper blame` name the harmful edits, and how many calls does it take?

    python -m benchmarks.blame [--runs 2000] [--seed 1] [--write docs/error-rates.md]

A change of ten edits breaks two fifths of 40 fixtures: by one edit, by two edits that each break
some, or by two edits that only break together. A broken fixture still passes one time in ten, and
any other fails one time in twenty. The search and its sequential test are those of the command;
only the model is simulated. It ends with an error if the harmful edits are named less often than
promised, an innocent edit is blamed in more than 5 % of runs, or the search takes more than 40 % of
the calls that every edit alone on every fixture would take.
"""

from __future__ import annotations

import asyncio
import random
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field

from benchmarks.decisions.table import markdown_table
from benchmarks.simulation_page import rate, show
from gatekeeper.author.blame.rates import Rates, expected_rates
from gatekeeper.author.blame.search import Group, find_causes
from gatekeeper.stats.intervals import wilson
from gatekeeper.stats.mcnemar import mcnemar_exact

BEGIN, END = "<!-- bench-blame:begin -->", "<!-- bench-blame:end -->"
EDITS, FIXTURES = 10, 40
PROMISES = {"one edit": 0.95, "two edits": 0.9, "two edits together": 0.8}
INNOCENT, CALLS = 0.05, 0.4
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

    async def search(self, fixtures: Sequence[int], rates: Rates) -> Sequence[Group]:
        """Search the causes as the command does."""

        async def breaks(edits: Group) -> bool | None:
            outcomes: list[bool] = []
            for _ in range(_REPETITIONS):
                for fixture in self.drawn.sample(fixtures, len(fixtures)):
                    outcomes.append(self.passes(edits, fixture))
                    self.calls += 1
                    if (decided := rates.decide(outcomes)) is not None:
                        return decided
            return None

        return (await find_causes(EDITS, breaks)).causes


def table(seed: int, runs: int) -> tuple[str, list[str]]:
    """The table, and the promises that are broken."""
    rows, broken = [], []
    for kind, promised in PROMISES.items():
        drawn = random.Random(f"{seed}|{kind}")  # noqa: S311
        named = innocent = calls = 0
        for _ in range(runs):
            found, causes, took = _run(kind, drawn)
            named += sorted(map(sorted, found)) == sorted(map(sorted, causes))
            innocent += not frozenset().union(*found) <= frozenset().union(*causes)
            calls += took
        share = calls / runs / (EDITS * FIXTURES)
        rows.append([kind, rate(named, runs), rate(innocent, runs), f"{share * 100:.0f} %"])
        if wilson(named, runs, 0.99).high < promised:
            broken.append(f"{kind}: named in {named} of {runs} runs")
        if wilson(innocent, runs, 0.99).low > INNOCENT:
            broken.append(f"{kind}: an innocent edit blamed in {innocent} of {runs} runs")
        if share > CALLS:
            broken.append(f"{kind}: {share:.2f} of the calls of every edit alone")
    said = (
        f"{runs:,} changes of each kind that the gate blocks, seed {seed}; {EDITS} edits, "
        f"{FIXTURES} fixtures. Figures are % of runs; brackets contain the 95 % interval "
        "of the simulation itself (Wilson).\n\n"
    )
    titles = ["harmful", "named exactly", "an innocent edit blamed", "calls of the search"]
    return said + markdown_table(titles, rows), broken


def _run(kind: str, drawn: random.Random) -> tuple[Sequence[Group], Sequence[Group], int]:
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
