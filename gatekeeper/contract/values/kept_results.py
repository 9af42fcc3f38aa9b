"""Keeps the results of functions that are asked again and again about the same objects."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeVar, TypeVarTuple

Parts = TypeVarTuple("Parts")
T = TypeVar("T")


def kept_by_identity(function: Callable[[*Parts], T], most: int = 100_000) -> Callable[[*Parts], T]:
    """Return the function with its results kept for the same objects, which must not change.

    Neither equality nor a hash is needed, so objects may be long texts or hold dictionaries. The
    objects of at most `most` results stay in memory.
    """
    known: dict[tuple[int, ...], tuple[object, T]] = {}

    @wraps(function)
    def kept(*arguments: *Parts) -> T:
        key = tuple(map(id, arguments))
        found = known.get(key)
        if found is None:
            if len(known) >= most:
                known.clear()
            # The arguments are kept too: another object cannot get the number of one of them.
            found = known[key] = (arguments, function(*arguments))
        return found[1]

    return kept
