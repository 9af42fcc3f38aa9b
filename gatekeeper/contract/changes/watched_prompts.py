"""The prompts that a contract watches, by their place in it, and which of head's stands in for each
of base's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from gatekeeper.contract.files.references import Sketch
from gatekeeper.contract.values.definition import Contract

Places = Mapping[str | None, str]
"""The reference of each prompt by the name of its step; None for the contract's own prompt."""


class Watched(NamedTuple):
    """The reference of a prompt of the base contract, and of the one at the same place of head's:
    None if head's contract does not have that place."""

    reference: str
    now: str | None


def places_of(contract: Contract | Sketch | None) -> Places:
    """Return the prompts of a contract, as far as they are known."""
    if contract is None:
        return {}
    if isinstance(contract, Sketch):
        last, steps = contract.prompt, contract.steps
    else:
        last = contract.target.prompt.reference
        steps = tuple((step.name, step.prompt.reference) for step in contract.target.steps)
    places: dict[str | None, str] = {} if last is None else {None: last}
    places.update(steps)
    return places


def pair_prompts(
    base: Places, head: Places, new_name: Callable[[str], str | None]
) -> tuple[Watched, ...]:
    """Return each prompt of base with that of head at the same place. A step with a new name counts
    as the same place if its prompt is the same file; `new_name` gives a prompt's reference at head.

    Places and not paths: head could put a copy of the old prompt anywhere in its steps.
    """
    renamed = {path: place for place, path in head.items() if place not in base}
    found = []
    for place, path in base.items():
        now = head.get(place)
        if place not in head and renamed.pop(new_name(path) or path, None) is not None:
            now = new_name(path)
        found.append(Watched(path, now))
    return tuple(found)
