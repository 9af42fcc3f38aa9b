"""Finds prompts of a data file that a change touches and no contract covers, although contracts
cover other keys of the same file."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from gatekeeper.contract.files.references import Sketch
from gatekeeper.contract.prompts.reference import PromptReference, read_reference
from gatekeeper.contract.prompts.value_at_key import parse_data
from gatekeeper.contract.reading.read import UnreadableError, read_text
from gatekeeper.contract.syntax.yaml_positions import KeyPath
from gatekeeper.contract.values.change import Change, Revision
from gatekeeper.errors import ContractError


def uncovered_keys(
    change: Change, sketches: Sequence[Sketch], paths: Collection[str]
) -> Iterator[str]:
    """Yield a reference to each text of the changed files that is new or different at head, and
    that is no part of a contract's prompt. A single word is no prompt. Files that a contract uses
    as a whole are covered as a whole."""
    old_path = {new: old for old, new in change.renames.items()}
    for path in sorted(paths):
        covered = _covered_keys(sketches, path)
        if not covered:
            continue
        before = dict(_texts(change.base, old_path.get(path, path)))
        for key, text in _texts(change.head, path):
            inside = any(key[: len(known)] == known for known in covered)
            if not inside and before.get(key) != text and len(text.split()) > 1:
                yield str(PromptReference(path, key))


def _covered_keys(sketches: Sequence[Sketch], path: str) -> list[KeyPath]:
    """Return the keys of the file that are prompts of contracts; none if a contract uses the file
    in another way."""
    keys: list[KeyPath] = []
    for sketch in sketches:
        if path in sketch.closure:
            named = [read_reference(prompt) for prompt in sketch.prompts]
            own = [place.key for place in named if place.path == path and place.key is not None]
            if sketch.file == path or not own:
                return []
            keys += own
    return keys


def _texts(revision: Revision, path: str) -> Iterator[tuple[KeyPath, str]]:
    """Yield each text of a data file with its key; nothing if it cannot be read."""
    try:
        data = parse_data(read_text(revision, path), path).data
    except (UnreadableError, ContractError):
        return
    waiting: list[tuple[KeyPath, Any]] = [((), data)]
    while waiting:
        key, value = waiting.pop()
        if isinstance(value, str):
            yield key, value
        elif isinstance(value, dict):
            waiting += [((*key, name), inner) for name, inner in reversed(value.items())]
        elif isinstance(value, list):
            waiting += [((*key, at), inner) for at, inner in reversed([*enumerate(value)])]
