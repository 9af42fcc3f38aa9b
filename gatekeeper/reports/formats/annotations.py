"""Finds the place of a contract's finding in a pull request: the edits that did the harm, or the
changed lines of its prompt if they are not known."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gatekeeper import numbers
from gatekeeper.contract.formats.foreign_suite import file_of_contract
from gatekeeper.contract.values.trial import Arm
from gatekeeper.gate.results.author_results import ContractBlame
from gatekeeper.gate.results.parts import FixtureResult
from gatekeeper.gate.results.result import ContractResult
from gatekeeper.reports.escape import clip, visible
from gatekeeper.reports.words.prompt_diff import SectionChange, place_at_head, prompt_changes
from gatekeeper.reports.words.ranking import by_severity, worst_reasons

_MOST_SECTIONS = 4
"""The most annotations for one prompt, so that a rewritten prompt leaves room for other
contracts."""
_TITLE = 80
_REASON = 600


@dataclass(frozen=True, slots=True)
class Place:
    """A finding at the lines `line` to `end_line` of head. `line` is None if it concerns the file
    as a whole, and `end_line` is None for one line.

    All texts are visible characters, which what carries them has still to escape.
    """

    contract: ContractResult
    path: str
    line: int | None
    message: str
    end_line: int | None = None


def places(
    contracts: Sequence[ContractResult], blame: Sequence[ContractBlame] = ()
) -> tuple[Place, ...]:
    """Return the places that people should look at, the worst first.

    Every contract that does not pass has its say before any has a second one. Those after
    the first mark further harmful edits if `blame` names them. Otherwise they mark further sections
    that changed in the same prompt: which of them did the harm is not known, as all were tried
    together.
    """
    harmful = {found.contract: found for found in blame}
    found = [
        _of_edits(c, harmful.get(c.name)) or _of(c)
        for c in by_severity(contracts)
        if c.verdict != "pass"
    ]
    return tuple(
        places_of[turn]
        for turn in range(_MOST_SECTIONS)
        for places_of in found
        if turn < len(places_of)
    )


def failing_check(contract: ContractResult) -> str | None:
    """Return the check that fails on most fixtures at head, in words; None if none fails."""
    fixtures = deciding_fixtures(contract)
    at_head = Counter(_checks(fixtures, "head"))
    if not at_head:
        return None
    # The one that base passed explains more than one that failed all along.
    at_base = Counter(_checks(fixtures, "base"))
    worst = max(
        sorted(at_head), key=lambda check: (at_head[check], at_head[check] - at_base[check])
    )
    before = f" and on {at_base[worst]:,} at base" if contract.base else ""
    of = numbers.count(len(fixtures), "fixture")
    on = f"{at_head[worst]:,} of {of} at head{before}"
    return f"The check {_name(worst)} fails most often: on {on}."


def _of_edits(contract: ContractResult, blame: ContractBlame | None) -> tuple[Place, ...]:
    """Return the places of the harmful edits; none if they are not known or no line of head shows
    them."""
    found: list[Place] = []
    for cause in blame.causes if blame else ():
        for edit in cause.edits:
            if edit.line is None:
                continue
            said = clip(cause.text, _REASON)
            if not found:
                said = "\n".join(filter(None, [said, _reasons(contract), failing_check(contract)]))
            end = edit.end_line if edit.end_line and edit.end_line > edit.line else None
            found.append(Place(contract, edit.path, edit.line, visible(said), end))
    return tuple(found)


def _reasons(contract: ContractResult) -> str:
    return "\n".join(clip(reason.text, _REASON) for reason in worst_reasons(contract))


def _of(contract: ContractResult) -> tuple[Place, ...]:
    changes = prompt_changes(contract)
    said = [_reasons(contract), _changed(changes), failing_check(contract)]
    message = visible("\n".join(part for part in said if part))
    if contract.head is None or not changes:
        return (Place(contract, _file(contract), None, message),)
    head = contract.head
    first, *more = changes[:_MOST_SECTIONS]
    also = f"This change is in the prompt of {_name(contract.name)}; verdict: {contract.verdict}."
    return (
        Place(contract, *place_at_head(first, head), message),
        *(
            Place(contract, *place_at_head(c, head), visible(f"{_section(c)}. {also}"))
            for c in more
        ),
    )


def _file(contract: ContractResult) -> str:
    """Return the file to annotate if it is not the prompt: an include, a fixture, …"""
    changed = [by.path for by in contract.affected_by if by.change != "deleted"]
    prompt = contract.head.prompt_path if contract.head else file_of_contract(contract.path)
    if not changed or prompt in changed:
        return prompt
    file = file_of_contract(contract.path)
    return file if file in changed else changed[0]


def _changed(changes: Sequence[SectionChange]) -> str:
    if not changes:
        return ""
    others = len(changes) - 1
    more = f", and {numbers.count(others, 'more section', 'more sections')}" if others else ""
    return f"Changed: {_section(changes[0])}{more}."


def _section(change: SectionChange) -> str:
    state = "" if change.change == "changed" else f" ({change.change})"
    return f"section {_name(change.title)} at line {change.line:,}{state}"


def _name(text: str) -> str:
    return f"“{clip(' '.join(text.split()), _TITLE)}”"


def deciding_fixtures(contract: ContractResult) -> Sequence[FixtureResult]:
    """Return the fixtures of the contract that found the worst reason, head's or base's."""
    worst = next(iter(worst_reasons(contract)), None)
    if worst is not None and worst.contract_from != "head" and contract.under_base is not None:
        return contract.under_base.fixtures
    return contract.fixtures


def _checks(fixtures: Sequence[FixtureResult], arm: Arm) -> Iterator[str]:
    """Yield the name of each failing check, once for each fixture."""
    for fixture in fixtures:
        yield from {failure.check for failure in fixture.failures_on(arm)}
