"""Which comments are commands, and what they ask for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatekeeper.action.events import Command, NotUnderstood, read_command

NAMES = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", fullmatch=True)


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("/gatekeeper rerun", Command("rerun")),
        ("  /gatekeeper   full  \r\n\r\nThanks!", Command("full")),
        ("/gatekeeper run triage", Command("run", "triage")),
        ("/gatekeeper explain a.b-c_d", Command("explain", "a.b-c_d")),
        ("/gatekeeper accept", Command("accept")),
        ("/gatekeeper propose ", Command("propose")),
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
        "/gatekeeperwaive triage: x",
        "/gatekeeper-waive triage: x",
        "/gatekeeper: waive triage: x",
        "/gatekeeper/waive triage: x",
        "    /gatekeeper rerun",
        "\t/gatekeeper rerun",
        " \t/gatekeeper rerun",
        "   \t/gatekeeper rerun",
        "\n/gatekeeper rerun",
        "\r\n/gatekeeper rerun",
        "\n\n    /gatekeeper rerun",
        "```\n/gatekeeper rerun\n```",
        "~~~\n/gatekeeper rerun\n~~~",
        "- /gatekeeper rerun",
        "1. /gatekeeper rerun",
        "# /gatekeeper rerun",
        "**/gatekeeper** rerun",
        "\\/gatekeeper rerun",
        "&#47;gatekeeper rerun",
        "<!-- --> /gatekeeper rerun",
        "<!--\n-->\n/gatekeeper rerun",
        "<details>\n/gatekeeper rerun",
        "\u200b/gatekeeper rerun",
        "\ufeff/gatekeeper rerun",
        "\u2060/gatekeeper rerun",
        "\u202e/gatekeeper rerun",
        "\u00a0/gatekeeper rerun",
        "\u3000/gatekeeper rerun",
        "/gatekeeper\u200b rerun",
        "/gate\u00adkeeper rerun",
        "/gatekeeper\u00a0rerun",
        "/gatekeeper\u2003rerun",
        "\u2215gatekeeper rerun",
        "\uff0fgatekeeper rerun",
        "/g\u0430tekeeper rerun",
        "Hello\r/gatekeeper rerun",
        "/gatekeeper rerun\rHello",
        "/gatekeeper waive triage: fine\u2028not at all",
        "/gatekeeper waive triage: fine\x85not at all",
        "/gatekeeper waive triage: fine\x0bnot at all",
        "/gatekeeper waive triage: fine\x00",
    ],
)
def test_other_comments_are_none(text: str) -> None:
    assert read_command(text) is None


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("/gatekeeper", "missing"),
        ("/gatekeeper please", "this command does not exist"),
        ("/gatekeeper Rerun", "this command does not exist"),
        ("/gatekeeper rerun now", "without further words"),
        ("/gatekeeper full --all", "without further words"),
        ("/gatekeeper run", "name of one contract"),
        ("/gatekeeper run a b", "name of one contract"),
        ("/gatekeeper run ../../etc", "name of one contract"),
        ("/gatekeeper waive triage", "a reason"),
        ("/gatekeeper waive triage:", "a reason"),
        ("/gatekeeper waive : because", "a reason"),
        ("/gatekeeper waive triage: \u200b\u00a0", "a reason"),
        ("/gatekeeper waive tri\u200bage: because", "a reason"),
        ("/gatekeeper w\u0430ive triage: because", "this command does not exist"),
        ("/gatekeeper waive\u00a0triage: because", "this command does not exist"),
        ("/gatekeeper accept a b", "name of one contract"),
        ("/gatekeeper waive triage: " + "x" * 501, "500 characters"),
    ],
)
def test_what_is_not_understood_says_why(text: str, why: str) -> None:
    found = read_command(text)
    assert isinstance(found, NotUnderstood)
    assert why in found.why


# What Markdown can put around or into a command, so that it is not one.
DISGUISES = st.sampled_from(
    ["    ", "\t", "> ", "`", "```\n", "<!-- x -->", "\n", "\r", "\u200b", "\ufeff", "\u00a0", "x "]
)
ENDS = st.sampled_from(["\n", "\r\n", "\n\nMore words", ""])


def is_addressed(text: str) -> bool:
    """The rule in other words: what has to stand where."""
    first = text.split("\n")[0].removesuffix("\r")
    spaces = len(first) - len(first.lstrip(" "))
    after = first[spaces:].removeprefix("/gatekeeper")
    whole = not any((ord(c) < 32 and c != "\t") or 127 <= ord(c) < 160 for c in first)
    return (
        spaces <= 3
        and first[spaces:].startswith("/gatekeeper")
        and (after == "" or after[0] in " \t")
        and whole
        and "\u2028" not in first
        and "\u2029" not in first
    )


@given(st.text() | st.text("/gatekeeper \t\n\r\u200b\u00a0").map("/gatekeeper".__add__))
def test_only_a_comment_that_speaks_to_the_gate_is_answered(text: str) -> None:
    assert (read_command(text) is not None) == is_addressed(text)


@given(DISGUISES, st.text(max_size=20), ENDS)
def test_a_disguised_command_is_none(disguise: str, reason: str, end: str) -> None:
    assert read_command(f"{disguise}/gatekeeper waive triage: {reason}{end}") is None


@given(st.integers(0, 3), st.text(" \t", min_size=1, max_size=3), ENDS)
def test_spaces_around_a_command_are_allowed(before: int, between: str, end: str) -> None:
    text = f"{' ' * before}/gatekeeper{between}run{between}triage{end}"
    assert read_command(text) == Command("run", "triage")


@given(st.characters(exclude_characters=" \t\n\r"), st.sampled_from(["rerun", "accept"]))
def test_nothing_but_a_blank_may_follow_the_prefix(character: str, name: str) -> None:
    assert read_command(f"/gatekeeper{character}{name}") is None


@given(st.text())
def test_nothing_of_the_comment_is_in_the_reason_for_not_understanding(text: str) -> None:
    one, other = read_command(f"/gatekeeper waive {text}"), read_command("/gatekeeper waive")
    assert not isinstance(one, NotUnderstood) or one == other or "500" in one.why


REASONS = st.text(
    st.characters(exclude_categories=["Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"]),
    min_size=1,
    max_size=500,
).filter(lambda reason: reason == reason.strip())


@given(NAMES, REASONS)
def test_a_waiver_is_read_as_it_was_written(name: str, reason: str) -> None:
    found = read_command(f"/gatekeeper waive {name}: {reason}")
    assert found == Command("waive", name, reason.strip())
