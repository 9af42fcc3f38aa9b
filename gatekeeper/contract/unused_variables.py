"""Finds variables of fixtures that neither the prompt nor a check uses."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterator, Sequence

from gatekeeper.contract.definition import CheckSpec, Contract, Position
from gatekeeper.contract.prompts.unfilled_names import words_in_tags
from gatekeeper.errors import Problem

_ALIKE = 0.75
"""How alike a name must be to be the one that was meant, from 0 to 1."""
_WORD = re.compile(r"\w+")


def unused_variables(contract: Contract) -> Iterator[Problem]:
    """Yield each variable that at least one fixture sets and nothing reads, at the first fixture
    that sets it. A check in Python may read any variable, so then there is none."""
    parts = (contract, *contract.groups)
    specs = [spec for part in parts for spec in part.every_check()]
    if any(spec.shape.code for spec in specs):
        return
    used = set(_words_of_prompt(contract))
    for spec in specs:
        used.update(_words_of_check(spec))
    for fixture in contract.fixtures:
        for turn in fixture.turns:
            used.update(_WORD.findall(turn))
        if fixture.user:
            used.update(words_in_tags(f"{fixture.user.goal} {fixture.user.persona}"))
    wanted = {*_words_of_prompt(contract), *_templates_of(specs)} - {
        name for fixture in contract.fixtures for name in fixture.vars
    }
    found: set[str] = set()
    for fixture in contract.fixtures:
        for name in fixture.vars:
            if name in used or name in found:
                continue
            found.add(name)
            at = fixture.position or Position(contract.path)
            what = f"neither the prompt nor a check uses the variable `{name}`"
            yield Problem(at.path, what, _advice(name, wanted), at.line, at.column)


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
