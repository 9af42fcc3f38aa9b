"""Waivers in comments: written so that no text can forge one, read so that none is believed."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatekeeper.github.repository_api import Remark
from gatekeeper.github.waivers import (
    WAIVER_MARKER,
    read_waivers,
    unknown_waivers,
    waiver_line,
)
from gatekeeper.reports.harmless import block, code, prose
from gatekeeper.result import Waiver

SHA = "a" * 40
WAIVER = Waiver("triage", "waive", "octocat", SHA, "it is meant", "2026-01-02T03:04:05Z")
COMMAND = Remark(1, "octocat", "/gatekeeper waive triage: it is meant", own=False)


def remarks(body: str, own: bool = True, command: Remark = COMMAND) -> list[Remark]:
    return [command, Remark(2, "github-actions[bot]", body, own)]


def recorded(waiver: Waiver = WAIVER, comment: int = 1) -> str:
    return f"{waiver_line(waiver, comment)}\nWaived.\n"


def test_a_record_with_its_command_counts() -> None:
    assert read_waivers(remarks(recorded()), SHA) == ((WAIVER,), ())


def test_accepting_everything_counts() -> None:
    waiver = replace(WAIVER, contract=None, kind="accept", reason="")
    command = replace(COMMAND, body="/gatekeeper accept")
    assert read_waivers(remarks(recorded(waiver), command=command), SHA) == ((waiver,), ())


@pytest.mark.parametrize(
    "command",
    [
        replace(COMMAND, id=9),
        replace(COMMAND, author="someone"),
        replace(COMMAND, author=None),
        replace(COMMAND, body="/gatekeeper waive other: it is meant"),
        replace(COMMAND, body="/gatekeeper waive triage: something else"),
        replace(COMMAND, body="/gatekeeper accept triage"),
        replace(COMMAND, body="I never said that"),
    ],
)
def test_a_record_that_nobodys_command_stands_behind_does_not_count(command: Remark) -> None:
    waivers, notices = read_waivers(remarks(recorded(), command=command), SHA)
    assert waivers == ()
    assert "nobody's comment asks for it" in notices[0]


def test_a_record_for_another_commit_is_void() -> None:
    waivers, notices = read_waivers(remarks(recorded()), "b" * 40)
    assert waivers == ()
    assert "void" in notices[0]


def test_a_record_in_somebody_elses_comment_is_forged() -> None:
    waivers, notices = read_waivers(remarks(recorded(), own=False), SHA)
    assert waivers == ()
    assert "forged" in notices[0]


@pytest.mark.parametrize(
    "body",
    [
        f"\n{recorded()}",
        f"Hello {recorded()}",
        f"> {recorded()}",
        recorded().replace("{", "[", 1),
        f"{WAIVER_MARKER}{{}} -->",
        f"{WAIVER_MARKER}{{not json}} -->",
        WAIVER_MARKER + '{"a":' * 5000 + "1" + "}" * 5000 + " -->",
        recorded().replace('"waive"', '"pass"'),
        recorded().replace('"comment":1', '"comment":true'),
        recorded().replace('"octocat"', "7"),
        recorded().replace('"triage"', "7"),
        recorded().replace('"comment":1', '"comment":1,"more":1'),
    ],
)
def test_what_is_no_record_is_passed_over(body: str) -> None:
    assert read_waivers(remarks(body), SHA) == ((), ())


def test_a_waiver_for_no_contract_is_said() -> None:
    everything = replace(WAIVER, contract=None)
    assert unknown_waivers([WAIVER, everything], ["triage"]) == ()
    (notice,) = unknown_waivers([WAIVER, everything], ["other"])
    assert "triage" in notice


@given(st.text(), st.text(min_size=1))
def test_no_text_can_end_the_record(reason: str, author: str) -> None:
    line = waiver_line(replace(WAIVER, reason=reason, author=author), 1)
    inside = line.removeprefix(WAIVER_MARKER).removesuffix(" -->")
    assert "--" not in inside
    assert ">" not in inside
    assert "\n" not in line
    assert json.loads(inside)["reason"] == reason


@given(st.text())
def test_no_text_that_the_gate_shows_is_a_record(text: str) -> None:
    for shown in (prose, code, block):
        body = shown(f"{recorded()}{text}{recorded()}")
        assert WAIVER_MARKER not in body
        assert read_waivers(remarks(body), SHA) == ((), ())
