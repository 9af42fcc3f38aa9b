"""Which files are contracts: those that the policy's patterns match and that no contract uses. And
what contracts of an earlier commit are called now, so that their past stays theirs."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import PurePosixPath

from gatekeeper.contract.files.references import References, Shapes, Sketch
from gatekeeper.contract.policies.policy import POLICY_PATH, Policy
from gatekeeper.contract.prompts.reference import prompt_file
from gatekeeper.contract.reading.globs import matching
from gatekeeper.contract.reading.read import UnreadableError, read_text
from gatekeeper.contract.reading.size_limits import require_few_contracts
from gatekeeper.contract.reading.specification_path import is_specification
from gatekeeper.contract.values.change import Change, Revision, prefetch
from gatekeeper.errors import ContractError

_SUFFIXES = (".yaml", ".yml")
_MOST_LOOKED_AT = 1_000
"""The most files that are reported as possible contracts. A change can add any number of
them."""
_WILDCARD = re.compile(r"[*?\[]")
# What every contract has. Reading no more than that, a file costs next to nothing.
_LOOKS_LIKE_ONE = tuple(
    re.compile(rf"^[\"']?{key}[\"']?[ \t]*:", re.MULTILINE)
    for key in ("contract", "(?:prompt|instructions|skills)")
)


def contract_paths(
    revision: Revision, policy: Policy, shapes: Shapes | None = None
) -> tuple[str, ...]:
    """Find the contracts of the revision, by the policy's patterns: each file, or `FILE#name` for
    each of several in a foreign file. A file that a contract refers to (its fixtures, its prompt,
    with `shapes` also its schemas) is none."""
    references = References(revision, shapes or {})
    return tuple(sketch.path for sketch in find_contracts(references, policy))


def find_contracts(references: References, policy: Policy) -> list[Sketch]:
    """Find the contracts of a revision at a glance. A file that a pattern matches by chance, such
    as fixtures under `contracts/**/*`, is no contract. A file that looks like one but has mistakes
    is kept, so that loading it reports them."""
    paths = sorted(matching_contracts(references.revision.entries, policy))
    require_few_contracts(paths, policy.contracts, POLICY_PATH)
    sketches = [_recognised(references.revision, s) for s in references.sketches(paths)]
    used = {path for sketch in sketches for path in sketch.closure if path != sketch.file}
    return [
        sketch
        for sketch in sketches
        if (sketch.is_contract and sketch.readable)
        or (
            not sketch.is_prompt
            and sketch.file not in used
            and (_is_meant(sketch.file, policy) or sketch.is_foreign)
        )
    ]


def near_miss_notices(revision: Revision, policy: Policy, among: Iterable[str]) -> tuple[str, ...]:
    """Return a notice for each file that looks like a contract and that no pattern matches.

    `among` are the paths of the revision to look at.
    """
    among = [path for path in among if path.lower().endswith(_SUFFIXES)]
    candidates = sorted(set(among) - set(matching_contracts(among, policy)))[:_MOST_LOOKED_AT]
    prefetch(revision, candidates)
    return tuple(
        (
            f"`{path}` looks like a contract, but gatekeeper does not use the file, because no "
            f"pattern of `contracts` in {policy.path_for(path)} matches the path. The patterns "
            f"are: {', '.join(policy.patterns_for(path))}."
        )
        for path in candidates
        if _looks_like_one(revision, path)
    )


def in_contract_folders(paths: Iterable[str], policy: Policy) -> Iterator[str]:
    """Return the paths in the folders that the patterns name without a wildcard."""
    starts = (_WILDCARD.split(pattern.removeprefix("/"))[0] for pattern in policy.contracts)
    folders = tuple({start.rpartition("/")[0] + "/" for start in starts} - {"/"})
    return (path for path in paths if path.startswith(folders))


def matching_contracts(paths: Iterable[str], policy: Policy) -> set[str]:
    """Return the paths that match a pattern of contracts."""
    known = list(paths)
    return {path for pattern in policy.contracts for path in matching(known, pattern)}


def _is_meant(path: str, policy: Policy) -> bool:
    """Return whether the file's suffix says that it is a contract, or a pattern ends in that
    suffix."""
    if is_specification(path):
        return False
    suffix = PurePosixPath(path).suffix
    spelled = suffix and any(pattern.endswith(suffix) for pattern in policy.contracts)
    return bool(spelled) or suffix.lower() in _SUFFIXES


def _recognised(revision: Revision, sketch: Sketch) -> Sketch:
    """Return the description of a file that cannot be parsed as that of another tool's suite if the
    file has the keys of one."""
    if sketch.readable:
        return sketch
    from gatekeeper.contract.discovery.suites import suite_kind

    try:
        kind = suite_kind(sketch.file, read_text(revision, sketch.file))
    except (UnreadableError, ContractError):
        return sketch
    return replace(sketch, is_foreign=kind not in (None, "contract"))


def _looks_like_one(revision: Revision, path: str) -> bool:
    try:
        text = read_text(revision, path)
    except (UnreadableError, ContractError):
        return False
    return all(pattern.search(text) for pattern in _LOOKS_LIKE_ONE)


def renamed_contracts(change: Change, policy: Policy, shapes: Shapes) -> dict[str, str]:
    """Return the names at base of contracts that have another name at head, by the new name: of
    those in the same file, or the file that git says it became, and else of those that alone take
    over the prompt of one that is gone."""
    before, now = (
        {s.name: s for s in find_contracts(References(revision, shapes), policy) if s.name}
        for revision in (change.base, change.head)
    )
    gone = [sketch for name, sketch in before.items() if name not in now]
    new = [sketch for name, sketch in now.items() if name not in before]

    def path_of(sketch: Sketch) -> str:
        return sketch.path

    def prompt_of(sketch: Sketch) -> str | None:
        return sketch.prompt

    found = _same(change, gone, new, path_of)
    gone = [sketch for sketch in gone if sketch.name not in found.values()]
    new = [sketch for sketch in new if sketch.name not in found]
    return found | _same(change, gone, new, prompt_of)


def _same(
    change: Change,
    gone: Sequence[Sketch],
    new: Sequence[Sketch],
    place: Callable[[Sketch], str | None],
) -> dict[str, str]:
    """Pair the contracts of one place; none of those that share it with others."""
    old_names: dict[str, list[str]] = defaultdict(list)
    new_names: dict[str, list[str]] = defaultdict(list)
    for sketch in gone:
        path = place(sketch)
        file = prompt_file(path) if path else ""
        moved = change.renames.get(file, file) + (path or "").removeprefix(file)
        old_names[moved].append(sketch.name or "")
    for sketch in new:
        new_names[place(sketch) or ""].append(sketch.name or "")
    both = (set(old_names) & set(new_names)) - {""}
    single = (path for path in both if len(old_names[path]) == len(new_names[path]) == 1)
    return {new_names[path][0]: old_names[path][0] for path in single}
