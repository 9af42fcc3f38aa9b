"""contains_json, and the blocks of `parses_as` with `fenced`."""

from __future__ import annotations

from typing import Any

import pytest

from gatekeeper.checks.check import Files
from gatekeeper.checks.text import parses_as
from gatekeeper.checks.values import contains_json
from gatekeeper.contract.values.trial import Completion, Request, Sample, Trial

FILES = Files({}, "c.yaml")


def passes(output: str, **params: Any) -> bool | None:
    request = Request("m", (), {}, None, 0)
    sample = Sample(Trial("c", "f", "head", 0, request), Completion(output), output=output)
    return contains_json.CHECK.prepare(params, FILES)(sample).passed


@pytest.mark.parametrize(
    ("output", "found"),
    [
        ('say {"a": 1} now', True),
        ("{}", True),
        ("[1, 2]", False),
        ('[{"a": 1}]', True),
        ('{broken {"a": 1}', True),
        ('{"a": NaN}', False),
        ("no braces", False),
        ("", False),
        ('{"a": "}', False),
        ("{" * 1_001, None),
        ("{" * 1_000, False),
        ("x" * 100_001, None),
    ],
)
def test_objects_are_found_anywhere(output: str, found: bool | None) -> None:
    assert passes(output) is found


def test_one_of_the_objects_must_fit_the_schema() -> None:
    schema = {"required": ["b"]}
    assert passes('{"a": 1} or {"b": 2}', schema=schema) is True
    assert passes('{"a": {"b": 2}}', schema=schema) is False


def test_blocks_are_those_of_the_language_and_have_an_end() -> None:
    blocks = "a\n```sql\nSELECT 1\n```\n~~~\nSELECT 2\n~~~\n```py\nx\n```\n"
    text = blocks + "````sql\n```\n````\n```sql\nno end"
    assert parses_as.fenced_blocks(text, "sql") == ["SELECT 1", "SELECT 2", "```"]
    assert parses_as.fenced_blocks("no block", "sql") == []
