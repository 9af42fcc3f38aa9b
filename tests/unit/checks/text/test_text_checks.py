"""equals, contains, not_contains, enum, regex."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatekeeper.checks.check import PASSED, Files, ParameterError
from gatekeeper.checks.reading.output import normaliser, parse_json, quote, shorten
from gatekeeper.checks.reading.pattern import TIMEOUTS_ALLOWED
from gatekeeper.checks.registry import CHECKS
from gatekeeper.contract.reading.same_json import same_json
from gatekeeper.contract.values.trial import Completion, Request, Sample, Trial

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)

NO_FILES = Files({}, "c.yaml")


def make_output(text: str) -> Sample:
    trial = Trial("c", "f", "head", 0, Request("m", (), {}, None, 0))
    return Sample(trial, Completion(text), output=text)


class TestEquals:
    @pytest.mark.parametrize(
        ("params", "output", "passed"),
        [
            ({"value": "NN"}, "NN", True),
            ({"value": "NN"}, " NN\n", True),
            ({"value": "NN\n"}, "NN", True),
            ({"value": "NN", "strip": False}, "NN\n", False),
            ({"value": "NN"}, "nn", False),
            ({"value": "NN", "ignore_case": True}, "nn", True),
            ({"value": "Straße", "ignore_case": True}, "STRASSE", True),
            ({"value": "4"}, "4.0", False),
            ({"value": 4}, "4.0\n", True),
            ({"value": 4}, "four", False),
            ({"value": 1}, "true", False),
            ({"value": True}, "true", True),
            ({"value": {"a": 1, "b": [2]}}, '{ "b": [2.0], "a": 1 }', True),
            ({"value": {"a": 1}}, '{"a": 1, "b": 2}', False),
            ({"value": [1, 2]}, "[2, 1]", False),
            ({"value": "NN", "field": "tag"}, '{"tag": "NN"}', True),
            ({"value": 7, "field": "items[0].id"}, '{"items": [{"id": 7}]}', True),
            ({"value": 7, "field": "id"}, '{"id": "7"}', False),
            ({"value": "7", "field": "id"}, '{"id": 7}', True),
        ],
    )
    def test_checks(self, apply, params, output, passed):
        finding = apply("equals", output, **params)
        assert finding.passed is passed
        assert bool(finding.message) is not passed

    @pytest.mark.parametrize(
        ("params", "output", "message"),
        [
            ({"value": "NN"}, "VB", 'expected "NN"; got "VB"'),
            ({"value": "NN"}, "nn", 'expected "NN"; got "nn", which differs only'),
            ({"value": 4}, "four\n", r'expected 4; got "four\n"'),
            ({"value": "NN", "field": "tag"}, '{"tag": 1}', '`tag`: expected "NN"; got 1'),
            (
                {"value": "x", "field": "a.b"},
                '{"a": {}}',
                "no part `a.b`; the path exists only up to `$.a`",
            ),
            ({"value": "x", "field": "a"}, "prose", "not JSON: expecting value at 1:1"),
        ],
    )
    def test_says_what_was_wanted_and_found(self, apply, params, output, message):
        assert message in apply("equals", output, **params).message

    def test_a_long_output_is_cut(self, apply):
        assert len(apply("equals", "x" * 10_000, value="NN").message) < 150

    @given(JSON.filter(lambda value: value is not None and not isinstance(value, str)))
    def test_every_json_value_equals_its_own_text(self, value):
        evaluate = CHECKS["equals"].prepare({"value": value}, NO_FILES)
        assert evaluate(make_output(json.dumps(value, indent=1))) is PASSED


class TestContains:
    @pytest.mark.parametrize(
        ("params", "output", "passed"),
        [
            ({"value": "fox"}, "a fox.", True),
            ({"value": "Fox"}, "a fox.", False),
            ({"value": "Fox", "ignore_case": True}, "a fox.", True),
            ({"value": 42}, "it is 42", True),
            ({"values": ["a", "b"]}, "a", False),
            ({"values": ["a", "b"]}, "ab", True),
            ({"values": ["a", "b"], "match": "any"}, "b", True),
            ({"values": ["a", "b"], "match": "any"}, "c", False),
            ({"value": "x", "field": "list"}, '{"list": ["x"]}', True),
        ],
    )
    def test_checks(self, apply, params, output, passed):
        assert apply("contains", output, **params).passed is passed

    def test_names_only_what_is_absent(self, apply):
        message = apply("contains", "only a", values=["a", "b"]).message
        assert message == 'does not contain "b"; got "only a"'

    def test_names_all_where_one_was_enough(self, apply):
        message = apply("contains", "c", values=["a", "b"], match="any").message
        assert message == 'does not contain any of "a", "b"; got "c"'

    def test_not_contains(self, apply):
        assert apply("not_contains", "fine", values=["sorry", "cannot"]).passed
        finding = apply("not_contains", "I am Sorry, no.", value="sorry", ignore_case=True)
        assert finding.passed is False
        assert finding.message == 'contains "sorry": "I am Sorry, no."'

    def test_not_contains_shows_the_place_in_a_long_output(self, apply):
        message = apply("not_contains", "a" * 500 + "SECRET" + "b" * 500, value="SECRET").message
        assert message == f'contains "SECRET": "…{"a" * 20}SECRET{"b" * 20}…"'

    @pytest.mark.parametrize("kind", ["contains", "not_contains"])
    @pytest.mark.parametrize("params", [{}, {"value": "a", "values": ["b"]}, {"value": ""}])
    def test_refuses_no_text_two_and_an_empty_one(self, apply, kind, params):
        with pytest.raises(ParameterError):
            apply(kind, "x", **params)

    @given(st.text(min_size=1), st.text(), st.text())
    def test_contains_is_the_opposite_of_not_contains(self, wanted, before, after):
        output = make_output(before + wanted + after)
        present = CHECKS["contains"].prepare({"value": wanted}, NO_FILES)(output)
        absent = CHECKS["not_contains"].prepare({"value": wanted}, NO_FILES)(output)
        assert (present.passed, absent.passed) == (True, False)

    @given(st.text(), st.booleans())
    def test_normalising_twice_changes_nothing(self, text, fold):
        normalise = normaliser({"ignore_case": fold}, strip=True)
        assert normalise(normalise(text)) == normalise(text)


class TestEnum:
    @pytest.mark.parametrize(
        ("params", "output", "passed"),
        [
            ({"values": ["positive", "negative"]}, "positive\n", True),
            ({"values": ["positive", "negative"]}, "Positive", False),
            ({"values": ["positive", "negative"], "ignore_case": True}, "Positive", True),
            ({"values": ["positive"], "strip": False}, "positive\n", False),
            ({"values": [1, 2]}, "2", True),
            ({"values": [1, 2], "field": "n"}, '{"n": 2.0}', True),
            ({"values": [True], "field": "n"}, '{"n": 1}', False),
            ({"values": ["low"], "field": "$.priority"}, '{"priority": "low"}', True),
        ],
    )
    def test_checks(self, apply, params, output, passed):
        assert apply("enum", output, **params).passed is passed

    def test_message(self, apply):
        message = apply("enum", "Positive.", values=["positive", "negative"]).message
        assert message == 'expected one of positive, negative; got "Positive."'


class TestRegex:
    @pytest.mark.parametrize(
        ("params", "output", "passed"),
        [
            ({"pattern": "b"}, "abc", True),
            ({"pattern": "^b"}, "abc", False),
            ({"pattern": "B"}, "abc", False),
            ({"pattern": "B", "ignore_case": True}, "abc", True),
            ({"pattern": r"^[A-Z]{2,4}\$?$"}, "PRP$", True),
            ({"pattern": r"^\p{Lu}+$"}, "ÄÖ", True),
            ({"pattern": "^low$", "field": "p"}, '{"p": "low"}', True),
        ],
    )
    def test_searches(self, apply, params, output, passed):
        assert apply("regex", output, **params).passed is passed

    def test_message(self, apply):
        message = apply("regex", "noun", pattern="^[A-Z]+$").message
        assert message == 'does not match `^[A-Z]+$`; got "noun"'

    @pytest.mark.parametrize("pattern", ["(", "[z-a]", "a{2,1}", "\\"])
    def test_refuses_what_does_not_compile(self, apply, pattern):
        with pytest.raises(ParameterError, match="does not compile"):
            apply("regex", "x", pattern=pattern)

    @pytest.mark.parametrize("pattern", ["(a+)+$", "^(a|aa)+$", "^(?:a|a)*$", "(x+x+)+y"])
    def test_a_catastrophic_pattern_never_hangs(self, apply, pattern):
        finding = apply("regex", "a" * 5000 + "x" * 40 + "!", pattern=pattern, timeout_ms=30)
        assert finding.passed is not True

    def test_running_out_of_time_is_undetermined_and_names_pattern_and_limit(self, apply):
        finding = apply("regex", "a" * 60 + "!", pattern="^(a|aa)+$", timeout_ms=20)
        assert finding.passed is None
        assert "`^(a|aa)+$` did not finish within 20 ms" in finding.message

    def test_a_pattern_that_keeps_running_out_of_time_is_given_up(self, make_sample):
        params = {"pattern": "^(a|aa)+$", "timeout_ms": 1}
        evaluate = CHECKS["regex"].prepare(params, NO_FILES)
        hard, easy = make_sample("a" * 60 + "!"), make_sample("a")
        for _ in range(TIMEOUTS_ALLOWED // 2):  # each search is tried twice
            assert evaluate(easy).passed is True
            assert evaluate(hard).passed is None
        assert evaluate(easy).passed is None
        assert "does not try the pattern again" in evaluate(easy).message


class TestQuoting:
    def test_half_a_surrogate_pair_does_not_break_reports(self, apply):
        for output in ("\ud800", '["\\ud800"]'):
            assert "\\ud800" in apply("equals", output, value="x").message
        message = apply("equals", '{"a": ["\\ud800"]}', value="x", field="a").message
        assert message.encode() == b'`a`: expected "x"; got ["\\ud800"]'

    @given(st.text())
    def test_a_quote_is_one_short_line(self, text):
        assert "\n" not in quote(text)
        assert len(quote(text, 10)) <= 6 * 11 + 2

    @given(st.text(), st.integers(min_value=4, max_value=50))
    def test_shortening_keeps_both_ends(self, text, shown):
        short = shorten(text, shown)
        assert short == text if len(text) <= shown else len(short) == shown + 3
        assert short[:1] == text[:1]
        assert short[-1:] == text[-1:]

    @given(JSON, JSON)
    def test_same_json_is_symmetric_and_reflexive(self, left, right):
        assert same_json(left, left)
        assert same_json(left, right) == same_json(right, left)

    @given(JSON)
    def test_parses_whatever_json_writes(self, value):
        assert same_json(parse_json(json.dumps(value)), value)
