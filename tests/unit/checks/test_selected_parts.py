"""A `field` that selects many parts: all of them count, for as long as it takes no longer."""

from __future__ import annotations

import itertools
import json

import pytest

from gatekeeper.checks.check import ParameterError
from gatekeeper.checks.reading import output

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


@pytest.mark.parametrize(
    ("kind", "params", "good", "bad"),
    [
        ("length", {"field": "t", "max": 3}, {"t": " abc "}, {"t": "abcd"}),
        ("length", {"field": "t", "unit": "words", "min": 2}, {"t": "a b"}, {"t": "a"}),
        ("length", {"field": "t", "max": 6}, {"t": [1, 2]}, {"t": [1, 2, 3]}),
        ("json_schema", {"field": "t", "schema": {"minimum": 2}}, {"t": 2}, {"t": 1}),
        ("json_schema", {"field": "$.t[*]", "schema": {"minimum": 2}}, {"t": [2]}, {"t": [2, 1]}),
        ("json_required", {"field": "t", "fields": ["a"]}, {"t": {"a": 1}}, {"a": 1, "t": {}}),
        ("json_valid", {"field": "t"}, {"t": "[1]"}, {"t": "[1"}),
        ("json_valid", {"field": "$.t[*]"}, {"t": ["1", None]}, {"t": ["1", "NaN"]}),
    ],
)
def test_a_check_evaluates_only_its_field(apply, kind, params, good, bad):
    assert apply(kind, json.dumps(good), **params).passed
    finding = apply(kind, json.dumps(bad), **params)
    assert finding.passed is False
    assert "t" in finding.message.split(":")[0]
    assert apply(kind, "{}", **params).passed is False
    assert apply(kind, "prose", **params).passed is False


def test_the_tokens_of_a_field_are_unknown(apply):
    with pytest.raises(ParameterError, match="tokens"):
        apply("length", "{}", field="t", unit="tokens", max=3)
