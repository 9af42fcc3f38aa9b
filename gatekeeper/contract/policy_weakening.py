"""Finds the ways in which a pull request weakens the policy. The base's policy applies to the pull
request itself, but the weaker one would apply to everything after the merge."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, fields, replace
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Any

from gatekeeper.contract.change import Change, Revision
from gatekeeper.contract.contract_files import contract_paths
from gatekeeper.contract.folder_policies import policy_paths
from gatekeeper.contract.globs import matching
from gatekeeper.contract.models.allowed import allowed_models
from gatekeeper.contract.policy import POLICY_PATH, Limits, Policy, readable_policy

PERMISSIONS = ("read", "triage", "write", "maintain", "admin")
_MOST_PATHS = 3


@dataclass(frozen=True, slots=True)
class Weakening:
    """One key of the policy, such as `limits.calls`, or the path of a calibration or a prompt, and
    in words how it became weaker. `folder` is the folder whose policy it is; empty for the
    repository's. `what` says in general what became weaker."""

    key: str
    text: str
    folder: str = ""
    what: str = "The policy is weakened"

    @property
    def place(self) -> str:
        """Return the key, with its folder."""
        return f"{self.folder}: {self.key}" if self.folder else self.key

    @property
    def policy_path(self) -> str:
        """Return the path of the policy that becomes weaker."""
        return f"{self.folder}/{POLICY_PATH}" if self.folder else POLICY_PATH


def policy_weakenings(change: Change) -> tuple[Weakening, ...]:
    """Return each way in which the change weakens the policy; nothing for what it makes stricter.

    It is compared with the commit that the change started from, because later changes of the base
    branch are not part of the change. A policy at base that cannot be read counts as the defaults,
    which applied instead.
    """
    changed = {
        path
        for path in policy_paths({*change.base.entries, *change.head.entries})
        if change.base.entries.get(path) != change.head.entries.get(path)
    }
    if not changed:
        return ()
    before, now = readable_policy(change.base), readable_policy(change.head)
    files = _Files(change.head, now)
    found = _of_repository(change, before, now, files) if POLICY_PATH in changed else ()
    known = {(weakening.key, weakening.text) for weakening in found}
    return (*found, *_of_folders(before, now, files, changed, known))


@dataclass
class _Files:
    """What head's policy matches at head, found once for the policies of all folders."""

    revision: Revision
    policy: Policy

    @cached_property
    def contracts(self) -> Set[str]:
        return {*contract_paths(self.revision, self.policy)}

    @cached_property
    def prompts(self) -> Set[str]:
        return _matched(self.revision, self.policy.prompts)


def _of_repository(
    change: Change, before: Policy, now: Policy, files: _Files
) -> tuple[Weakening, ...]:
    elsewhere = {p for f in before.folders for p in (*f.contracts, *f.prompts)}
    own = replace(
        before,
        contracts=tuple(p for p in before.contracts if p not in elsewhere),
        prompts=tuple(p for p in before.prompts if p not in elsewhere),
    )
    return (
        *_narrower(own, files),
        *_switches(before, now),
        *_new_contracts(before, now),
        *_models(change, before, now),
        *_limits(before.limits, now.limits),
        *_raised("blame.cost_usd", before.blame_usd, now.blame_usd),
        *_proposals(before, now),
        *_error_budget(before, now),
        *_people(before, now),
        *_own_checks(before, now),
    )


def _of_folders(
    before: Policy,
    now: Policy,
    files: _Files,
    changed: Set[str],
    known: Set[tuple[str, str]],
) -> Iterator[Weakening]:
    """Compare what applied below each folder whose policy changes with what applies there then.
    Nothing is weaker for a new one. `known` are changes of the repository's policy, which apply
    below the folders too."""
    for folder in before.folders:
        if folder.path not in changed:
            continue
        own = replace(before, contracts=folder.contracts, prompts=folder.prompts)
        was, is_now = before.at(folder.path), now.at(folder.path)
        found = (*_narrower(own, files), *_switches(was, is_now), *_new_contracts(was, is_now))
        yield from (
            replace(weakening, folder=folder.folder)
            for weakening in found
            if (weakening.key, weakening.text) not in known
        )


def _narrower(before: Policy, files: _Files) -> Iterator[Weakening]:
    """Compare the patterns by the files that head has, and by those that may come later."""
    now = files.policy
    left_out = _no_longer_covered(before.contracts, now.contracts)
    lost = _lost(contract_paths(files.revision, before), files.contracts)
    if lost:
        yield Weakening("contracts", f"no longer matches the contract {lost}")
    elif left_out:
        yield _narrowed("contracts", left_out)
    left_out = _no_longer_covered(before.prompts, now.prompts)
    lost = _lost(_matched(files.revision, before.prompts), files.prompts)
    if lost:
        yield Weakening("prompts", f"no longer matches {lost}")
    elif left_out:
        yield _narrowed("prompts", left_out)


def _narrowed(key: str, left_out: Sequence[str]) -> Weakening:
    patterns = ", ".join(left_out[:_MOST_PATHS])
    more = f" and {len(left_out) - _MOST_PATHS:,} more" if len(left_out) > _MOST_PATHS else ""
    return Weakening(key, f"no longer includes {patterns}{more}, so gatekeeper may miss new files")


def _no_longer_covered(before: Sequence[str], now: Sequence[str]) -> list[str]:
    """Return the old patterns that no new one includes, as far as this follows from their text."""
    kept = [pattern.removeprefix("/") for pattern in now]
    return [
        pattern
        for pattern in dict.fromkeys(before)
        if not any(_includes(new, pattern.removeprefix("/")) for new in kept)
    ]


def _includes(pattern: str, other: str) -> bool:
    """Return whether a pattern certainly matches every path that the other matches: it is the same,
    or has one `**` that covers the rest of the other (`prompts/**`, `prompts/**/*.md`)."""
    if pattern == other:
        return True
    start, spans, end = pattern.partition("**")
    plain = not {"*", "?", "["} & {*start} and "[" not in other
    if not spans or not plain or not other.startswith(start):
        return False
    rest = other.removeprefix(start)
    if not end:
        return True
    if not end.startswith("/") or (start and not start.endswith("/")):
        return False
    end = end.removeprefix("/")
    between = rest.removesuffix(end)
    while between.endswith("**/"):  # `a**/` may match `a`, which is no folder
        between = between.removesuffix("**/")
    return rest.endswith(end) and (not between or between.endswith("/"))


def _matched(revision: Revision, patterns: Sequence[str]) -> set[str]:
    return {path for pattern in patterns for path in matching(revision.entries, pattern)}


def _lost(before: Iterable[str], now: Iterable[str]) -> str:
    lost = sorted({*before} - {*now})
    more = f" and {len(lost) - _MOST_PATHS:,} more" if len(lost) > _MOST_PATHS else ""
    return ", ".join(lost[:_MOST_PATHS]) + more


def _switches(before: Policy, now: Policy) -> Iterator[Weakening]:
    requirements: tuple[tuple[str, Any, Any, Any], ...] = (
        ("require_contract", before.require_contract, now.require_contract, True),
        ("on_inconclusive", before.on_inconclusive, now.on_inconclusive, "fail"),
        ("on_weakening", before.on_weakening, now.on_weakening, "require_waiver"),
        (
            "allow.contract_removal",
            before.allow.contract_removal,
            now.allow.contract_removal,
            False,
        ),
        ("allow.weakening", before.allow.weakening, now.allow.weakening, False),
        ("error_budget.freeze", before.freeze, now.freeze, True),
        (
            "judge.require_calibration",
            before.judge.require_calibration,
            now.judge.require_calibration,
            True,
        ),
    )
    for key, was, is_now, strict in requirements:
        if was == strict and is_now != strict:
            yield _changed(key, was, is_now)
    least, now_least = before.judge.min_kappa, now.judge.min_kappa
    if least is not None and (now_least is None or now_least < least):
        yield _changed("judge.min_kappa", least, now_least)


def _new_contracts(before: Policy, now: Policy) -> Iterator[Weakening]:
    was, is_now = before.new_contracts, now.new_contracts
    if is_now.fixtures < was.fixtures:
        yield _changed("new_contracts.fixtures", was.fixtures, is_now.fixtures)
    key = "new_contracts.success_rate"
    if (is_now.success_rate or 0) < (was.success_rate or 0):
        yield _changed(key, was.success_rate, is_now.success_rate)
    elif was.floor and was.success_rate and not is_now.floor:
        yield Weakening(key, "was removed, so a new contract can set a lower success rate")


def _models(change: Change, before: Policy, now: Policy) -> Iterator[Weakening]:
    if before.models == now.models:
        return
    known = allowed_models(before, (change.base,)).patterns
    wanted = allowed_models(now, (change.base,)).patterns
    wider = [pattern for pattern in wanted if not _is_covered(pattern, known)]
    if wider:
        yield Weakening("models", f"now also allows {', '.join(wider)}")


def _is_covered(pattern: str, known: Sequence[str]) -> bool:
    # `?` in one pattern would match the `*` of another, which stands for more than it.
    return any(pattern == k or ("?" not in k and fnmatchcase(pattern, k)) for k in known)


def _limits(before: Limits, now: Limits) -> Iterator[Weakening]:
    for field in fields(Limits):
        yield from _raised(
            f"limits.{field.name}", getattr(before, field.name), getattr(now, field.name)
        )


def _proposals(before: Policy, now: Policy) -> Iterator[Weakening]:
    """Another model gets the prompts, and another provider is paid."""
    yield from _raised("propose.cost_usd", before.propose.cost_usd, now.propose.cost_usd)
    was, is_now = before.propose, now.propose
    if was.cost_usd and is_now.cost_usd and was.model != is_now.model:
        yield _changed("propose.model", was.model, is_now.model)


def _error_budget(before: Policy, now: Policy) -> Iterator[Weakening]:
    added = [pattern for pattern in now.freeze_exempt if pattern not in before.freeze_exempt]
    if added:
        yield Weakening("error_budget.exempt", f"now also exempts {', '.join(added)}")
    for window in sorted(before.burn_rate):
        key = f"error_budget.burn_rate.{window}"
        yield from _raised(key, before.burn_rate[window], now.burn_rate.get(window))
    if before.history != now.history:
        # Another history has another past, or none: what is spent there is no longer known.
        yield _changed("history", before.history, now.history)


def _people(before: Policy, now: Policy) -> Iterator[Weakening]:
    rank: Callable[[str], int] = PERMISSIONS.index
    if rank(now.waiver_permission) < rank(before.waiver_permission):
        yield _changed("waivers.permission", before.waiver_permission, now.waiver_permission)


def _own_checks(before: Policy, now: Policy) -> Iterator[Weakening]:
    wider = _no_longer_covered(now.checks.python, before.checks.python)
    if wider:
        yield Weakening("checks.python", f"now also allows code in {', '.join(wider)}")
    more = [name for name in now.checks.packages if name not in before.checks.packages]
    if more:
        yield Weakening("checks.packages", f"now also loads {', '.join(more)}")


def _raised(key: str, before: float | None, now: float | None) -> Iterator[Weakening]:
    if before is not None and (now is None or now > before):
        yield _changed(key, before, now)


def _changed(key: str, before: object, now: object) -> Weakening:
    return Weakening(key, f"changed from {_shown(before)} to {_shown(now)}")


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:g}"
    return "null" if value is None else str(value)
