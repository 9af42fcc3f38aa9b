"""Check types that installed packages bring, by the entry points `gatekeeper.checks`.

Only packages that the policy names with their version are loaded: their code runs in gatekeeper's
own process.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from gatekeeper.checks.check import Check
from gatekeeper.checks.registry import ADDED, CHECKS
from gatekeeper.contract.checks.check_specs import ENTRY_POINTS
from gatekeeper.contract.policies.policy import POLICY_PATH, Policy
from gatekeeper.errors import UsageError

if TYPE_CHECKING:
    from importlib.metadata import Distribution, EntryPoint

_NAME = re.compile(r"[a-z][a-z0-9_]{0,49}")

_used: dict[str, str] = {}
"""The check types that come from packages, with the package and version."""


def use_packages(policy: Policy) -> None:
    """Add the check types of the packages that the policy names to the registry.

    Raises UsageError for a package that is not installed in this version, has no checks, or brings
    a check that gatekeeper or another package has already.
    """
    for pinned in policy.checks.packages:
        if pinned in _used.values():
            continue
        for point in _entry_points(pinned):
            ADDED[point.name] = _check(point, pinned)
            _used[point.name] = pinned


def _entry_points(pinned: str) -> Sequence[EntryPoint]:
    points = [point for point in _installed(pinned).entry_points if point.group == ENTRY_POINTS]
    if not points:
        what = f"has no entry point `{ENTRY_POINTS}`"
        raise _refusal(pinned, what, "remove the package from `checks.packages`")
    return points


def _installed(pinned: str) -> Distribution:
    from importlib.metadata import PackageNotFoundError, distribution

    name, _, version = pinned.partition("==")
    fix = (
        f"install {pinned}; in the action, add {pinned} to the file that the input `requirements` "
        "names"
    )
    try:
        found = distribution(name)
    except PackageNotFoundError:
        raise _refusal(pinned, "is not installed", fix) from None
    if found.version != version:
        raise _refusal(pinned, f"is required, but version {found.version} is installed", fix)
    return found


def _check(point: EntryPoint, pinned: str) -> Check:
    fix = "report this problem to the authors of the package"
    if not _NAME.fullmatch(point.name):
        what = (
            f"has a check `{point.name}`, but a name may contain only lower-case letters, "
            "digits and `_`"
        )
        raise _refusal(pinned, what, fix)
    if point.name in CHECKS:
        owner = _used.get(point.name, "gatekeeper")
        raise _refusal(
            pinned, f"has a check `{point.name}`, but {owner} already has a check of this name", fix
        )
    try:
        check = point.load()
    except Exception as error:
        what = f"cannot be loaded: {type(error).__name__}: {error}"
        raise _refusal(pinned, what, fix) from error
    if not isinstance(check, Check):
        raise _refusal(pinned, f"provides no object of the class `Check` for `{point.name}`", fix)
    return check


def _refusal(pinned: str, what: str, fix: str) -> UsageError:
    return UsageError(f"{POLICY_PATH}: checks.packages: {pinned} {what}; {fix}")
