"""A fixture in quarantine decides nothing until its date, and every report says so."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from support.edited_text import edited
from support.proposals import MANY, NO_SLO, OTHER, PROMPT_FILE, answers
from support.recorded_repository import PROMPT, contract_files

from gatekeeper.cli.main import main

CONTRACT = "contracts/words.yaml"
HELD = MANY[:4]
BREAKS = answers(OTHER, {w: ["no"] * 20 if w in HELD else ["ok"] * 20 for w in MANY})
BREAKS |= answers(PROMPT, {w: ["ok"] * 20 for w in MANY})
SAMPLED = f"{NO_SLO}sampling: {{samples: 2}}\n"


def until(days: int) -> str:
    return (datetime.now(UTC).date() + timedelta(days=days)).isoformat()


def holding(days: int, *words: str) -> str:
    entries = (
        f"  - {{fixture: {word}, owner: team, until: {until(days)}, why: flickers}}\n"
        for word in words
    )
    return f"{SAMPLED}quarantine:\n{''.join(entries)}"


def files_of(contract: str) -> dict[str, str]:
    return contract_files(contract, MANY, BREAKS)


CHANGE = {PROMPT_FILE: OTHER}


def test_what_breaks_in_quarantine_holds_up_nothing_and_is_in_every_report(
    check_of: Any, tmp_path: Path
) -> None:
    checked = check_of(files_of(holding(30, *HELD)), CHANGE)
    assert checked.code == 0
    assert (checked.contract["paired"]["broke"], checked.contract["paired"]["fixtures"]) == (0, 36)
    (held,) = [f for f in checked.contract["fixtures"] if f["id"] == HELD[0]]
    assert held["quarantine"] == {"until": until(30), "owner": "team", "why": "flickers"}
    assert (held["head"][:2], held["change"]) == ("0/", None)
    said = f"in quarantine until {until(30)} (team: flickers)"
    (note,) = (line for line in checked.comment.splitlines() if said in line)
    assert all(f"`{name}`" in note for name in HELD)
    assert "fail on base as well" not in checked.comment
    report = (tmp_path / "report.html").read_text("utf-8")
    assert said in report
    cases = ET.parse(tmp_path / "junit.xml").getroot().iter("testcase")  # noqa: S314
    skipped = {c.get("name"): c.find("skipped") for c in cases}
    assert [name for name, found in skipped.items() if found is not None] == list(HELD)
    assert said in skipped[HELD[0]].get("message")


def test_no_report_says_that_what_is_in_quarantine_broke(check_of: Any) -> None:
    """A fixture that flickers breaks by chance in many runs."""
    held = edited(holding(30, *HELD), "sampling:", "gate: {claim: inputs}\nsampling:")
    assert "claim: inputs" in held
    checked = check_of(files_of(held), CHANGE)
    assert (checked.code, checked.contract["paired"]["broke"]) == (0, 0)
    assert "4 fixtures broke" not in checked.comment
    assert "these fixtures broke" not in checked.comment


def test_fixtures_in_quarantine_allow_no_others_to_break(check_of: Any) -> None:
    """A share of 8 % of 40 fixtures would be three, of the 20 that decide it is one."""
    held = edited(holding(30, *MANY[20:]), "sampling:", "gate: {allow_broken: 0.08}\nsampling:")
    assert "allow_broken" in held
    broken = answers(OTHER, {w: ["no"] * 40 if w in MANY[:3] else ["ok"] * 40 for w in MANY})
    broken |= answers(PROMPT, {w: ["ok"] * 40 for w in MANY})
    checked = check_of(contract_files(held, MANY, broken), CHANGE)
    assert (checked.code, checked.codes()) == (1, {"broke"})


def test_after_its_date_it_decides_again_and_the_report_says_so(check_of: Any) -> None:
    checked = check_of(files_of(holding(-1, *HELD)), CHANGE)
    assert checked.contract["paired"]["broke"] == 4
    assert (checked.code, checked.codes()) == (1, {"broke"})
    named = ", ".join(HELD)
    said = f"The quarantine of fixtures {named} ended on {until(-1)} (team: flickers)"
    assert said in checked.comment.replace("`", "")
    assert all(fixture["quarantine"] is None for fixture in checked.contract["fixtures"])


@pytest.mark.parametrize("days", [30, -1])
def test_it_holds_back_what_must_pass(check_of: Any, days: int) -> None:
    must = edited(holding(days, *HELD), "pattern: ok}", "pattern: ok, must_pass: true}")
    assert "must_pass" in must
    checked = check_of(files_of(must), CHANGE)
    found = {f["fixture"] for f in checked.contract["must_pass"]}
    assert found.isdisjoint(HELD) == (days > 0)


def test_head_cannot_put_what_it_breaks_into_quarantine(check_of: Any) -> None:
    change = {**CHANGE, CONTRACT: holding(30, *HELD)}
    checked = check_of(files_of(SAMPLED), change)
    assert len(checked.contract["weakened"]) == len(HELD)
    assert checked.contract["under_base"]["paired"]["broke"] == 4
    assert (checked.code, checked.codes()) == (1, {"broke"})


def test_a_change_of_the_quarantine_alone_is_named_as_a_weakening(check_of: Any) -> None:
    checked = check_of(files_of(SAMPLED), {CONTRACT: holding(30, HELD[0])})
    (said,) = checked.contract["weakened"]
    assert said.startswith(f"fixture `{HELD[0]}` put in quarantine")
    assert said in checked.comment


def test_validate_warns_of_what_has_ended(
    git_repository: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    made = git_repository("words")
    held = holding(-1, HELD[0]) + holding(30, HELD[1]).split("quarantine:\n")[1]
    made.write_all(files_of(held))
    made.commit("base")
    assert main(["validate", "--repo", str(made.path)]) == 0
    said = capsys.readouterr()
    text = " ".join((said.out + said.err).split())
    assert f"fixture `{HELD[0]}` ended on {until(-1)}" in text
    assert f"fixture `{HELD[1]}` is in quarantine until {until(30)}" in text
