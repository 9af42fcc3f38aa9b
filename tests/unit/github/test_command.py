"""Which comments are commands, and what they ask for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatekeeper.github.command import Command, NotUnderstood, read_command

NAMES = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", fullmatch=True)


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("/gatekeeper rerun", Command("rerun")),
        ("  /gatekeeper   full  \r\n\r\nThanks!", Command("full")),
        ("/gatekeeper run triage", Command("run", "triage")),
        ("/gatekeeper explain a.b-c_d", Command("explain", "a.b-c_d")),
        ("/gatekeeper accept", Command("accept")),
        ("/gatekeeper accept triage", Command("accept", "triage")),
        ("/gatekeeper waive triage: why: not", Command("waive", "triage", "why: not")),
        ("/gatekeeper waive triage:x", Command("waive", "triage", "x")),
        ("/gatekeeper rerun\n/gatekeeper full", Command("rerun", more=True)),
        ("/gatekeeper rerun\nor /gatekeeper full", Command("rerun")),
    ],
)
def test_commands(text: str, command: Command) -> None:
    assert read_command(text) == command


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Looks good",
        "Try /gatekeeper rerun",
        "> /gatekeeper rerun",
        "Hello\n/gatekeeper rerun",
        "/gate rerun",
        "`/gatekeeper rerun`",
        "/Gatekeeper rerun",
    ],
)
def test_other_comments_are_none(text: str) -> None:
    assert read_command(text) is None


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("/gatekeeper", "missing"),
        ("/gatekeeper please", "no such command"),
        ("/gatekeeper Rerun", "no such command"),
        ("/gatekeeper rerun now", "nothing after it"),
        ("/gatekeeper full --all", "nothing after it"),
        ("/gatekeeper run", "name of one contract"),
        ("/gatekeeper run a b", "name of one contract"),
        ("/gatekeeper run ../../etc", "name of one contract"),
        ("/gatekeeper waive triage", "a reason"),
        ("/gatekeeper waive triage:", "a reason"),
        ("/gatekeeper waive : because", "a reason"),
        ("/gatekeeper accept a b", "name of one contract or nothing"),
        ("/gatekeeper waive triage: " + "x" * 501, "500 characters"),
    ],
)
def test_what_is_not_understood_says_why(text: str, why: str) -> None:
    found = read_command(text)
    assert isinstance(found, NotUnderstood)
    assert why in found.why


@given(st.text())
def test_only_a_comment_that_speaks_to_the_gate_is_answered(text: str) -> None:
    assert (read_command(text) is None) != text.strip().startswith("/gatekeeper")


@given(st.text())
def test_nothing_of_the_comment_is_in_the_reason_for_not_understanding(text: str) -> None:
    one, other = read_command(f"/gatekeeper waive {text}"), read_command("/gatekeeper waive")
    assert not isinstance(one, NotUnderstood) or one == other or "500" in one.why


@given(NAMES, st.from_regex(r"\S[^\n\r\v\f\x1c-\x1e\x85\u2028\u2029]{0,499}", fullmatch=True))
def test_a_waiver_is_read_as_it_was_written(name: str, reason: str) -> None:
    found = read_command(f"/gatekeeper waive {name}: {reason}")
    assert found == Command("waive", name, reason.strip())
