"""Finds checks that gated in an earlier run and only warn now, so that a later change cannot hide
that their failures no longer count. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from gatekeeper import numbers
from gatekeeper.contract.values.definition import Contract
from gatekeeper.contract.values.objectives import DEFAULT_WINDOW
from gatekeeper.stats.objectives.objective import parse_window

_MOST_NAMES = 5
_LONGEST_STORED = 32
"""The most characters of a name in a record. Some contracts have thousands of checks."""


@dataclass(frozen=True, slots=True)
class GatingChecks:
    """The names of the checks of severity `error` in one run on the default branch."""

    time: datetime
    sha: str
    names: tuple[str, ...]


GatingHistory = Mapping[str, Sequence[GatingChecks]]
"""By contract, in the order of the runs."""


def error_checks(contract: Contract) -> tuple[str, ...]:
    """Return the names of the checks that gate, with those of fixtures, in the form of records."""
    return tuple(sorted(map(_stored, _gating(contract))))


def lowered_check_warnings(
    contract: Contract,
    base: Contract | None,
    history: GatingHistory,
    now: datetime,
) -> tuple[str, ...]:
    """Return a sentence for the checks whose severity was lowered within the longest window of the
    contract's objectives. The pull request's own changes are named as a weakening instead."""
    window = _longest_window(base or contract)
    start = now - parse_window(window)
    warns = _only_warn(contract)
    if base is not None:
        warns &= _only_warn(base)
    stored = {_stored(name): name for name in warns}
    gated: dict[str, GatingChecks] = {}
    # A contract that is renamed keeps its past.
    for run in history.get((base or contract).name, ()):
        if start < run.time <= now:
            gated |= {stored[name]: run for name in stored.keys() & set(run.names)}
    if not gated:
        return ()
    last = max(gated.values(), key=lambda run: run.time)
    names = sorted(gated)
    shown = numbers.some([f"`{name}`" for name in names], _MOST_NAMES)
    noun, these = ("check", "this check") if len(names) == 1 else ("checks", "these checks")
    return (
        (
            f"The severity of the {noun} {shown} was lowered from error to warn "
            f"within the last {window}. After the run of "
            f"{last.time.astimezone(UTC):%Y-%m-%d} ({last.sha[:10]}), the success rate does not "
            f"count failures of {these}"
        ),
    )


def _only_warn(contract: Contract) -> set[str]:
    return {spec.name for spec in contract.own_checks} - _gating(contract)


def _gating(contract: Contract) -> set[str]:
    return {spec.name for spec in contract.own_checks if spec.severity == "error"}


def _stored(name: str) -> str:
    """Return the name as a record holds it: a long one is its digest."""
    if len(name) <= _LONGEST_STORED:
        return name
    return "#" + hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _longest_window(contract: Contract) -> str:
    windows = [objective.window for objective in contract.slo] or [DEFAULT_WINDOW]
    return max(windows, key=parse_window)
