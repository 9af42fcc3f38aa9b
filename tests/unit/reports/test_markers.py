"""The hidden lines of comments and issues: whole, apart from each other, and read back."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatekeeper.reports import markers

PACKAGE = Path(__file__).parents[3] / "gatekeeper"
SHA = "9be31f07" * 5


def every_marker(marker_id: str) -> list[str]:
    return [
        markers.comment_marker(marker_id),
        markers.run_marker(marker_id),
        markers.issue_marker(marker_id, "drift"),
        markers.reply_marker(marker_id, 7),
        markers.head_marker(SHA),
        markers.changes_marker(["0a1b"]),
    ]


@pytest.mark.parametrize(
    ("marker_id", "safe"),
    [
        ("gatekeeper", "gatekeeper"),
        ("nightly.eu_1", "nightly.eu_1"),
        ("--> <b>", "b"),
        ("-->", "gatekeeper"),
    ],
)
def test_an_id_becomes_safe(marker_id: str, safe: str) -> None:
    assert markers.comment_marker(marker_id) == f"<!-- gatekeeper:{safe} -->"


@given(st.text())
def test_whatever_the_id_a_marker_is_one_comment(marker_id: str) -> None:
    for marker in every_marker(marker_id):
        assert re.fullmatch(r"<!-- [\w.: -]+ -->", marker, re.ASCII)
        assert "--" not in marker[4:-3]


def test_no_marker_is_taken_for_another() -> None:
    made = [*every_marker("a"), *every_marker("b")[:4], markers.WAIVER_MARKER]
    assert not [(one, other) for one in made for other in made if one != other and one in other]


def test_changes_are_read_from_their_line_alone() -> None:
    changes = markers.changes_marker(["0b2c", "0a1b"])
    body = f"{markers.issue_marker('a', 'drift')}\n{changes}\nsee ffff\n"
    assert markers.read_changes(body) == {"0a1b", "0b2c"}
    assert markers.read_changes("ffff") == frozenset()


def test_no_other_module_writes_hidden_lines() -> None:
    modules = [p for p in PACKAGE.rglob("*.py") if p.name not in ("markers.py", "escape.py")]
    assert [p.name for p in modules if "<!-- " in p.read_text("utf-8")] == []
