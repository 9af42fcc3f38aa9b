"""Pairs the contracts of head with the contracts of base that they continue.

The name alone is not enough: a suite of another tool names its contracts by what tells them apart,
so that a second prompt or model renames the first. And a pull request that renames a contract must
not lose what it is compared with.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Mapping
from dataclasses import dataclass, field

from gatekeeper.contract.files.references import Sketch
from gatekeeper.contract.prompts.reference import prompt_file
from gatekeeper.contract.values.definition import Contract


@dataclass(frozen=True, slots=True)
class Side:
    """A contract as far as it is known, the file that holds it by its name at head, and the
    reference of its prompt by its name at head."""

    sketch: Sketch
    file: str
    prompt: str | None
    load: Callable[[], Contract | None]
    is_head: bool = False


_RANKS = (
    "file of the prompt in its suite",
    "file of the prompt",
    "names in a suite",
    "name",
    "place",
    "prompt and model",
    "text and model",
    "prompt in a suite",
    "text in a suite",
    "broken",
)
"""What two contracts have in common that are the same, the surest first. The prompt's place comes
before its text: a copy of the old text must not stand in for a prompt that became worse."""


def _key(side: Side, rank: str) -> Hashable | None:
    """Return what a contract has of this rank; None if it has nothing. A contract is only loaded if
    it must be."""
    sketch, file, prompt = side.sketch, side.file, side.prompt
    if rank == "names in a suite":  # what it calls the prompt and the model
        return (file, sketch.parts) if sketch.parts else None
    if rank == "name":
        return sketch.name
    if rank == "place":  # the contract may have a new name
        return (file, sketch.path.removeprefix(sketch.file), prompt) if prompt else None
    if rank == "prompt in a suite":
        return (file, prompt) if sketch.is_foreign and prompt else None
    if rank == "broken":  # a contract that could not be read at base has no name there
        return file if sketch.name is None or side.is_head else None
    of_suite = rank not in ("prompt and model", "text and model")
    if (of_suite and not sketch.is_foreign) or (rank.startswith(("file", "prompt")) and not prompt):
        return None
    contract = side.load()
    if contract is None:
        return None
    model = contract.target.model
    if rank.startswith("text"):
        text = tuple((m.role, m.content) for p in contract.target.prompts for m in p.messages)
        return ((file, text) if of_suite else (text, model)) if text else None
    if rank == "prompt and model":
        return prompt, model
    # A suite can call another prompt by the same name, and its folder gives a suite its own name.
    if prompt_file(prompt or "") == file:
        return None
    return (file, prompt, model) if rank.endswith("suite") else (prompt, model)


def is_in(place: str, places: Collection[str]) -> bool:
    """Return whether a place in a file is one of the places, holds one, or is in one: a suite may
    write a prompt as `prompts[0]` or, beside its label, as `prompts[0].raw`."""
    return any(
        known == place or known.startswith(f"{place}.") or place.startswith(f"{known}.")
        for known in places
    )


@dataclass
class Pairs:
    """The path at base of each contract at head that continues one. `renamed` are the pairs that
    have different names."""

    old: dict[str, str] = field(default_factory=dict)
    renamed: list[tuple[str, str]] = field(default_factory=list)


def pair_contracts(heads: Mapping[str, Side], bases: Mapping[str, Side]) -> Pairs:
    """Pair the contracts of both revisions by their paths. Each contract has one partner at most;
    among several that are alike, one in the same file goes first."""
    pairs = Pairs()
    left = dict(bases)
    for rank in _RANKS:
        waiting = {path: side for path, side in heads.items() if path not in pairs.old}
        if not waiting or not left:
            break
        alike: dict[Hashable, list[str]] = defaultdict(list)
        for path, side in left.items():
            found = _key(side, rank)
            if found is not None:
                alike[found].append(path)
        for path, side in waiting.items():
            candidates = [old for old in alike.get(_key(side, rank), ()) if old in left]
            if candidates:
                same = (old for old in candidates if left[old].file == side.file)
                pairs.old[path] = next(same, candidates[0])
                was = left.pop(pairs.old[path]).sketch.name
                now = side.sketch.name
                pairs.renamed += [(was, now)] if was and now and was != now else []
    return pairs
