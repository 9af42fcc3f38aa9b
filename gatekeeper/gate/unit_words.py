"""How numbers and units are put into words: fixtures, or clusters of related ones. Pure."""

from __future__ import annotations

from gatekeeper.contract.clusters import ClusterCounts
from gatekeeper.gate.result import PairedResult


def unit_noun(*, clustered: bool) -> str:
    """Name what evidence is counted in."""
    return "cluster" if clustered else "fixture"


def compared_units(paired: PairedResult, noun: str = "fixture") -> str:
    """Say how many fixtures were compared, and in how many clusters if related ones count as one:
    `20 fixtures in 4 clusters`. `noun` is what to call fixtures that are not in clusters."""
    if paired.clusters is None:
        return _count(paired.fixtures, noun)
    return f"{_count(paired.fixtures, 'fixture')} in {_count(paired.clusters.total, 'cluster')}"


def changed_units(paired: PairedResult) -> str:
    """Say how many fixtures broke and how many were fixed, and what that makes of the clusters."""
    if paired.clusters is None:
        return f"{paired.broke} of {paired.fixtures} fixtures broke, {paired.fixed} fixed"
    text = f"{paired.broke} of {compared_units(paired)} broke, {paired.fixed} fixed"
    return f"{text} ({changed_clusters(paired.clusters)})"


def changed_clusters(counts: ClusterCounts) -> str:
    """Say how many clusters got worse and better: `1 of 4 clusters worse, 0 better`."""
    total = _count(counts.total, "cluster")
    return f"{counts.broke:,} of {total} worse, {counts.fixed:,} better"


def short_number(value: float) -> str:
    """Write a number with one decimal at most, and with none from 1,000 on: `20,280`, `12.5`."""
    text = f"{value:,.0f}" if abs(value) >= 999.95 else f"{value:,.1f}".removesuffix(".0")
    return "0" if text == "-0" else text


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
