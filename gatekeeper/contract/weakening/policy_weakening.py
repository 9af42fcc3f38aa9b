"""Finds what a pull request weakens beside its contracts; each counts after the merge.

| what | why it is weaker |
| --- | --- |
| the policy | the base's applies to the pull request itself, the weaker one to all that follow |
| a calibration | labels that nobody gave can make an objective look met |
| more comparisons of a prompt | all comparisons of a run share alpha: each can be less sure |
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cached_property

from gatekeeper import numbers
from gatekeeper.contract.changes.affected import Affected
from gatekeeper.contract.checks.judge_calibration import SUFFIX
from gatekeeper.contract.files.contract_files import contract_paths
from gatekeeper.contract.models.allowed import allowed_models
from gatekeeper.contract.policies.folder_policies import policy_paths
from gatekeeper.contract.policies.policy import POLICY_PATH, Policy, readable_policy
from gatekeeper.contract.policies.policy_keys import ORDERED, PolicyKey, policy_keys, value_of
from gatekeeper.contract.reading.globs import matching
from gatekeeper.contract.values.change import Change, Revision

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
    changed = {*policy_paths(change.changed)}
    if not changed:
        return ()
    before, now = readable_policy(change.base), readable_policy(change.head)
    files = _Files(change.head, now)
    found = _of_repository(change, before, now, files) if POLICY_PATH in changed else ()
    known = {(weakening.key, weakening.text) for weakening in found}
    return (*found, *_of_folders(change, before, files, changed, known))


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
        *_loosened(change, before, now, policy_keys().values()),
    )


def _of_folders(
    change: Change,
    before: Policy,
    files: _Files,
    changed: Set[str],
    known: Set[tuple[str, str]],
) -> Iterator[Weakening]:
    """Compare what applied below each folder whose policy changes with what applies there then.
    Nothing is weaker for a new one. `known` are changes of the repository's policy, which apply
    below the folders too."""
    keys = [key for key in policy_keys().values() if key.in_folders]
    for folder in before.folders:
        if folder.path not in changed:
            continue
        own = replace(before, contracts=folder.contracts, prompts=folder.prompts)
        was, is_now = before.at(folder.path), files.policy.at(folder.path)
        found = (*_narrower(own, files), *_loosened(change, was, is_now, keys))
        yield from (
            replace(weakening, folder=folder.folder)
            for weakening in found
            if (weakening.key, weakening.text) not in known
        )


def _narrower(before: Policy, files: _Files) -> Iterator[Weakening]:
    """Compare the patterns by the files that head has, and by those that may come later."""
    lost_contracts = _lost(contract_paths(files.revision, before), files.contracts)
    lost_prompts = _lost(_matched(files.revision, before.prompts), files.prompts)
    for key, what, lost in (
        ("contracts", "the contract ", lost_contracts),
        ("prompts", "", lost_prompts),
    ):
        left_out = _no_longer_covered(getattr(before, key), getattr(files.policy, key))
        if lost:
            yield Weakening(key, f"no longer matches {what}{lost}")
        elif left_out:
            listed = numbers.some(left_out, _MOST_PATHS)
            yield Weakening(key, f"no longer includes {listed}, so gatekeeper may miss new files")


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
    return numbers.some(sorted({*before} - {*now}), _MOST_PATHS)


def _loosened(
    change: Change, before: Policy, now: Policy, keys: Iterable[PolicyKey]
) -> Iterator[Weakening]:
    """Compare the values of each key."""
    for key in keys:
        if key.stricter in ("wider", "neither"):
            continue
        was, is_now = value_of(before, key.name), value_of(now, key.name)
        if key.stricter in ORDERED:
            if key.rank(is_now) < key.rank(was):
                yield _changed(key.name, was, is_now)
            elif (
                key.name == "new_contracts.success_rate"
                and before.new_contracts.floor
                and before.new_contracts.success_rate
                and not now.new_contracts.floor
            ):
                what = "was removed, so a new contract can set a lower success rate"
                yield Weakening(key.name, what)
        elif key.stricter == "same" and was and is_now and was != is_now:
            yield _changed(key.name, was, is_now)
        elif key.added:
            more = _MORE[key.stricter](change, before, now, key.name)
            if more:
                yield Weakening(key.name, f"now also {key.added} {', '.join(more)}")


def _more_models(change: Change, before: Policy, now: Policy, _: str) -> list[str]:
    if before.models == now.models:
        return []
    known = allowed_models(before, (change.base,)).patterns
    wanted = allowed_models(now, (change.base,)).patterns
    return [pattern for pattern in wanted if not _is_covered(pattern, known)]


_MORE: Mapping[str, Callable[[Change, Policy, Policy, str], list[str]]] = {
    "fewer": lambda _, before, now, name: [
        item for item in value_of(now, name) if item not in value_of(before, name)
    ],
    "fewer patterns": lambda _, before, now, name: _no_longer_covered(
        value_of(now, name), value_of(before, name)
    ),
    "fewer models": _more_models,
}


def _is_covered(pattern: str, known: Sequence[str]) -> bool:
    # `?` in one pattern would match the `*` of another, which stands for more than it.
    return any(pattern == k or ("?" not in k and fnmatchcase(pattern, k)) for k in known)


def _changed(key: str, before: object, now: object) -> Weakening:
    return Weakening(key, f"changed from {_shown(before)} to {_shown(now)}")


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:g}"
    return "null" if value is None else str(value)


def added_comparisons(affected: Affected) -> tuple[Weakening, ...]:
    """Return each prompt of base that has contracts, groups or slices and gets more of them."""
    added, kept = Counter[str](), Counter(affected.prompts_of_others)
    for contract in affected.contracts:
        if contract.head is None:
            continue
        prompt = contract.head.target.prompt.reference
        if contract.base is not None:
            more = len(contract.head.slices) - len(contract.base.slices)
            kept[prompt] += 1 + len(contract.base.slices)
            added[prompt] += max(0, more)
        elif contract.base_target is not None:
            added[prompt] += 1
    return tuple(
        Weakening(
            prompt,
            f"gets {numbers.count(more, 'more comparison')}, so "
            f"{more + kept[prompt]:,} share alpha",
            what="Comparisons are added",
        )
        for prompt, more in sorted(added.items())
        if more and kept[prompt]
    )


_OF_CONTRACTS = (".yaml", ".yml", ".json")


def calibration_weakenings(change: Change) -> tuple[Weakening, ...]:
    """Return each calibration of a contract of base that the change adds, changes or removes."""
    return tuple(
        Weakening(path, text, what="The calibration of judges changes")
        for path, text in _changed_files(change)
        if _is_at_base(change, path)
    )


def brought_calibrations(change: Change) -> tuple[str, ...]:
    """Return a notice for each calibration of a contract that base does not have: it counts in this
    run, because there is no other."""
    return tuple(
        (
            f"The change adds or edits the calibration {path}. Check that people, not a model, "
            "wrote the labels in this file."
        )
        for path, _ in _changed_files(change)
        if not _is_at_base(change, path)
    )


def _changed_files(change: Change) -> Iterator[tuple[str, str]]:
    for path in sorted(path for path in change.changed if path.endswith(SUFFIX)):
        if path not in change.head.entries:
            yield path, "was removed"
        elif path not in change.base.entries:
            yield path, "was added"
        else:
            yield path, "has other labels or verdicts than on base"


def _is_at_base(change: Change, path: str) -> bool:
    """Return whether base has the calibration or a contract that it may belong to. A contract that
    is a part of a file of another tool has the part's name in the path too."""
    stem = path.removesuffix(SUFFIX)
    folder, _, name = stem.rpartition("/")
    parts = name.split(".")
    stems = (f"{folder}/{'.'.join(parts[:n])}".lstrip("/") for n in range(1, len(parts) + 1))
    files = {f"{found}{suffix}" for found in stems for suffix in _OF_CONTRACTS}
    return path in change.base.entries or bool(files & change.base.entries.keys())
