"""Says whether a revision has the prompt that a reference names."""

from __future__ import annotations

from gatekeeper.contract.prompts.code.constant import has_constant
from gatekeeper.contract.prompts.reference import read_reference
from gatekeeper.contract.prompts.value_at_key import has_key
from gatekeeper.contract.reading.read import UnreadableError, read_text
from gatekeeper.contract.values.change import Revision


def has_prompt(revision: Revision, reference: str) -> bool:
    """Return whether the file is there, with the key or constant of the reference. Also True if the
    file cannot be read: a program may still find the prompt in it."""
    place = read_reference(reference)
    if place.path not in revision.entries:
        return False
    if not place.part:
        return True
    try:
        text = read_text(revision, place.path)
    except UnreadableError:
        return True
    return has_constant(text, place) if place.constant else has_key(text, place)
