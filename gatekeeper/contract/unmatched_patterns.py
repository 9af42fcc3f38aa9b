"""Patterns of the policy file that match no file, which are likely misspelt."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator
from itertools import islice

from gatekeeper.contract.change import Revision
from gatekeeper.contract.globs import matching
from gatekeeper.contract.policy import POLICY_PATH, Policy
from gatekeeper.contract.read import UnreadableError, read_text
from gatekeeper.contract.syntax.yaml_positions import parse_yaml
from gatekeeper.errors import Problem

_WILDCARD = re.compile(r"[*?\[]")
_MOST_PATHS = 5_000
"""Folders or files that a misspelt pattern is compared with."""
_MOST_WARNINGS = 20


def unmatched_patterns(revision: Revision) -> Iterator[Problem]:
    """Yield each pattern of `contracts` and `prompts` in the policy file that matches no file. The
    default patterns may wait for their first file."""
    yield from islice(_unmatched(revision), _MOST_WARNINGS)


def _unmatched(revision: Revision) -> Iterator[Problem]:
    if POLICY_PATH not in revision.entries:
        return
    try:
        document = parse_yaml(read_text(revision, POLICY_PATH), POLICY_PATH)
    except UnreadableError:
        return  # loading the policy says so
    data = document.data if isinstance(document.data, dict) else {}
    for name, usual in (("contracts", Policy().contracts), ("prompts", Policy().prompts)):
        written = data.get(name)
        for number, pattern in enumerate(written if isinstance(written, list) else [written]):
            if not isinstance(pattern, str) or pattern in usual:
                continue
            if next(matching(revision.entries, pattern), None) is None:
                key = (name, number) if isinstance(written, list) else (name,)
                meant = _meant(pattern, revision.entries)
                fix = f"did you mean `{meant}`?" if meant else "correct it, or remove it"
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
