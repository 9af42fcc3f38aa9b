"""What simulations share: rates with their own error, options, and a place on a page."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.decisions.table import write_between_markers
from gatekeeper.stats.intervals import wilson

Table = Callable[[int, int], tuple[str, list[str]]]
"""Takes a seed and a number of runs; returns the text and the promises that are broken."""


def rate(happened: int, runs: int) -> str:
    """A rate in percent, with the 95 % interval of the simulation itself (Wilson)."""
    interval = wilson(happened, runs)
    return f"{happened / runs * 100:.1f} ({interval.low * 100:.1f}–{interval.high * 100:.1f})"


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
