"""What `check` and `run` take: the options of the command line, by the same names."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast, get_args

from gatekeeper.errors import UsageError
from gatekeeper.reports.formats import Format

AnyPath = str | os.PathLike[str]
"""A path, relative to the current folder or absolute."""

ORDER_SEED = re.compile(r"[0-9a-f]{32}")
_PATHS = ("repo", "out", "replay", "cache", "log_requests")


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteArguments:
    """What `check` and `run` share: the repository, the contracts, the reports, a recording, the
    order. Without `out`, no file is written, so an interrupted run cannot be resumed."""

    repo: Path
    contract: tuple[str, ...] = ()
    out: Path | None = None
    format: tuple[Format, ...] = ()
    history: str | None = None
    replay: Path | None = None
    resume: bool = False
    order_seed: str | None = None
    log_requests: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckArguments(SuiteArguments):
    """What `check` takes."""

    base: str | None = None
    head: str | None = None
    worktree: bool = False
    cache: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunArguments(SuiteArguments):
    """What `run` takes."""

    ref: str = "HEAD"
    batch: bool = False
    ray: str | None = None


def check_arguments(**given: Any) -> CheckArguments:
    """Return the arguments of `check`. Raises UsageError for values that exclude each other."""
    _require_one(given, "head", "worktree")
    return CheckArguments(**_suite(given))


def run_arguments(**given: Any) -> RunArguments:
    """Return the arguments of `run`. Raises UsageError for values that exclude each other."""
    _require_one(given, "batch", "ray")
    found = RunArguments(**_suite(given))
    if found.batch and found.out is None:
        raise UsageError("`batch` also needs `out`, the folder for the ids of the batches")
    return found


def _suite(given: dict[str, Any]) -> dict[str, Any]:
    _require_one(given, "resume", "order_seed")
    if given.get("resume") and given.get("out") is None:
        raise UsageError("`resume` also needs `out`, the folder of the unfinished run")
    seed = given.get("order_seed")
    if seed is not None and not ORDER_SEED.fullmatch(seed):
        raise UsageError(
            "`order_seed` must have 32 digits 0-9a-f; copy `order_seed` from an earlier result"
        )
    paths = [name for name in _PATHS if given.get(name) is not None]
    return {
        **given,
        **{name: Path(given[name]) for name in paths},
        "contract": _several(given.get("contract", ())),
        "format": _formats(given.get("format", ())),
    }


def _formats(given: str | Sequence[str]) -> tuple[Format, ...]:
    found = _several(given)
    for name in found:
        if name not in get_args(Format):
            raise UsageError(f"format {name!r}: use one of {', '.join(get_args(Format))}")
    return cast(tuple[Format, ...], found)


def _several(given: str | Sequence[str]) -> tuple[str, ...]:
    """Return the names; one name alone may come without a list."""
    return (given,) if isinstance(given, str) else tuple(given)


def _require_one(given: dict[str, Any], first: str, second: str) -> None:
    if given.get(first) and given.get(second):
        raise UsageError(f"`{first}` and `{second}` cannot be combined; use only one of them")
