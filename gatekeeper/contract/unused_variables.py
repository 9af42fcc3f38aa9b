"""Finds variables of fixtures that neither the prompt nor a check uses."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Callable, Iterator, Sequence

from gatekeeper.contract.definition import CheckSpec, Contract, Position
from gatekeeper.contract.prompts.unfilled_names import words_in_tags
from gatekeeper.errors import Problem

_ALIKE = 0.75
"""How similar a name must be to count as a misspelling, from 0 to 1."""
_EXPECTED = "expected"
_WORD = re.compile(r"\w+")


def unused_variables(
    contract: Contract, read_elsewhere: Callable[[], frozenset[str] | None] = frozenset
) -> Iterator[Problem]:
    """Yield each variable that at least one fixture sets and nothing reads, at the first fixture
    that sets it.

    `read_elsewhere` returns the names that other contracts with the same fixtures read, None if
    they may read any; it is called only if this contract does not read a variable. The name
    `expected` is the expected value if the fixture has one, which some tools keep in its variables.
    """
    used = names_read(contract)
    if used is None:
        return
    found: dict[str, Position] = {}
    for fixture in contract.fixtures:
        for name in fixture.vars:
            if name not in used and (name != _EXPECTED or fixture.expected is None):
                found.setdefault(name, fixture.position or Position(contract.path))
    elsewhere = read_elsewhere() if found else frozenset()
    if elsewhere is None:
        return
    wanted = {*_words_of_prompt(contract), *_templates_of(_specs(contract))} - {
        name for fixture in contract.fixtures for name in fixture.vars
    }
    for name, at in found.items():
        if name not in elsewhere:
            what = f"neither the prompt nor a check uses the variable `{name}`"
            yield Problem(at.path, what, _advice(name, wanted), at.line, at.column)


def names_read(contract: Contract) -> frozenset[str] | None:
    """Return every word that the prompt, a check or a turn may read as a variable. A check in
    Python may read any variable: then None."""
    specs = _specs(contract)
    if any(spec.shape.code for spec in specs):
        return None
    used = set(_words_of_prompt(contract))
    for spec in specs:
        used.update(_words_of_check(spec))
    for fixture in contract.fixtures:
        for turn in fixture.turns:
            used.update(_WORD.findall(turn))
        if fixture.user:
            used.update(words_in_tags(f"{fixture.user.goal} {fixture.user.persona}"))
    return frozenset(used)


def _specs(contract: Contract) -> list[CheckSpec]:
    return [spec for part in (contract, *contract.groups) for spec in part.every_check()]


def _words_of_prompt(contract: Contract) -> Iterator[str]:
    for prompt in contract.target.prompts:
        for text in (*(message.content for message in prompt.messages), *prompt.includes.values()):
            yield from words_in_tags(text)


def _templates_of(specs: Sequence[CheckSpec]) -> Iterator[str]:
    """Yield every word in a template of the checks."""
    for spec in specs:
        yield from words_in_tags(json.dumps(dict(spec.params), default=str, ensure_ascii=False))


def _words_of_check(spec: CheckSpec) -> Iterator[str]:
    """Yield every word of a check: a template or a condition may stand anywhere in it."""
    written = json.dumps([dict(spec.params), spec.when], default=str, ensure_ascii=False)
    yield from _WORD.findall(written)


def _advice(name: str, wanted: set[str]) -> str:
    near = difflib.get_close_matches(name, sorted(wanted), n=1, cutoff=_ALIKE)
    return f"did you mean `{near[0]}`?" if near else "remove it, or move it to `metadata`"
