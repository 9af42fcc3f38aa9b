"""Fixture files that are read once for base and head."""

from __future__ import annotations

import pytest

from gatekeeper.contract.loading.load import known_file

ROWS = '{"id": "one", "vars": {"name": "Ada"}, "expected": 1}\n{"vars": {"name": "Bo"}}\n'


def test_same_text_at_the_same_path_is_read_once() -> None:
    first = known_file(ROWS, "rows.jsonl")
    assert first is not None
    assert [fixture.id for fixture in first.fixtures] == ["one", ""]
    assert known_file(ROWS, "rows.jsonl") is first


def test_another_path_has_other_positions() -> None:
    files = [known_file(ROWS, path) for path in ("a.jsonl", "b.jsonl")]
    positions = [file and file.fixtures[0].position for file in files]
    assert [place and place.path for place in positions] == ["a.jsonl", "b.jsonl"]


def test_digest_is_that_of_the_meaning() -> None:
    file = known_file(ROWS, "rows.jsonl")
    spaced = known_file(ROWS.replace(": ", ":  "), "rows.jsonl")
    other = known_file(ROWS.replace("Ada", "Eve"), "rows.jsonl")
    assert file
    assert spaced
    assert other
    assert file.digest == spaced.digest != other.digest


@pytest.mark.parametrize(
    "text",
    [
        '{"vars": {"name": "Ada"}, "checks": [{"type": "json_valid"}]}\n',
        '{"vars": {"name": "Ada"}, "\\u0063hecks": [{"type": "json_valid"}]}\n',
        '{"vars": [1]}\n',
        '{"vars": {}, "metadata": 1}\n',
        "not JSON\n",
        "",
        '{"vars": {"name": "' + "a" * 1_000_000 + '"}}\n',
    ],
    ids=["checks", "escaped checks", "no vars", "metadata", "no JSON", "empty", "long"],
)
def test_checks_and_mistakes_need_the_contract(text: str) -> None:
    assert known_file(text, "rows.jsonl") is None
