"""Finds the values that a prompt was filled with, from what was sent."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import regex

from gatekeeper.author.logs.formats import LoggedInput
from gatekeeper.contract.fixtures.unused_variables import names_sent
from gatekeeper.contract.values.definition import Contract, MessageTemplate

_HOLE = re.compile(r"\{\{-?\s*([A-Za-z_]\w*)\s*-?\}\}")
_SECONDS = 0.2
_MOST_TIMEOUTS = 20
_MOST_CHARACTERS = 200_000


@dataclass(slots=True)
class Filled:
    """How to read a contract's variables from a request: `names` are those that its fixtures have,
    `sent` those of them that the prompt uses, and `templates` the patterns of its messages, if
    these have plain holes only."""

    names: tuple[str, ...]
    sent: frozenset[str]
    templates: tuple[tuple[str, regex.Pattern[str]], ...]
    timeouts: int = 0
    """Texts that took too long to compare; after a few, messages are no longer compared."""

    def values(self, logged: LoggedInput) -> Mapping[str, Any] | None:
        """Return the value of each variable of the prompt, and of the others that were logged; None
        if the request is of another prompt."""
        if logged.values is not None and self.sent <= logged.values.keys():
            return {name: logged.values[name] for name in self.names if name in logged.values}
        return self._from_messages(logged.messages)

    def input_of(self, values: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the values that are sent: those for checks alone make no other input."""
        return {name: value for name, value in values.items() if name in self.sent}

    def _from_messages(self, messages: Sequence[tuple[str, str]]) -> Mapping[str, Any] | None:
        if len(messages) != len(self.templates) or self.timeouts >= _MOST_TIMEOUTS:
            return None
        found: dict[str, str] = {}
        for (role, text), (expected, pattern) in zip(messages, self.templates, strict=True):
            if role != expected or len(text) > _MOST_CHARACTERS:
                return None
            try:
                matched = pattern.fullmatch(text.strip(), timeout=_SECONDS)
            except TimeoutError:
                self.timeouts += 1
                return None
            if matched is None:
                return None
            if any(found.get(name, value) != value for name, value in matched.groupdict().items()):
                return None
            found |= matched.groupdict()
        return found if found.keys() == self.sent else None


def filled(contract: Contract) -> Filled:
    """Return how to read the contract's variables from a request."""
    names = dict.fromkeys(name for fixture in contract.fixtures for name in fixture.vars)
    # A prompt without variables is told from others by all that its fixtures have.
    sent = (names.keys() & names_sent(contract)) or names.keys()
    templates = [_pattern(message) for message in contract.target.prompt.messages]
    known = tuple(found for found in templates if found is not None)
    return Filled(tuple(names), frozenset(sent), known if len(known) == len(templates) else ())


def _pattern(message: MessageTemplate) -> tuple[str, regex.Pattern[str]] | None:
    """Return a pattern that finds the holes of a message; None if its template has statements or
    expressions."""
    content = message.content.strip()
    pieces, start, seen = [], 0, set[str]()
    for hole in _HOLE.finditer(content):
        pieces.append(_literal(content[start : hole.start()]))
        name = hole[1]
        pieces.append(f"(?P={name})" if name in seen else f"(?P<{name}>.*?)")
        seen.add(name)
        start = hole.end()
    pieces.append(_literal(content[start:]))
    if any(mark in _HOLE.sub("", content) for mark in ("{{", "{%", "{#")):
        return None
    return message.role, regex.compile("".join(pieces), regex.DOTALL)


def _literal(text: str) -> str:
    return regex.escape(text, special_only=True)
