"""Reads names that are written as words, and gives a thing a name that no other thing has."""

from __future__ import annotations


def words(text: str) -> frozenset[str]:
    """Return the words of a text."""
    return frozenset(text.split())


def take_name(wanted: str, taken: set[str], form: str = "{name}-{number}") -> str:
    """Return the wanted name, or if it is taken, the first in this form with a number from 2 on
    that is free. The name is added to `taken`."""
    found, number = wanted, 1
    while found in taken:
        number += 1
        found = form.format(name=wanted, number=number)
    taken.add(found)
    return found
