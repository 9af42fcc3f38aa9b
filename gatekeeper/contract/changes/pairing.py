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


Key = Callable[[Side], Hashable | None]


def _parts(side: Side) -> Hashable | None:
    """Return what a suite of another tool calls the prompt and the model."""
    return (side.file, side.sketch.parts) if side.sketch.parts else None


def _name(side: Side) -> Hashable | None:
    return side.sketch.name


def _place(side: Side) -> Hashable | None:
    """Return the place of the contract and its prompt: the contract may have a new name."""
    part = side.sketch.path.removeprefix(side.sketch.file)
    return (side.file, part, side.prompt) if side.prompt else None


def _prompt_and_model(side: Side) -> Hashable | None:
    contract = side.load()
    return (side.prompt, contract.target.model) if side.prompt and contract else None


def _text_and_model(side: Side) -> Hashable | None:
    contract = side.load()
    text = _text(contract)
    return (text, contract.target.model) if text and contract else None


def _prompt_in_suite(side: Side) -> Hashable | None:
    return (side.file, side.prompt) if side.sketch.is_foreign and side.prompt else None


def _text_in_suite(side: Side) -> Hashable | None:
    text = _text(side.load()) if side.sketch.is_foreign else None
    return (side.file, text) if text else None


def _text(contract: Contract | None) -> Hashable | None:
    """Return what the prompts of a contract say, in the order in which they are sent."""
    if contract is None:
        return None
    prompts = (*(step.prompt for step in contract.target.steps), contract.target.prompt)
    return tuple((m.role, m.content) for prompt in prompts for m in prompt.messages)


def _file_in_suite(side: Side) -> Hashable | None:
    """Return the prompt's own file and the model. A suite can call another prompt by the same
    name."""
    known = _file_of_suite(side)
    return (side.file, known) if known else None


def _file_of_suite(side: Side) -> Hashable | None:
    """Return the same without the suite, which may have moved: its folder gives it its name."""
    known = _prompt_and_model(side) if side.sketch.is_foreign and side.prompt else None
    return known if known and prompt_file(side.prompt or "") != side.file else None


def _broken(side: Side) -> Hashable | None:
    """Return the file of a contract that could not be read at base, and so has no name there."""
    return side.file if side.sketch.name is None or side.is_head else None


_KEYS: tuple[Key, ...] = (
    _file_in_suite,
    _file_of_suite,
    _parts,
    _name,
    _place,
    _prompt_and_model,
    _text_and_model,
    _prompt_in_suite,
    _text_in_suite,
    _broken,
)
"""What two contracts have in common that are the same, the surest first. The prompt's place comes
before its text: a copy of the old text must not stand in for a prompt that became worse."""


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
    for key in _KEYS:
        waiting = {path: side for path, side in heads.items() if path not in pairs.old}
        if not waiting or not left:
            break
        alike: dict[Hashable, list[str]] = defaultdict(list)
        for path, side in left.items():
            found = key(side)
            if found is not None:
                alike[found].append(path)
        for path, side in waiting.items():
            candidates = [old for old in alike.get(key(side), ()) if old in left]
            if candidates:
                same = (old for old in candidates if left[old].file == side.file)
                pairs.old[path] = next(same, candidates[0])
                was = left.pop(pairs.old[path]).sketch.name
                now = side.sketch.name
                pairs.renamed += [(was, now)] if was and now and was != now else []
    return pairs
