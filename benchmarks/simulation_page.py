"""What simulations share: rates with their own error, options, and a place on a page."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing import Pool
from pathlib import Path
from typing import Generic, TypeVar

from benchmarks.decisions.table import write_between_markers

Table = Callable[[int, int], tuple[str, list[str]]]
"""Takes a seed and a number of runs; returns the text and the promises that are broken."""


def rate(happened: int, runs: int) -> str:
    """A rate in percent."""
    return f"{happened / runs * 100:.1f}"


def show(
    table: Table, begin: str, end: str, runs: int, arguments: Sequence[str] | None = None
) -> int:
    """Print the table, or write it between the markers of a page; 1 if a promise is broken."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=runs)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--write", type=Path)
    options = parser.parse_args(arguments)
    text, broken = table(options.seed, options.runs)
    if options.write is None:
        print(text)
    else:
        write_between_markers(options.write, text, begin, end)
    print(*broken, sep="\n")
    return 1 if broken else 0


C = TypeVar("C", bound=Hashable)


@dataclass(frozen=True)
class CountedCases(Generic[C]):
    """A simulation that counts in how many runs of each case something happens.

    `count` takes a case, a number of runs and a seed, in a process of its own. `table` and
    `broken_promises` read the counts. `begin` and `end` are the markers on the page.
    """

    cases: Sequence[C]
    count: Callable[[C, int, int], int]
    table: Callable[[Mapping[C, int], int, int], str]
    broken_promises: Callable[[Mapping[C, int], int], list[str]]
    begin: str
    end: str

    def main(self, runs: int, arguments: Sequence[str] | None = None) -> int:
        """Print the table, and write it between the markers of a page; 1 if a promise is broken."""
        parser = argparse.ArgumentParser()
        parser.add_argument("--runs", type=int, default=runs)
        parser.add_argument("--seed", type=int, default=1)
        parser.add_argument("--limit", type=int, help="the first cases only, for a look")
        parser.add_argument("--write", type=Path, help="put the table into this page")
        options = parser.parse_args(arguments)
        found = self.counts(options.runs, options.seed, options.limit)
        if options.limit:
            print(found)
            return 0
        text = self.table(found, options.runs, options.seed)
        print(text)
        if options.write:
            write_between_markers(options.write, text.rstrip("\n"), self.begin, self.end)
        broken = self.broken_promises(found, options.runs)
        print(*broken, sep="\n", file=sys.stderr)
        return 1 if broken else 0

    def counts(self, runs: int, seed: int, limit: int | None = None) -> dict[C, int]:
        """Count over the processors."""
        chosen = self.cases[:limit]
        with Pool() as pool:
            counts = pool.starmap(self.count, [(case, runs, seed) for case in chosen], chunksize=1)
        return dict(zip(chosen, counts, strict=True))


def share(count: int | None, runs: int) -> str:
    """A share in percent, or a dash for what was not counted."""
    return "–" if count is None else f"{count / runs:.1%}"
