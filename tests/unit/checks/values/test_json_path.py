"""JSONPath as the `field` of any check and in `count`: RFC 9535, limits, one or many values."""

from __future__ import annotations

import json

import pytest

from gatekeeper.checks.check import ParameterError
from gatekeeper.checks.reading.field_path import is_query
from gatekeeper.checks.reading.json_path import MOST_VALUES, JsonPath, QueryError

# The example of RFC 9535, section 1.5, without the titles.
BOOKS = json.loads("""
{"store": {"book": [
  {"category": "reference", "author": "Nigel Rees", "price": 8.95},
  {"category": "fiction", "author": "Evelyn Waugh", "price": 12.99},
  {"category": "fiction", "author": "Herman Melville", "isbn": "0-553-21311-3", "price": 8.99},
  {"category": "fiction", "author": "J. R. R. Tolkien", "isbn": "0-395-19395-8", "price": 22.99}],
 "bicycle": {"color": "red", "price": 399}}}
""")


@pytest.mark.parametrize(
    ("query", "counted"),
    [
        ("$.store.book[*].author", 4),
        ("$..author", 4),
        ("$.store.*", 2),
        ("$.store..price", 5),
        ("$..book[2]", 1),
        ("$..book[-1]", 1),
        ("$..book[0,1]", 2),
        ("$..book[:2]", 2),
        ("$..book[?@.isbn]", 2),
        ("$..book[?@.price<10]", 2),
        ("$..*", 23),
        ("$..book[?match(@.author, 'H.*')]", 1),
        ("$..book[?count(@.*) > 3]", 2),
        ("$", 1),
    ],
)
def test_the_examples_of_the_standard(query, counted):
    path = JsonPath(query)
    assert path.count(BOOKS) == counted
    assert len(path.select(BOOKS)) == counted


def test_values_come_with_their_places():
    (found,) = JsonPath("$..book[?@.price > 20].price").select(BOOKS)
    assert (found.value, found.path) == (22.99, "$['store']['book'][3]['price']")


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("a.b", False),
        ("$.a.b[0]", False),
        ("items[*]", False),
        ('$["a.b"]', False),
        ("$.a[*]", True),
        ("$.*", True),
        ("$..a", True),
        ("$.a[-1]", True),
        ("$['a']", True),
        ("$", True),
    ],
)
def test_only_what_selects_more_than_one_value_is_a_query(text, query):
    assert is_query(text) is query


@pytest.mark.parametrize(
    "text", ["$.a[", "$[?]", "$.a | $.b", "$[?(@.a =~ /x/)]", "$" + ".a" * 600]
)
def test_what_is_no_query_is_a_mistake(text):
    with pytest.raises(ParameterError):
        JsonPath(text)


@pytest.mark.long
def test_a_query_that_takes_too_long_ends():
    value = {"a": [[1] * 300] * 300}
    path = JsonPath("$..[?count($..*) > 1]")
    with pytest.raises(QueryError):
        path.count(value)
    assert JsonPath("$.a").count(value) == 1


def test_too_many_values_are_not_inspected():
    path = JsonPath("$[*]")
    assert path.count([0] * (MOST_VALUES + 1)) == MOST_VALUES + 1
    with pytest.raises(QueryError, match="more than"):
        path.select([0] * (MOST_VALUES + 1))


class TestField:
    def test_every_selected_value_must_pass(self, apply):
        params = {"field": "$.items[*].s", "values": ["a", "b"]}
        assert apply("enum", '{"items": [{"s": "a"}, {"s": "b"}]}', **params).passed
        found = apply("enum", '{"items": [{"s": "a"}, {"s": "x"}, {"s": "y"}]}', **params)
        assert found.passed is False
        assert found.message.startswith("`$['items'][1]['s']` (and 1 more): ")

    def test_nothing_selected_fails(self, apply):
        found = apply("enum", '{"items": []}', field="$.items[*]", values=["a"])
        assert (found.passed, found.message) == (
            False,
            "the JSONPath `$.items[*]` selects nothing in the output",
        )
        assert apply("enum", "no JSON", field="$.items[*]", values=["a"]).passed is False

    def test_the_score_is_the_lowest(self, apply):
        found = apply("similarity", '["abcd", "abxx"]', field="$[*]", value="abcd", min=0.9)
        assert (found.passed, found.score) == (False, 0.5)

    def test_half_a_surrogate_pair_in_a_key(self, apply):
        found = apply("enum", '{"\\ud83d": 1}', field="$[*]", values=["a"])
        found.message.encode()


class TestCount:
    @pytest.mark.parametrize(
        ("params", "passed"),
        [
            ({"min": 2}, True),
            ({"min": 3}, False),
            ({"max": 1}, False),
            ({"exactly": 2}, True),
            ({"exactly": 0}, False),
        ],
    )
    def test_counts_what_the_path_selects(self, apply, params, passed):
        assert apply("count", "[1, 2]", path="$[*]", **params).passed is passed

    def test_of_a_plain_path_is_zero_or_one(self, apply):
        assert apply("count", '{"a": [1, 2]}', path="a", exactly=1).passed
        assert apply("count", '{"a": [1, 2]}', path="b", exactly=0).passed

    @pytest.mark.parametrize("params", [{}, {"exactly": 1, "min": 1}, {"min": 2, "max": 1}])
    def test_bounds_must_make_sense(self, apply, params):
        with pytest.raises(ParameterError):
            apply("count", "[]", path="$[*]", **params)
