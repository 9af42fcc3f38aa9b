"""Waivers in comments: written so that no text can forge one, read so that none is believed."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.edited_text import edited

from gatekeeper.action.github.repository import Remark
from gatekeeper.action.waivers import (
    Place,
    read_waivers,
    unknown_waivers,
    waiver_line,
)
from gatekeeper.gate.results.result import Waiver
from gatekeeper.reports.escape import block, code, prose
from gatekeeper.reports.markers import WAIVER_MARKER

Found = tuple[tuple[Waiver, ...], tuple[str, ...]]

SHA = "a" * 40
WAIVER = Waiver("triage", "waive", "octocat", SHA, "it is meant", "2026-01-02T03:04:05Z")
TIME = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
COMMAND = Remark(
    id=1,
    author="octocat",
    body="/gatekeeper waive triage: it is meant",
    own=False,
    by_person=True,
    created=TIME,
    touched=False,
    node="IC_1",
)
PLACE = Place("octo/prompts", 7, (b"1" * 32, b"2" * 32))


def remarks(body: str, own: bool = True, command: Remark = COMMAND) -> list[Remark]:
    bot = replace(COMMAND, id=2, author="github-actions[bot]", by_person=False, body=body, own=own)
    return [command, bot]


def recorded(waiver: Waiver = WAIVER, comment: int = 1, place: Place = PLACE) -> str:
    return f"{waiver_line(waiver, comment, place)}\nWaived.\n"


def read(body: str, sha: str = SHA, place: Place = PLACE, **other: Any) -> Found:
    """The waivers found in one comment of the gate, and the notices."""
    candidates, notices = read_waivers(remarks(body, **other), sha, place)
    return tuple(candidate.waiver for candidate in candidates), notices


def test_a_record_with_its_command_counts() -> None:
    assert read(recorded()) == ((WAIVER,), ())


def test_accepting_everything_counts() -> None:
    waiver = replace(WAIVER, contract=None, kind="accept", reason="")
    command = replace(COMMAND, body="/gatekeeper accept")
    assert read(recorded(waiver), command=command) == ((waiver,), ())


@pytest.mark.parametrize(
    "command",
    [
        replace(COMMAND, id=9),
        replace(COMMAND, author="someone"),
        replace(COMMAND, author=None),
        replace(COMMAND, by_person=False),
        replace(COMMAND, body="/gatekeeper waive other: it is meant"),
        replace(COMMAND, body="/gatekeeper waive triage: something else"),
        replace(COMMAND, body="/gatekeeper accept triage"),
        replace(COMMAND, body="I never said that"),
    ],
)
def test_a_record_that_nobodys_command_stands_behind_does_not_count(command: Remark) -> None:
    waivers, notices = read(recorded(), command=command)
    assert waivers == ()
    assert "its command was deleted or changed" in notices[0]


def test_a_record_for_another_commit_is_void() -> None:
    waivers, notices = read(recorded(), "b" * 40)
    assert waivers == ()
    assert f"was for the commit {'a' * 10}" in notices[0]


def test_a_record_in_somebody_elses_comment_is_forged() -> None:
    waivers, notices = read(recorded(), own=False)
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
        edited(recorded(), '"waive"', '"pass"'),
        edited(recorded(), '"comment":1', '"comment":true'),
        edited(recorded(), '"octocat"', "7"),
        edited(recorded(), '"triage"', "7"),
        edited(recorded(), '"comment":1', '"comment":1,"more":1'),
    ],
)
def test_what_is_no_record_is_passed_over(body: str) -> None:
    assert read(body) == ((), ())


def test_a_waiver_for_no_contract_is_said() -> None:
    everything = replace(WAIVER, contract=None)
    assert unknown_waivers([WAIVER, everything], ["triage"]) == ()
    (notice,) = unknown_waivers([WAIVER, everything], ["other"])
    assert "triage" in notice


@given(st.text(), st.text(min_size=1))
def test_no_text_can_end_the_record(reason: str, author: str) -> None:
    line = waiver_line(replace(WAIVER, reason=reason, author=author), 1, PLACE)
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
        assert read(body) == ((), ())


# Signatures


def signed_lines(line: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(line.removeprefix(WAIVER_MARKER).removesuffix(" -->"))
    return found


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("contract", "other"),
        ("contract", None),
        ("kind", "accept"),
        ("author", "someone"),
        ("sha", "b" * 40),
        ("reason", "another"),
        ("time", "2027-01-02T03:04:05Z"),
        ("comment", 3),
    ],
)
def test_no_field_of_a_signed_record_can_be_changed(field: str, value: object) -> None:
    """The attacker rewrites the record, and there is a command that fits the rewritten one."""
    record = signed_lines(waiver_line(WAIVER, 1, PLACE)) | {field: value}
    body = f"{WAIVER_MARKER}{json.dumps(record)} -->"
    fitting = Waiver(**{n: v for n, v in record.items() if n not in ("comment", "signatures")})
    of = f" {fitting.contract}" if fitting.contract else ""
    said = f": {fitting.reason}" if fitting.kind == "waive" else ""
    command = replace(
        COMMAND,
        id=record["comment"],
        author=fitting.author,
        body=f"/gatekeeper {fitting.kind}{of}{said}",
    )
    waivers, notices = read(body, fitting.sha, command=command)
    assert waivers == ()
    assert len(notices) == 1


@pytest.mark.parametrize(
    "place",
    [
        Place("octo/other", 7, PLACE.keys),
        Place("octo/prompts", 8, PLACE.keys),
        Place("octo/prompts", 7, (b"3" * 32,)),
        Place("octo/prompts", 7, ()),
    ],
)
def test_a_record_from_elsewhere_or_with_other_keys_is_not_signed(place: Place) -> None:
    waivers, notices = read(recorded(place=place))
    assert waivers == ()
    assert "GATEKEEPER_WAIVER_KEY" in notices[0]


@pytest.mark.parametrize("keys", [PLACE.keys[:1], PLACE.keys[1:], (b"3" * 32, *PLACE.keys)])
def test_one_key_that_both_jobs_have_is_enough(keys: tuple[bytes, ...]) -> None:
    assert read(recorded(), place=replace(PLACE, keys=keys)) == ((WAIVER,), ())


def test_a_record_of_an_earlier_version_is_not_signed() -> None:
    record = signed_lines(waiver_line(WAIVER, 1, PLACE))
    del record["signatures"]
    waivers, notices = read(f"{WAIVER_MARKER}{json.dumps(record)} -->")
    assert waivers == ()
    assert "not signed" in notices[0]


@pytest.mark.parametrize(
    "signatures", ["", [7], ["x" * 64], ["0" * 63], [["0" * 64]], ["0" * 64] * 33, {"0" * 64: 1}]
)
def test_what_is_no_list_of_signatures_makes_no_record(signatures: object) -> None:
    record = signed_lines(waiver_line(WAIVER, 1, PLACE)) | {"signatures": signatures}
    assert read(f"{WAIVER_MARKER}{json.dumps(record)} -->") == ((), ())


def test_without_a_key_the_signatures_are_not_looked_at() -> None:
    keyless = replace(PLACE, keys=())
    assert read(recorded(), place=keyless) == ((WAIVER,), ())
    assert read(recorded(place=keyless), place=keyless) == ((WAIVER,), ())
    assert signed_lines(waiver_line(WAIVER, 1, keyless))["signatures"] == []


def test_the_same_notice_is_given_once() -> None:
    forged = remarks(recorded(), own=False)
    _, notices = read_waivers([*forged, *forged], SHA, PLACE)
    assert len(notices) == 1
