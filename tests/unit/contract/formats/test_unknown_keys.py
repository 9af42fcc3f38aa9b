"""Every known key of every format, misspelt in turn: it is never passed over in silence."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import pytest
from support.every_foreign_key import EVERY_KEY
from support.foreign_files import revision
from support.quick_and_long import a_few

from gatekeeper.checks.registry import SHAPES
from gatekeeper.contract.files.contract_document import contract_paths_of
from gatekeeper.contract.formats.reader import Keys
from gatekeeper.contract.formats.recognise import known_formats
from gatekeeper.contract.loading.load import load_contract
from gatekeeper.contract.meaning.digests import contract_digest
from gatekeeper.contract.policies.policy import Policy
from gatekeeper.errors import ContractError
from gatekeeper.gate.validate import prepare_contract

Place = tuple[str | int, ...]


def places(value: Any, free: frozenset[str], key: Place = ()) -> Iterator[Place]:
    """The place of every key of the data, without names of the author's own."""
    for name, item in value.items() if isinstance(value, dict) else enumerate(value):
        place = (*key, name)
        holder = next((part for part in reversed(key) if isinstance(part, str)), "")
        if isinstance(name, str) and holder not in free:
            yield place
        if isinstance(item, dict | list):
            yield from places(item, free, place)


def misspellings(name: str) -> list[str]:
    """A slip that is still like the name, and another word."""
    return [name[:-1] if len(name) % 2 else name[0] + name, f"zz{name[::-1]}"]


def renamed(data: Any, place: Place, other: str) -> Any:
    """The data with one key under another name, in its old place among the others."""
    made = copy.deepcopy(data)
    holder = made
    for part in place[:-1]:
        holder = holder[part]
    items = [(other if name == place[-1] else name, item) for name, item in holder.items()]
    holder.clear()
    holder.update(items)
    return made


@dataclass
class Outcome:
    """What is reported of the contracts: problems, what is not run, and what they decide."""

    problems: list[str]
    notes: set[str]
    digests: list[str]


def outcome(files: Mapping[str, str], path: str, *, plan: bool = False) -> Outcome:
    made = revision(files)
    found = Outcome([], set(), [])
    for contract in contract_paths_of(made, path):
        try:
            if plan:
                prepare_contract(made, contract, Policy())
            loaded = load_contract(made, contract, SHAPES)
        except ContractError as error:
            found.problems += map(str, error.problems)
        else:
            found.notes |= {f"{note.kind} {note.why}" for note in loaded.not_run}
            found.digests.append(contract_digest(loaded))
    return found


@cache
def unchanged(number: int) -> Outcome:
    example = EVERY_KEY[number]
    return outcome(example.files(), example.path, plan=True)


CASES = [
    pytest.param(number, file, place, id=f"{example.format} {'.'.join(map(str, place))}")
    for number, example in enumerate(EVERY_KEY)
    for file in example.data
    for place in places(example.data[file], example.free)
]


@pytest.mark.parametrize(("number", "file", "place"), a_few(CASES, 150))
def test_a_misspelt_key_is_an_error_or_not_run(number: int, file: str, place: Place) -> None:
    example, before = EVERY_KEY[number], unchanged(number)
    assert not before.problems
    for name in misspellings(str(place[-1])):
        text = example.write(file, renamed(example.data[file], place, name))
        files = {**example.files(), file: text}
        found = outcome(files, example.path)
        if found.problems or any(name in note for note in found.notes - before.notes):
            continue
        if place[-1] not in example.harmless and name not in KNOWN:
            assert outcome(files, example.path, plan=True).problems, (name, found.notes)
            continue
        # What decides nothing under its own name may decide nothing under another one, and some
        # keys mean the same.
        assert found.digests == before.digests


def tables() -> Iterator[tuple[str, str, Keys]]:
    for known in known_formats():
        name = known.read.__module__.removeprefix("gatekeeper.contract.formats.").split(".")[0]
        for kind, table in known.KEYS.items():
            yield name, kind, table


KNOWN = frozenset(key for _, _, table in tables() for key in table.known)


def test_the_examples_have_every_key_of_every_table() -> None:
    used: dict[str, set[str]] = {}
    for example in EVERY_KEY:
        found = used.setdefault(example.format, set())
        for data in example.data.values():
            found |= {str(place[-1]) for place in places(data, frozenset())}
    for name, kind, table in tables():
        if kind not in ("JSON Schema",):
            assert table.read - used[name] == set(), (name, kind)
