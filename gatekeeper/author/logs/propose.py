"""Chooses the inputs that a suite lacks most, and says how much of what was logged it covers.

The choice is the greedy k-centre algorithm (Gonzalez 1985, *Clustering to minimize the maximum
intercluster distance*, Theoretical Computer Science 38:293-306): each step takes the input that is
farthest from all that are there. The distance of two inputs is that of Jaccard over their words.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any

import regex

from gatekeeper.author.logs.formats import LoggedInput, UnreadLine
from gatekeeper.author.logs.personal_data import (
    TooMuchPersonalDataError,
    without_personal_data,
)
from gatekeeper.contract.fixtures.unused_variables import names_sent
from gatekeeper.contract.meaning.digests import canonical, digest
from gatekeeper.contract.values.definition import Contract, MessageTemplate

NEAR = 0.7
"""An input counts as covered by another up to this distance: they share three tenths of their
words."""
CLOSE = 0.5
"""Two chosen inputs are proposed as one cluster if a logged input is no farther from either."""
_WORD = re.compile(r"\w+")

Input = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Chosen:
    """The inputs that were chosen, by their position, the most distant first, with the cluster that
    each belongs to; None for one that is alone. `covered` of all inputs are near one that the suite
    had before, and `covered_then` with the chosen ones too."""

    positions: tuple[int, ...]
    clusters: tuple[str | None, ...]
    covered: float
    covered_then: float


def words_of(values: Input) -> frozenset[str]:
    """Return the words of an input, in lower case."""
    text = " ".join(v if isinstance(v, str) else json.dumps(v) for v in values.values())
    return frozenset(_WORD.findall(text.lower()))


def choose_inputs(known: Sequence[Input], logged: Sequence[Input], most: int) -> Chosen:
    """Choose at most `most` of the `logged` inputs, which `known` ones do not cover."""
    words = [words_of(values) for values in logged]
    nearest = [1.0] * len(words)
    for values in known:
        _approach(nearest, words, words_of(values))
    before = _share_near(nearest)
    chosen: list[int] = []
    close: list[list[int]] = []
    while len(chosen) < most and words:
        farthest = max(range(len(words)), key=nearest.__getitem__)
        if nearest[farthest] <= NEAR and (known or chosen):
            break
        chosen.append(farthest)
        close.append(_approach(nearest, words, words[farthest]))
    return Chosen(tuple(chosen), _clusters(close), before, _share_near(nearest))


def _approach(
    nearest: list[float], words: Sequence[AbstractSet[str]], centre: AbstractSet[str]
) -> list[int]:
    """Shorten each input's distance to the nearest centre by a new centre, and return those that
    are close to the new one."""
    close = []
    for position, own in enumerate(words):
        if nearest[position] > 0:
            found = distance(own, centre)
            nearest[position] = min(nearest[position], found)
            if found <= CLOSE:
                close.append(position)
    return close


def distance(one: AbstractSet[str], other: AbstractSet[str]) -> float:
    """Return Jaccard's distance of two sets of words, from 0 (the same) to 1 (nothing shared)."""
    shared = len(one & other)
    together = len(one) + len(other) - shared
    return 1 - shared / together if together else 0.0


def _share_near(nearest: Sequence[float]) -> float:
    return sum(far <= NEAR for far in nearest) / len(nearest) if nearest else 1.0


def _clusters(close: Sequence[Sequence[int]]) -> tuple[str | None, ...]:
    """Return a name for each family of chosen inputs: those that share an input in `close`, which
    has the positions of what is close to each."""
    family = list(range(len(close)))
    first: dict[int, int] = {}
    for number, positions in enumerate(close):
        for position in positions:
            one, other = family[first.setdefault(position, number)], family[number]
            if one != other:
                family = [min(one, other) if name in (one, other) else name for name in family]
    return tuple(f"family-{one + 1}" if family.count(one) > 1 else None for one in family)


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
    templates = [_pattern(message) for message in contract.target.sent[-1].messages]
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


MOST_INPUTS = 20_000
"""The most distinct inputs that are compared. If there are more, this number of them is
chosen at random."""
MOST_CHARACTERS = 200_000
"""Of an input. Longer ones are left out."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """The proposed `rows` of a fixture file, and what they were chosen from.

    Of the `requests` in the logs, `other` are not of this prompt. `inputs` are distinct, and
    `compared` those that were looked at. `replaced` personal data and secrets were replaced, and
    `left_out` inputs are
    too long, or have too many to look at. `covered` is the share of the compared inputs that
    are near a fixture of the suite, `covered_then` with the proposed ones too. `unread` are the
    lines of the logs without a request. The prompt uses the variables `sent`; `missing` are others
    of the fixtures that a proposed row lacks.
    """

    rows: tuple[dict[str, Any], ...]
    requests: int
    other: int
    inputs: int
    compared: int
    replaced: int
    left_out: int
    covered: float
    covered_then: float
    unread: tuple[UnreadLine, ...] = ()
    sent: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()


def propose_fixtures(
    contract: Contract,
    logged: Iterable[LoggedInput | UnreadLine],
    most: int,
    countries: Sequence[str] = (),
) -> Proposal:
    """Choose at most `most` inputs that the contract's fixtures do not cover."""
    reader = filled(contract)
    requests = 0
    found: dict[str, dict[str, Any]] = {}
    other = left_out = 0
    unread: list[UnreadLine] = []
    for one in logged:
        if isinstance(one, UnreadLine):
            unread.append(one)
            continue
        requests += 1
        values = reader.values(one)
        if values is None:
            other += 1
        else:
            text = canonical(dict(values))
            if len(text) > MOST_CHARACTERS:
                left_out += 1
            else:
                found.setdefault(text, dict(values))
    inputs = list(found.values())
    if len(inputs) > MOST_INPUTS:
        inputs = random.Random(0).sample(inputs, MOST_INPUTS)  # noqa: S311  # the same each time
    cleaned: list[dict[str, Any]] = []
    replaced = 0
    for one_input in inputs:
        try:
            clean = {
                name: without_personal_data(value, countries) for name, value in one_input.items()
            }
        except TooMuchPersonalDataError:
            left_out += 1
            continue
        cleaned.append({name: value for name, (value, _) in clean.items()})
        replaced += sum(count for _, count in clean.values())
    known = [reader.input_of(fixture.vars) for fixture in contract.fixtures]
    chosen = choose_inputs(known, list(map(reader.input_of, cleaned)), most)
    rows = tuple(_rows(chosen, cleaned))
    return Proposal(
        rows=rows,
        requests=requests,
        other=other,
        inputs=len(found),
        compared=len(cleaned),
        replaced=replaced,
        left_out=left_out,
        covered=chosen.covered,
        covered_then=chosen.covered_then,
        unread=tuple(unread),
        sent=tuple(sorted(reader.sent)),
        missing=tuple(n for n in reader.names if any(n not in row["vars"] for row in rows)),
    )


def _rows(chosen: Chosen, inputs: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the lines of the fixture file."""
    for position, cluster in zip(chosen.positions, chosen.clusters, strict=True):
        values = inputs[position]
        row = {"id": f"log-{digest(values)[:10]}", "vars": values}
        yield {**row, "cluster": f"log-{cluster}"} if cluster else row
