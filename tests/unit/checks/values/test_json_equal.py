"""`json_equal`: order, ignored keys, and where the first difference is."""

from __future__ import annotations

import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatekeeper.checks.check import ParameterError
from gatekeeper.checks.reading.canonical_json import canonical_json

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner),
    max_leaves=12,
)


@pytest.mark.parametrize(
    ("output", "value", "more", "passed"),
    [
        ('{"b": 1.0, "a": 2}', {"a": 2, "b": 1}, {}, True),
        ("[1, 2]", [2, 1], {}, False),
        ("[1, 2]", [2, 1], {"ignore_order": True}, True),
        ("[1, 1, 2]", [2, 2, 1], {"ignore_order": True}, False),
        ("[[1, 2], [3]]", [[3], [2, 1]], {"ignore_order": True}, True),
        ('[{"id": 5, "x": 1}]', [{"id": 6, "x": 1}], {"ignore_keys": ["id"]}, True),
        ('{"a": {"id": 5}}', {"a": {}}, {"ignore_keys": ["id"]}, True),
        ("true", 1, {}, False),
        ("null", None, {}, True),
        ('"a"', '"a"', {}, True),
        ("[1]", "[1]", {}, True),
        ("no", [1], {}, False),
    ],
)
def test_compares(apply, output, value, more, passed):
    assert apply("json_equal", output, value=value, **more).passed is passed


@pytest.mark.parametrize(
    ("output", "value", "message"),
    [
        (
            '{"items": [{"n": 1}, {"n": 2}]}',
            {"items": [{"n": 1}, {"n": 3}]},
            "at `$.items[1].n`: expected 3; got 2",
        ),
        ('{"a": 1}', {"b c": 1}, 'at `$`: missing "b c"; not expected "a"'),
        ("[1]", [1, 2], "at `$`: expected 2 items; got 1; missing 2"),
        ('{"a b": [1]}', {"a b": 1}, 'at `$["a b"]`: expected 1; got [1]'),
    ],
)
def test_the_message_says_where(apply, output, value, message):
    assert apply("json_equal", output, value=value).message == message


def test_text_that_is_not_json_is_a_mistake(apply):
    with pytest.raises(ParameterError):
        apply("json_equal", "{}", value="no JSON")


@given(JSON)
def test_a_value_equals_itself_in_any_order(value):
    assert canonical_json(value) == canonical_json(json.loads(json.dumps(value)))


@given(JSON, st.integers())
def test_shuffled_lists_are_equal_without_order(value, seed):
    from tests.unit.checks.conftest import apply_check

    shuffled = _shuffled(value, random.Random(seed))  # noqa: S311
    text = json.dumps(shuffled)
    wanted = json.dumps(value)
    assert apply_check("json_equal", text, value=wanted, ignore_order=True).passed


def _shuffled(value, draw):
    if isinstance(value, list):
        items = [_shuffled(item, draw) for item in value]
        draw.shuffle(items)
        return items
    if isinstance(value, dict):
        return {name: _shuffled(part, draw) for name, part in value.items()}
    return value
