"""Requires a check that can fail for every fixture, because without one it passes with any
output."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gatekeeper import numbers
from gatekeeper.contract.syntax.yaml_positions import Document, KeyPath
from gatekeeper.contract.values.definition import CheckSpec, Fixture
from gatekeeper.errors import Problem


def ungated_fixtures(
    document: Document, key: KeyPath, checks: Sequence[CheckSpec], fixtures: Sequence[Fixture]
) -> list[Problem]:
    """Return a problem at `key` if no check can fail some of the fixtures."""
    if _can_fail(spec for spec in checks if spec.when is None):
        return []
    names = [
        f"`{fixture.id}`"
        for fixture in fixtures
        if not _can_fail(s for s in (*checks, *fixture.checks) if s.name not in fixture.left_out)
    ]
    if not names:
        return []
    shown = f"fixture{'s' if len(names) > 1 else ''} {numbers.some(names, 3)}"
    what = f"no check with `severity: error` applies to the {shown}, so every output passes"
    fix = "write `severity: error` in a check, or add a check"
    return [document.problem(key, what, fix)]


def _can_fail(checks: Iterable[CheckSpec]) -> bool:
    return any(spec.severity == "error" for spec in checks)
