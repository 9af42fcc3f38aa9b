"""Fixtures in quarantine: they flicker, so until a date they do not decide. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import date
from typing import Any

from gatekeeper import numbers
from gatekeeper.contract.definition import Contract, Fixture, Position, Quarantine
from gatekeeper.contract.syntax.schema_errors import nearest
from gatekeeper.contract.syntax.yaml_positions import Document
from gatekeeper.errors import Problem

KEY = "quarantine"
_MOST_NAMED = 5


def read_quarantine(
    document: Document, fixtures: tuple[Fixture, ...], problems: list[Problem]
) -> tuple[Fixture, ...]:
    """Return the fixtures with the quarantine that the contract writes for them."""
    written, found = document.data.get(KEY), dict[str, Quarantine]()
    if problems or not written:
        return fixtures
    ids = {fixture.id for fixture in fixtures}
    for index, item in enumerate(written):
        for name, what, fix in _faults(item, ids, found):
            problems.append(document.problem((KEY, index, name), what, fix))
        rest = {name: item[name] for name in ("until", "owner", "why")}
        found[item["fixture"]] = Quarantine(**rest, position=document.position((KEY, index)))
    if not problems and len(found) == len(ids):
        what = "every fixture is in quarantine, so nothing would decide"
        problems.append(document.problem((KEY,), what, "leave at least one fixture out of it"))
    return tuple(replace(f, quarantine=found[f.id]) if f.id in found else f for f in fixtures)


def _faults(
    item: Mapping[str, Any], ids: set[str], found: Mapping[str, Quarantine]
) -> Iterator[tuple[str, str, str]]:
    name = item["fixture"]
    if name not in ids:
        yield "fixture", f"no fixture has the id `{name}`", nearest(name, ids)
    elif name in found:
        yield "fixture", f"`{name}` is in quarantine twice", "keep one of the entries"
    for key in ("owner", "why"):
        if not item[key].strip():
            yield key, f"`{key}` is empty", f"write {_MEANING[key]}"
    if not _is_date(item["until"]):
        example = "write the last day as YYYY-MM-DD, such as 2026-12-31"
        yield "until", f"`{item['until']}` is not a date", example


_MEANING = {"owner": "who mends the fixture", "why": "the reason"}


def _is_date(text: str) -> bool:
    if not re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text):
        return False
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def without_quarantine(contract: Contract) -> Contract:
    """Return the contract as if no fixture were in quarantine: it samples and grades the same."""
    return _released(contract, {f.id for f in contract.fixtures if f.quarantine})


def in_force(contract: Contract, today: date) -> Contract:
    """Return the contract without the quarantines that have ended."""
    held = (f for f in contract.fixtures if f.quarantine and f.quarantine.has_ended(today))
    return _released(contract, {fixture.id for fixture in held})


def _released(contract: Contract, ids: set[str]) -> Contract:
    if not ids:
        return contract
    each = contract.fixtures
    fixtures = tuple(replace(f, quarantine=None) if f.id in ids else f for f in each)
    return replace(contract, fixtures=fixtures)


def quarantine_weakenings(base: Contract, head: Contract) -> Iterator[str]:
    """Yield each fixture that head puts in quarantine, or leaves there for longer."""
    before = {fixture.id: fixture.quarantine for fixture in base.fixtures}
    for fixture in head.fixtures:
        was, now = before.get(fixture.id), fixture.quarantine
        if now and was is None:
            yield f"fixture `{fixture.id}` put {now}"
        elif now and was and now.until > was.until:
            yield f"fixture `{fixture.id}`: quarantine extended from {was.until} to {now.until}"


def ended_quarantines(contract: Contract, today: date) -> Iterator[Problem]:
    """Yield each quarantine that has ended, to which nobody may get used."""
    for fixture, held in _in_quarantine(contract):
        if held.has_ended(today):
            at = held.position or Position(contract.path)
            what = (
                f"the quarantine of fixture `{fixture}` ended on {held.until} ({held.owner}: "
                f"{held.why}), so the fixture decides again"
            )
            fix = "mend it and remove its entry, or set a later date"
            yield Problem(at.path, what, fix, at.line, at.column, KEY)


def held_fixtures(contract: Contract, today: date) -> Iterator[str]:
    """Yield what to know of each fixture that does not decide."""
    held = [(f, q) for f, q in _in_quarantine(contract) if not q.has_ended(today)]
    for fixture, quarantine in held[:_MOST_NAMED]:
        yield f"fixture `{fixture}` is {quarantine}: it does not decide whether head is worse"
    if len(held) > _MOST_NAMED:
        yield f"{numbers.count(len(held) - _MOST_NAMED, 'more fixture')} in quarantine"


def quarantine_notes(contract: Contract, today: date) -> tuple[str, ...]:
    """Return what reports say of the contract's quarantine."""
    ended = [f"{problem.what}; {problem.fix}" for problem in ended_quarantines(contract, today)]
    return tuple(
        f"{text[0].upper()}{text[1:]}" for text in (*ended, *held_fixtures(contract, today))
    )


def _in_quarantine(contract: Contract) -> list[tuple[str, Quarantine]]:
    return [(f.id, f.quarantine) for f in contract.fixtures if f.quarantine]
