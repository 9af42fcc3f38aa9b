"""Reads each fixture file once: most files are the same at base and at head."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from gatekeeper.contract.clusters import cluster_meaning
from gatekeeper.contract.definition import CheckSpec, Fixture
from gatekeeper.contract.digests import digest, fixture_meaning
from gatekeeper.contract.fixtures import fixture_from, read_rows
from gatekeeper.contract.size_limits import MOST_FIXTURES
from gatekeeper.errors import ContractError, Problem

_KEPT = 1_000_000
"""The most characters of a file that is kept in memory. A longer file is read again when it
is needed."""


@dataclass(frozen=True)
class FixtureFile:
    """The fixtures of a file; those without an id have none yet."""

    fixtures: Sequence[Fixture]

    @cached_property
    def digest(self) -> str:
        """Return the digest of what the fixtures give the model, and of what is expected."""
        clusters = cluster_meaning(self.fixtures)
        rows = [fixture_meaning(fixture) for fixture in self.fixtures]
        return digest([*rows, clusters] if clusters else rows)


def known_file(text: str, path: str) -> FixtureFile | None:
    """Return the content of a file without a mistake and without checks, which need the revision;
    None for any other file."""
    return _read(text, path) if len(text) <= _KEPT and "checks" not in text else None


@lru_cache(maxsize=1024)
def _read(text: str, path: str) -> FixtureFile | None:
    checked = False

    def refuse(*_: object) -> tuple[CheckSpec, ...]:
        nonlocal checked
        checked = True
        return ()

    problems: list[Problem] = []
    try:
        rows = read_rows(text, path, MOST_FIXTURES)
    except ContractError:
        return None
    made = [fixture_from(row, refuse, problems) for row in rows]
    if checked or problems:
        return None
    return FixtureFile(tuple(fixture for fixture in made if fixture))
