"""What has no effect in policy files: patterns that match no file, which are likely misspelt, and
rules of a folder that a policy above makes stricter."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator
from itertools import islice

from gatekeeper.contract.policies.folder_policies import POLICY_PATH, policy_paths, read_policy
from gatekeeper.contract.policies.policy import Policy
from gatekeeper.contract.policies.policy_keys import value_of
from gatekeeper.contract.reading.globs import matching
from gatekeeper.contract.syntax.yaml_positions import Document
from gatekeeper.contract.values.change import Revision
from gatekeeper.errors import ContractError, Problem

_WILDCARD = re.compile(r"[*?\[]")
_MOST_PATHS = 5_000
"""Folders or files that a misspelt pattern is compared with."""
_MOST_WARNINGS = 20


def unmatched_patterns(revision: Revision) -> Iterator[Problem]:
    """Yield each pattern of `contracts` and `prompts` in a policy file that matches no file. The
    default patterns may wait for their first file."""
    yield from islice(_unmatched(revision), _MOST_WARNINGS)


def _unmatched(revision: Revision) -> Iterator[Problem]:
    for path in policy_paths(revision.entries):
        try:
            document = read_policy(revision, path)
        except ContractError:
            continue  # loading the policy says so
        yield from _unmatched_in(document, path.removesuffix(POLICY_PATH), revision.entries)


def _unmatched_in(document: Document, start: str, paths: Iterable[str]) -> Iterator[Problem]:
    """Yield the patterns of one policy that match none of the paths. `start` is its folder with a
    slash; empty for the repository's."""
    inside = [path.removeprefix(start) for path in paths if path.startswith(start)]
    data = document.data if isinstance(document.data, dict) else {}
    for name, usual in (("contracts", Policy().contracts), ("prompts", Policy().prompts)):
        written = data.get(name)
        for number, pattern in enumerate(written if isinstance(written, list) else [written]):
            if not isinstance(pattern, str) or pattern in usual:
                continue
            if next(matching(inside, pattern), None) is None:
                key = (name, number) if isinstance(written, list) else (name,)
                meant = _meant(pattern, inside)
                fix = f"did you mean `{meant}`?" if meant else "correct or remove the pattern"
                yield document.problem(key, f"`{pattern}` matches no file", fix)


def _meant(pattern: str, paths: Iterable[str]) -> str | None:
    """Return the pattern with a similar file or folder that exists, if it then matches a file."""
    plain = pattern.removeprefix("/")
    start = _WILDCARD.split(plain)[0]
    begins = start if start == plain else start.rpartition("/")[0]
    if not begins:
        return None
    paths = tuple(paths)
    known = paths if start == plain else _folders(paths)
    for near in difflib.get_close_matches(begins, islice(known, _MOST_PATHS), n=3, cutoff=0.7):
        meant = near + plain[len(begins) :]
        if next(matching(paths, meant), None) is not None:
            return meant
    return None


def _folders(paths: Iterable[str]) -> Iterable[str]:
    found: dict[str, None] = {}
    for path in paths:
        while path := path.rpartition("/")[0]:
            if path in found:
                break
            found[path] = None
    return found


def overruled_keys(revision: Revision, policy: Policy) -> Iterator[Problem]:
    """Yield each rule of a folder's policy that is not the one that applies in the folder."""
    for folder in policy.folders:
        here = policy.at(folder.path)
        for name, written in folder.rules.items():
            applies = value_of(here, name)
            if written is not None and written != applies:
                what = (
                    f"`{name}` has no effect, because the policy of a parent folder "
                    f"sets the stricter value {applies}"
                )
                fix = "remove the key; the policy of a folder can only make rules stricter"
                document = read_policy(revision, folder.path)
                yield document.problem(tuple(name.split(".")), what, fix)
