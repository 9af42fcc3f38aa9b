"""The policies of folders, `FOLDER/.github/gatekeeper.yml`, for the projects of one repository.

A folder's policy adds patterns of its own, and makes rules stricter for what lies below the folder.
It never makes a rule looser, so anybody who may write to the folder may write it. Keys about keys,
money, people and code are the repository's alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gatekeeper.contract.meaning.schemas import policy_schema
from gatekeeper.contract.policies.policy_keys import ORDERED, folder_keys, policy_keys
from gatekeeper.contract.reading.globs import literal_pattern
from gatekeeper.contract.reading.read import require_text
from gatekeeper.contract.syntax.schema_errors import schema_problems
from gatekeeper.contract.syntax.yaml_positions import Document, parse_yaml
from gatekeeper.contract.values.change import Change, Revision, prefetch
from gatekeeper.errors import ContractError, Problem

POLICY_PATH = ".github/gatekeeper.yml"
_MOST_POLICIES = 1_000
_MISNAMED = re.compile(r"(?:^|/)(?P<name>(?:\.github/|\.)gatekeeper\.ya?ml)$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class FolderPolicy:
    """The policy of one folder. `contracts` and `prompts` are patterns from the repository root;
    `rules` are the other keys that the file has, by their full names."""

    folder: str
    contracts: tuple[str, ...]
    prompts: tuple[str, ...]
    rules: Mapping[str, Any]

    @property
    def path(self) -> str:
        """Return the path of its file."""
        return f"{self.folder}/{POLICY_PATH}"

    def holds(self, path: str) -> bool:
        """Return whether the path lies below the folder. Some file systems do not tell capitals
        from small letters, so this does not either."""
        return path.casefold().startswith(f"{self.folder.casefold()}/")


def policy_paths(paths: Iterable[str]) -> list[str]:
    """Return the paths that are policies, of the repository and of folders, in their order."""
    return sorted(path for path in paths if path == POLICY_PATH or path.endswith(f"/{POLICY_PATH}"))


def misnamed_policies(paths: Iterable[str]) -> Iterator[Problem]:
    """Yield each file that is likely meant as a policy, but has another name, so that nothing reads
    it."""
    for path in sorted(paths):
        named = _MISNAMED.search(path)
        if named and not path.endswith(POLICY_PATH):
            start = path[: named.start("name")]
            fix = f"rename the file to `{start}{POLICY_PATH}`"
            what = "the file looks like a policy, but gatekeeper does not read files with this name"
            yield Problem(path, what, fix)


def load_folder_policies(
    revision: Revision, contracts: Sequence[str], prompts: Sequence[str]
) -> tuple[FolderPolicy, ...]:
    """Load the policies of all folders, the outer folders first. A policy without `contracts` or
    `prompts` has the given patterns, below its folder. Raises ContractError."""
    paths = [path for path in policy_paths(revision.entries) if path != POLICY_PATH]
    if len(paths) > _MOST_POLICIES:
        what = f"the repository has {len(paths):,} folder policies; the limit is {_MOST_POLICIES:,}"
        raise ContractError([Problem(paths[_MOST_POLICIES], what, "remove some folder policies")])
    prefetch(revision, paths)
    found: list[FolderPolicy] = []
    problems: list[Problem] = []
    for path in paths:
        try:
            found.append(_load(revision, path, contracts, prompts))
        except ContractError as error:
            problems += error.problems
    if problems:
        raise ContractError(problems)
    return tuple(sorted(found, key=lambda policy: (policy.folder.count("/"), policy.folder)))


def new_policy_notices(change: Change) -> Iterator[str]:
    """Yield a notice for each policy of a folder that the change adds: it does not apply yet."""
    before = change.base.entries
    for path in policy_paths(change.head.entries.keys() - before.keys() - {POLICY_PATH}):
        yield (
            f"`{path}` is new and applies only after the merge. In this pull request, gatekeeper "
            "does not check contracts and prompts that only the new policy's patterns match."
        )


def read_policy(revision: Revision, path: str) -> Document:
    """Read the YAML of a policy. Raises ContractError."""
    return parse_yaml(require_text(revision, path), path)


def patterns(written: str | Sequence[str]) -> tuple[str, ...]:
    """Return one pattern or several as several."""
    return (written,) if isinstance(written, str) else tuple(written)


def _load(
    revision: Revision, path: str, contracts: Sequence[str], prompts: Sequence[str]
) -> FolderPolicy:
    document = read_policy(revision, path)
    data = {} if document.data is None else document.data
    schema = policy_schema()
    own = {**schema, "properties": {key: schema["properties"][key] for key in folder_keys()}}
    problems = [*_keys_of_the_root(document, data)] or schema_problems(document, own, data)
    if problems:
        raise ContractError(problems)
    folder = path.removesuffix(f"/{POLICY_PATH}")
    return FolderPolicy(
        folder,
        _below(folder, data.get("contracts", contracts)),
        _below(folder, data.get("prompts", prompts)),
        {name: value for name, value in _flat(data) if policy_keys()[name].stricter in ORDERED},
    )


def _flat(data: Mapping[str, Any], section: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in data.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{name}.")
        else:
            yield section + name, value


def _keys_of_the_root(document: Document, data: Any) -> Iterator[Problem]:
    keys = data if isinstance(data, Mapping) else {}
    for key in keys:
        if key in policy_schema()["properties"] and key not in folder_keys():
            what = f"`{key}` applies to the whole repository, but this policy is for one folder"
            fix = f"write `{key}` in {POLICY_PATH} at the root of the repository"
            yield document.problem((key,), what, fix)


def _below(folder: str, written: str | Sequence[str]) -> tuple[str, ...]:
    """Return patterns of a folder as patterns from the root. The folder's own name is no pattern,
    whatever characters it has."""
    start = literal_pattern(folder)
    return tuple(f"{start}/{pattern.removeprefix('/')}" for pattern in patterns(written))
