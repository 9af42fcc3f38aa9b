"""Fixtures in quarantine: how they are written, what is refused, and when they count again."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.edited_text import edited
from support.foreign_files import loaded as loaded_from

from gatekeeper.contract.fixtures.quarantine import (
    ended_quarantines,
    in_force,
    quarantine_notes,
    without_quarantine,
)
from gatekeeper.contract.loading.load import differs
from gatekeeper.contract.meaning.digests import contract_digest
from gatekeeper.contract.values.definition import Contract, Quarantine
from gatekeeper.contract.weakening.weakening import weakenings
from gatekeeper.errors import ContractError

CONTRACT = """\
contract: 1
name: tag
prompt: tag.txt
model: openai/gpt-4o-mini
fixtures:
  - {id: one, vars: {word: one}}
  - {id: two, vars: {word: two}}
  - {id: three, vars: {word: three}}
checks: [{type: length, max: 9}]
"""
ENTRY = "{fixture: one, owner: team, until: 2026-12-31, why: flickers}"
TODAY = date(2026, 12, 31)


def load(*entries: str) -> Contract:
    written = "".join(f"  - {entry}\n" for entry in entries)
    text = CONTRACT + (f"quarantine:\n{written}" if entries else "")
    return loaded_from({"c/tag.yaml": text, "c/tag.txt": "Tag {{ word }}."}, "c/tag.yaml")


def test_it_is_read_into_its_fixture() -> None:
    one, *others = load(ENTRY).fixtures
    assert one.quarantine == Quarantine("2026-12-31", "team", "flickers")
    assert one.quarantine.position.line == 11
    assert not any(fixture.quarantine for fixture in others)


@pytest.mark.parametrize(
    ("entry", "field", "said", "fix"),
    [
        (ENTRY.replace("one", "on"), "fixture", "no fixture has the id `on`", "mean `one`?"),
        (edited(ENTRY, "2026-12-31", "31.12.2026"), "until", "required form", "YYYY-MM-DD"),
        (edited(ENTRY, "2026-12-31", "2026-02-30"), "until", "not a date", "YYYY-MM-DD"),
        (edited(ENTRY, "2026-12-31", "'20261231'"), "until", "required form", "YYYY-MM-DD"),
        (edited(ENTRY, "2026-12-31", "next week"), "until", "required form", "YYYY-MM-DD"),
        (edited(ENTRY, "flickers", "' '"), "why", "required form", "the reason"),
        (edited(ENTRY, "team", "''"), "owner", "required form", "who mends"),
        (edited(ENTRY, ", why: flickers", ""), None, "`why` is missing", "the reason"),
        (edited(ENTRY, "owner", "owners"), "owners", "unknown key", "owner"),
    ],
)
def test_a_mistake_names_line_field_and_fix(
    entry: str, field: str | None, said: str, fix: str
) -> None:
    assert entry != ENTRY
    with pytest.raises(ContractError) as raised:
        load("{fixture: two, owner: a, until: 2026-12-31, why: b}", entry)
    problem = next(p for p in raised.value.problems if said in p.what)
    assert (problem.path, problem.line) == ("c/tag.yaml", 12)
    assert problem.field == (f"quarantine[1].{field}" if field else "quarantine[1]")
    assert fix in problem.fix


@pytest.mark.parametrize(
    ("entries", "said"),
    [
        ([ENTRY, ENTRY], "in quarantine twice"),
        ([ENTRY.replace("one", name) for name in ("one", "two", "three")], "nothing would decide"),
    ],
)
def test_one_entry_a_fixture_and_not_all_of_them(entries: list[str], said: str) -> None:
    with pytest.raises(ContractError, match=said):
        load(*entries)


@given(st.integers(-400, 400))
def test_it_holds_through_its_last_day_and_then_says_that_it_ended(days: int) -> None:
    contract, today = load(ENTRY), TODAY + timedelta(days=days)
    ended, too_long = days > 0, days < -180
    assert (in_force(contract, today).fixtures[0].quarantine is None) == (ended or too_long)
    (note,) = quarantine_notes(contract, today)
    assert ("ended on 2026-12-31" in note) == ended
    assert ("longer than 180 days" in note) == too_long
    assert ("does not decide" in note) != (ended or too_long)
    assert "team" in note
    assert "flickers" in note


@pytest.mark.parametrize("day", ["9999-12-31", "2999-01-01", "2028-02-29"])
def test_a_date_that_nobody_waits_for_holds_nothing(day: str) -> None:
    assert ENTRY.count("2026-12-31") == 1
    contract = load(edited(ENTRY, "2026-12-31", day))
    assert in_force(contract, TODAY).fixtures[0].quarantine is None
    (problem,) = ended_quarantines(contract, TODAY)
    latest = (TODAY + timedelta(days=180)).isoformat()
    assert (problem.field, problem.fix) == ("quarantine", f"write a day until {latest}")
    assert problem.line


def test_many_are_counted() -> None:
    contract = load(ENTRY)
    one = contract.fixtures[0]
    assert one.quarantine
    why = [replace(one.quarantine, why=f"reason {number}") for number in range(8)]
    many = tuple(replace(one, id=f"f{at}", quarantine=each) for at, each in enumerate(why))
    notes = quarantine_notes(replace(contract, fixtures=many), TODAY)
    assert len(notes) == 6
    assert notes[-1] == "3 more fixtures in quarantine"


def test_fixtures_in_the_same_quarantine_are_one_note() -> None:
    contract = load(ENTRY)
    many = tuple(replace(contract.fixtures[0], id=f"f{number}") for number in range(8))
    contract = replace(contract, fixtures=many)
    named = "ixtures `f0`, `f1`, `f2`, `f3`, `f4` and 3 more"
    assert quarantine_notes(contract, TODAY) == (
        f"F{named} are in quarantine until 2026-12-31 (team: flickers): they do not decide "
        "whether head is worse",
    )
    (problem,) = ended_quarantines(contract, TODAY + timedelta(days=1))
    assert problem.what.startswith(f"the quarantine of f{named} ended on 2026-12-31")
    assert problem.what.endswith("so the fixtures decide")
    assert problem.fix == "mend them and remove their entries, or set a later date"


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ([], [ENTRY], "fixture `one` put in quarantine until 2026-12-31 (team: flickers)"),
        ([ENTRY], [edited(ENTRY, "2026", "2027")], "extended from 2026-12-31 to 2027-12-31"),
        ([ENTRY], [ENTRY.replace("one", "two")], "fixture `two` put in quarantine"),
        ([ENTRY], [edited(ENTRY, "2026-12", "2026-10")], None),
        ([ENTRY], [], None),
        ([ENTRY], [edited(ENTRY, "team", "someone")], None),
    ],
)
def test_what_head_adds_or_extends_is_a_weakening(
    before: list[str], after: list[str], said: str | None
) -> None:
    found = weakenings(load(*before), load(*after))
    assert len(found) == (said is not None)
    assert said is None or said in found[0]


def test_a_contract_with_it_evaluates_differently_and_keeps_its_past() -> None:
    plain, held = load(), load(ENTRY)
    assert differs(plain, held)
    assert contract_digest(without_quarantine(held)) == contract_digest(plain)
    assert without_quarantine(plain) is plain
