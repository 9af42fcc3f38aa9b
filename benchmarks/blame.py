"""How often does `gatekeeper blame` name the harmful edits, and how many calls does it take?

    python -m benchmarks.blame [--runs 2000] [--seed 1] [--write benchmarks/error-rates.md]

A change of ten edits breaks two fifths of 40 fixtures: by one edit, by two edits that each break
some, or by two edits that only break together. A broken fixture still passes one time in ten, and
any other fails one time in twenty. As in a check, sampling ends when the change is surely worse,
and the search samples more fixtures if few broken ones are known. The search and its sequential
test are those of the command; only the model is simulated. It ends with an error if the harmful
edits are named less often than promised, an innocent edit is blamed in more than 5 % of runs, a
proposed revert leaves a cause in more than 1 % of runs, or all of it takes more than 40 % of the
calls that every edit alone on every fixture would take. In more rows, a broken fixture passes more
often: three times in ten, of which it promises only that an innocent edit is blamed in at most 5 %
of runs, and five times in ten, of which it promises nothing.
"""

from __future__ import annotations

import asyncio
import random
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field

from benchmarks.decisions.table import markdown_table, precision
from benchmarks.simulation_page import rate, show
from gatekeeper.author.blame.measure import ENOUGH_BROKEN, MOST_CONFIRMED
from gatekeeper.author.blame.search import (
    Group,
    Rates,
    expected_rates,
    find_causes,
    smallest_revert,
)
from gatekeeper.stats.intervals.intervals import wilson
from gatekeeper.stats.paired.first_round_boundary import walk_boundary
from gatekeeper.stats.paired.sequential import WALK_SHARE_ALONE

BEGIN, END = "<!-- bench-blame:begin -->", "<!-- bench-blame:end -->"
EDITS, FIXTURES = 10, 40
PROMISES = {"one edit": 0.95, "two edits": 0.9, "two edits together": 0.8}
INNOCENT, INCOMPLETE, CALLS = 0.05, 0.01, 0.4
LEVEL = 0.05
_PASSES, _BREAKS = 0.95, 0.4
_STILL_PASSES, _NOISY = 0.1, (0.3, 0.5)
"""How often a broken fixture passes: in what is promised, and in what is only shown."""
_INNOCENT_UP_TO = 0.3
"""Up to which of them it is promised that an innocent edit is hardly ever blamed."""
_REPETITIONS = 5


@dataclass
class World:
    """A change with known causes, each with the fixtures that it breaks."""

    causes: Sequence[Group]
    drawn: random.Random
    still_passes: float = _STILL_PASSES
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
        return self.drawn.random() < (self.still_passes if broken else _PASSES)

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
    for still in (_STILL_PASSES, *_NOISY):
        for kind, promised in PROMISES.items():
            name = f"{seed}|{kind}" if still == _STILL_PASSES else f"{seed}|{kind}|{still}"
            found = _count(kind, still, random.Random(name), runs)  # noqa: S311
            rows.append([kind, f"{still * 100:.0f} % still pass", *found.cells(runs)])
            if still <= _INNOCENT_UP_TO:
                broken += found.innocent_blamed(name, runs)
            if still == _STILL_PASSES:
                broken += found.broken_promises(kind, promised, runs)
    said = (
        f"Each row has {runs:,} changes that the gate blocks, with seed {seed}. Each change has "
        f"{EDITS} edits and {FIXTURES} fixtures. Figures are % of runs. {precision(runs)}\n\n"
    )
    titles = ["harmful edits", "broken fixtures still pass", "harmful edits named exactly"]
    titles += ["harmless edit named", "revert proposed", "revert leaves a cause"]
    titles += ["calls of the search"]
    return said + markdown_table(titles, rows), broken


@dataclass
class _Counts:
    """In how many runs the harmful edits are named, an innocent one is blamed, a revert is proposed
    and leaves a cause; and the calls of all runs."""

    named: int = 0
    innocent: int = 0
    proposed: int = 0
    incomplete: int = 0
    calls: int = 0

    def share(self, runs: int) -> float:
        """The calls, as a share of those that every edit alone on every fixture takes."""
        return self.calls / runs / (EDITS * FIXTURES)

    def cells(self, runs: int) -> list[str]:
        """The cells of a row."""
        counts = (self.named, self.innocent, self.proposed, self.incomplete)
        return [*(rate(n, runs) for n in counts), f"{self.share(runs) * 100:.0f} %"]

    def innocent_blamed(self, name: str, runs: int) -> list[str]:
        """Say so if an innocent edit is blamed more often than promised, by more than the
        simulation's error."""
        if wilson(self.innocent, runs, 0.99).low <= INNOCENT:
            return []
        return [f"{name}: an innocent edit blamed in {self.innocent} of {runs} runs"]

    def broken_promises(self, kind: str, promised: float, runs: int) -> list[str]:
        """What is worse than promised by more than the simulation's error."""
        broken = []
        if wilson(self.named, runs, 0.99).high < promised:
            broken.append(f"{kind}: named in {self.named} of {runs} runs")
        if wilson(self.incomplete, runs, 0.99).low > INCOMPLETE:
            said = f"a revert that leaves a cause in {self.incomplete} of {runs} runs"
            broken.append(f"{kind}: {said}")
        if self.share(runs) > CALLS:
            broken.append(f"{kind}: {self.share(runs):.2f} of the calls of every edit alone")
        return broken


def _count(kind: str, still_passes: float, drawn: random.Random, runs: int) -> _Counts:
    counts = _Counts()
    for _ in range(runs):
        (found, revert), causes, took = _run(kind, still_passes, drawn)
        counts.named += sorted(map(sorted, found)) == sorted(map(sorted, causes))
        counts.innocent += not frozenset().union(*found) <= frozenset().union(*causes)
        counts.calls += took
        counts.proposed += revert is not None
        counts.incomplete += revert is not None and not all(revert & cause for cause in causes)
    return counts


def _run(
    kind: str, still_passes: float, drawn: random.Random
) -> tuple[tuple[Sequence[Group], Group | None], Sequence[Group], int]:
    """One change that the gate blocks: what is found, the causes, and the calls."""
    while True:
        one, other = drawn.sample(range(EDITS), 2)
        causes = {
            "one edit": [frozenset({one})],
            "two edits": [frozenset({one}), frozenset({other})],
            "two edits together": [frozenset({one, other})],
        }[kind]
        world = World(causes, drawn, still_passes)
        checked = _check(world)
        if checked is None:
            continue
        broke, fixed, base_rate = checked
        rates = expected_rates(base_rate, 0.0, len(broke), fixed)
        if rates:
            return asyncio.run(world.search(broke, rates)), causes, world.calls


def _check(world: World) -> tuple[list[int], int, float] | None:
    """Return the fixtures that broke, how many were fixed, and base's pass rate; None for a change
    that the gate does not block. The check ends at the boundary of its first round, and the search
    samples pairs until enough broken fixtures are known, at most as many as the check."""
    boundary = walk_boundary(FIXTURES, LEVEL * WALK_SHARE_ALONE)
    broke: list[int] = []
    bases: list[bool] = []
    fixed, blocked, most = 0, False, FIXTURES
    for number in world.drawn.sample(range(FIXTURES), FIXTURES):
        base = world.passes(frozenset(), number)
        head = world.passes(frozenset(range(EDITS)), number)
        world.calls += 2 * blocked  # until then, they are calls of the check
        bases.append(base)
        fixed += head and not base
        if base and not head:
            broke.append(number)
        if not blocked and len(broke) >= boundary.fewest[len(broke) + fixed]:
            blocked, most = True, 2 * len(bases)
        if blocked and (len(broke) >= ENOUGH_BROKEN or len(bases) >= most):
            break
    return (broke, fixed, sum(bases) / len(bases)) if blocked else None


if __name__ == "__main__":
    sys.exit(show(table, BEGIN, END, 2000))
