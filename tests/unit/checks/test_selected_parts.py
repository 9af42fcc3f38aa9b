"""A `field` that selects many parts: all of them count, for as long as it takes no longer."""

from __future__ import annotations

import itertools
import json

import pytest

from gatekeeper.checks import output

PARTS = {"field": "$[*]", "value": "a", "max": 0}


@pytest.mark.parametrize(
    ("parts", "passed"), [(["a", "a", "a"], None), (["b", "a", "a"], False), (["a"], True)]
)
def test_what_is_not_reached_in_time_is_undetermined(apply, monkeypatch, parts, passed):
    """The clock goes on by 1.5 seconds at each look: the third part comes too late."""
    clock = itertools.count(0, 1.5)
    monkeypatch.setattr(output.time, "monotonic", lambda: next(clock))
    finding = apply("levenshtein", json.dumps(parts), **PARTS)
    assert finding.passed is passed
    assert ("too long" in finding.message) is (passed is None)


def test_every_part_counts_if_there_is_time(apply):
    assert apply("levenshtein", '["a", "a", "b"]', **PARTS).passed is False
    assert apply("levenshtein", '["a", "a", "a"]', **PARTS).passed
