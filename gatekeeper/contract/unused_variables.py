"""Finds variables of fixtures that neither the prompt nor a check uses."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from gatekeeper.contract.definition import CheckSpec, Contract, Position, Prompt
from gatekeeper.contract.prompts.unfilled_names import words_in_tags
from gatekeeper.errors import Problem

_ALIKE = 0.75
"""How similar a name must be to count as a misspelling, from 0 to 1."""
_EXPECTED = "expected"
_MOST_NAMED = 5
_WORD = re.compile(r"\w+")
_OTHER_STYLES = {
    "Python's string.Template and of shell scripts": r"\${{{name}}}|\${name}(?![\w$])",
    "Python's % formatting": r"%\({name}\)[sdr]",
    "double square brackets": r"\[\[ ?{name} ?\]\]",
    "double angle brackets": r"<< ?{name} ?>>",
}
"""How a variable is written in styles that gatekeeper does not fill in."""


@dataclass(frozen=True, slots=True)
class UnusedVariable:
    """A variable that nothing reads. It is a mistake, and not a column for people, if the prompt
    has the variable in another style, or if it reads no variable at all."""

    problem: Problem
    is_mistake: bool = False


def unused_variables(
    contract: Contract, read_elsewhere: Callable[[], frozenset[str] | None] = frozenset
) -> Iterator[UnusedVariable]:
    """Yield each variable that at least one fixture sets and nothing reads, at the first fixture
    that sets it, or at the line of the prompt that has it in another style.

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
    unused = {name: at for name, at in found.items() if name not in elsewhere}
    names = {name for fixture in contract.fixtures for name in fixture.vars}
    misread = [problem for name in unused for problem in _in_other_style(contract, name)]
    if misread:
        yield from (UnusedVariable(problem, is_mistake=True) for problem in misread)
    elif names == unused.keys() and not any(f.turns or f.user for f in contract.fixtures):
        yield from _nothing_used(contract, unused)
    else:
        wanted = {*_words_of_prompt(contract), *_templates_of(_specs(contract))} - names
        for name, at in unused.items():
            what = f"neither the prompt nor a check uses the variable `{name}`"
            fix = _advice(name, wanted)
            yield UnusedVariable(Problem(at.path, what, fix, at.line, at.column))


def _in_other_style(contract: Contract, name: str) -> Iterator[Problem]:
    """Yield the first line of the prompt that has a variable in a style that is not filled in."""
    for prompt in contract.target.prompts:
        for message in prompt.messages:
            for style, pattern in _OTHER_STYLES.items():
                written = re.search(pattern.format(name=re.escape(name)), message.content)
                if written:
                    line = message.line_at(message.content.count("\n", 0, written.start()) + 1)
                    what = (
                        f"the model gets `{written.group()}` unchanged, although fixtures have a "
                        f"variable `{name}`"
                    )
                    fix = (
                        f"write `{_tag(prompt, name)}`, because gatekeeper does not fill in the "
                        f"style of {style}"
                    )
                    yield Problem(prompt.path, what, fix, line)
                    return


def _nothing_used(contract: Contract, unused: Mapping[str, Position]) -> Iterator[UnusedVariable]:
    """Yield one problem if fixtures set variables and nothing reads any of them."""
    for name, at in islice(unused.items(), 1):
        prompt = contract.target.prompt
        listed = ", ".join(f"`{each}`" for each in [*unused][:_MOST_NAMED])
        what = (
            f"the prompt `{prompt.path}` uses no variable of the fixtures ({listed}), so all "
            "requests are the same"
        )
        fix = f"write `{_tag(prompt, name)}` in the prompt, or remove the variables"
        problem = Problem(at.path, what, fix, at.line, at.column)
        yield UnusedVariable(problem, is_mistake=True)


def _tag(prompt: Prompt, name: str) -> str:
    """Return how the prompt's own style writes a variable."""
    return f"{{{name}}}" if prompt.style == "fstring" else f"{{{{ {name} }}}}"


def names_read(contract: Contract) -> frozenset[str] | None:
    """Return every word that the prompt, a check or a turn may read as a variable. A check in
    Python may read any variable: then None. A scoring function reads only scores."""
    specs = _specs(contract)
    if any(spec.shape.code and not spec.shape.composed for spec in specs):
        return None
    return names_sent(contract).union(*map(_words_of_check, specs))


def names_sent(contract: Contract) -> frozenset[str]:
    """Return every word that the prompt or a turn may read as a variable."""
    used = set(_words_of_prompt(contract))
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
    return f"did you mean `{near[0]}`?" if near else "remove the variable, or move it to `metadata`"
