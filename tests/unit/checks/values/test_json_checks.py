"""json_valid, json_required, json_schema, and paths into JSON."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatekeeper.checks.check import ParameterError
from gatekeeper.checks.reading.field_path import Missing, find, parse_path

DRAFT7 = "http://json-schema.org/draft-07/schema#"
OBJECT = {
    "type": "object",
    "properties": {"id": {"type": "string", "pattern": "^A-"}, "n": {"type": "integer"}},
    "required": ["id"],
    "additionalProperties": False,
}


class TestValid:
    @pytest.mark.parametrize(
        "output",
        [
            '{"a": 1}',
            " [1]\n",
            "null",
            '"text"',
            "-0.5e3",
            "[" * 200 + "]" * 200,
            "[[]," * 150 + "0" + "]" * 150,
        ],
    )
    def test_accepts_json(self, apply, output):
        assert apply("json_valid", output).passed

    @pytest.mark.parametrize(
        ("output", "message"),
        [
            ("", "not JSON: the output is empty"),
            (" \n", "not JSON: the output is empty"),
            ('{"a": 1', 'not JSON: the output ends too early, after "{\\"a\\": 1"'),
            (
                '{"a": 1} Done.',
                'not JSON: there is more text after the JSON value: "Done." at 1:10',
            ),
            ("Sure! {}", 'not JSON: expecting value at 1:1: "Sure! {}"'),
            ("[1,\n 2,]", "not JSON: illegal trailing comma"),
            ('{"a": "b', 'not JSON: unterminated string starting at 1:7: "\\"b"'),
            ("{'a': 1}", "double quotes at 1:2"),
            ("NaN", "not JSON: NaN is not a JSON number"),
            ("[-Infinity]", "not JSON: -Infinity is not a JSON number"),
            ("1e999", "not JSON: the number 1e999 is out of range"),
            ("9" * 5000, "not JSON: "),
            ("[" * 100_000, "more than 200 nested levels"),
            ("[" * 201 + "]" * 201, "more than 200 nested levels"),
        ],
    )
    def test_refuses_and_says_where(self, apply, output, message):
        finding = apply("json_valid", output)
        assert finding.passed is False
        wanted = message.replace("illegal trailing comma", "")
        assert wanted in finding.message
        assert len(finding.message) < 200

    @given(st.text())
    def test_agrees_with_a_strict_reading_of_any_text(self, text):
        from gatekeeper.checks.reading.output import NotJson, parse_json

        result = parse_json(text)
        try:
            value = json.loads(text)
        except ValueError:
            assert isinstance(result, NotJson)
        else:
            assert isinstance(result, NotJson) or result == value


class TestRequired:
    @pytest.mark.parametrize(
        ("params", "output", "message"),
        [
            ({"fields": ["a", "b.c"]}, '{"a": 1, "b": {"c": null}}', ""),
            ({"fields": ["a", "b.c"]}, '{"b": {}}', "missing: `a`, `b.c`"),
            ({"fields": ["a"], "allow_null": False}, '{"a": null}', "null: `a`"),
            (
                {"fields": ["a", "b"], "allow_null": False},
                '{"a": null}',
                "missing: `b`; null: `a`",
            ),
            ({"fields": ["list[1].id"]}, '{"list": [{}, {"id": 0}]}', ""),
            ({"fields": ["list[2]"]}, '{"list": [1]}', "missing: `list[2]`"),
            ({"fields": ["a"]}, "[1]", "missing: `a`"),
            ({"fields": ['["a.b"]']}, '{"a.b": 1}', ""),
            ({"fields": ["a"]}, "prose", 'not JSON: expecting value at 1:1: "prose"'),
        ],
    )
    def test_checks(self, apply, params, output, message):
        finding = apply("json_required", output, **params)
        assert (finding.passed, finding.message) == (not message, message)


class TestPaths:
    @pytest.mark.parametrize(
        ("text", "steps"),
        [
            ("a", ("a",)),
            ("$.a.b", ("a", "b")),
            ("a[0][1].b", ("a", 0, 1, "b")),
            ("[0]", (0,)),
            ("$[0].x", (0, "x")),
            ('["a.b"].c', ("a.b", "c")),
            ('a["\\"q\\""]', ("a", '"q"')),
            ("a-b c", ("a-b c",)),
        ],
    )
    def test_reads(self, text, steps):
        assert parse_path(text).steps == steps

    @pytest.mark.parametrize("text", ["", "$", "a..b", "a.", "a[", "a[x]", "a[-1]", "[0]x", '["a'])
    def test_refuses(self, text):
        with pytest.raises(ParameterError, match="not a path"):
            parse_path(text)

    @given(st.lists(st.text() | st.integers(min_value=0, max_value=3), min_size=1, max_size=5))
    def test_finds_what_is_there(self, steps):
        value: object = "leaf"
        for step in reversed(steps):
            value = {step: value} if isinstance(step, str) else [None] * step + [value]
        path = parse_path("".join(f"[{json.dumps(step)}]" for step in steps))
        assert find(value, path) == "leaf"
        assert isinstance(find({}, path), Missing)


class TestSchema:
    @pytest.mark.parametrize(
        ("output", "message"),
        [
            ('{"id": "A-1"}', ""),
            ("{}", "$: 'id' is a required property"),
            ('{"id": "B"}', "$.id: 'B' does not match '^A-'"),
            ('{"id": "A-1", "n": "x"}', "$.n: 'x' is not of type 'integer'"),
            ('{"id": "A-1", "x": 1, "y": 2}', "$: unexpected fields: 'x', 'y'"),
            ('{"n": 1.5, "x": 0}', "(and 2 more errors)"),
            ("no", 'not JSON: expecting value at 1:1: "no"'),
        ],
    )
    def test_checks_by_a_schema_in_place(self, apply, output, message):
        finding = apply("json_schema", output, schema=OBJECT)
        assert finding.passed is not bool(message)
        assert message in finding.message

    def test_a_long_value_is_cut_and_the_rule_stays(self, apply):
        message = apply("json_schema", json.dumps("x" * 9999), schema={"type": "object"}).message
        assert len(message) < 250
        assert message.endswith("is not of type 'object'")

    @pytest.mark.parametrize("name", ["s/order.json", "s/order.yaml", "s/an order.json"])
    def test_a_file_and_what_it_refers_to(self, apply, name):
        files = {
            name: json.dumps({"$ref": "parts/id.json#/definitions/id"}),
            "s/parts/id.json": '{"definitions": {"id": {"$ref": "../up.json"}}}',
            "s/up.json": '{"$schema": "https://json-schema.org/draft/2020-12/schema", "const": 1}',
        }
        assert apply("json_schema", "1", files, schema=name).passed
        finding = apply("json_schema", "2", files, schema=name)
        assert (finding.passed, finding.message) == (False, "$: 1 was expected")

    @pytest.mark.parametrize("reference", ["with%20space.json", "with space.json"])
    def test_a_reference_with_a_space(self, apply, reference):
        files = {"contracts/with space.json": '{"type": "null"}'}
        assert apply("json_schema", "null", files, schema={"$ref": reference}).passed

    def test_relative_references_start_from_the_file_whatever_its_id_says(self, apply):
        files = {
            "s/a.json": json.dumps(
                {
                    "$id": "https://example.com/a.json",
                    "properties": {
                        "own": {"$ref": "https://example.com/a.json#/$defs/x"},
                        "other": {"$ref": "b.json"},
                    },
                    "$defs": {"x": {"type": "null"}},
                }
            ),
            "s/b.json": '{"$id": "https://example.com/b.json", "type": "integer"}',
        }
        assert apply("json_schema", '{"own": null, "other": 1}', files, schema="s/a.json").passed
        assert not apply("json_schema", '{"own": 0}', files, schema="s/a.json").passed
        assert not apply("json_schema", '{"other": "1"}', files, schema="s/a.json").passed

    def test_the_draft_named_by_the_schema_applies(self, apply):
        tuple_form = {"items": [{"type": "integer"}], "additionalItems": False}
        assert not apply("json_schema", "[1, 2]", schema={"$schema": DRAFT7, **tuple_form}).passed
        draft4 = {
            "$schema": "http://json-schema.org/draft-04/schema#",
            "id": "http://example.com/x",
            "maximum": 3,
            "exclusiveMaximum": True,
        }
        assert not apply("json_schema", "3", schema=draft4).passed

    def test_references_to_the_published_meta_schemas(self, apply):
        schema = {"$ref": "https://json-schema.org/draft/2020-12/schema"}
        assert apply("json_schema", '{"type": "null"}', schema=schema).passed
        assert not apply("json_schema", '{"type": 3}', schema=schema).passed

    def test_recursion_into_the_value_is_fine(self, apply):
        tree = {"type": "object", "additionalProperties": {"$ref": "#"}}
        assert apply("json_schema", '{"a": {"b": {}}}', schema=tree).passed
        assert not apply("json_schema", '{"a": {"b": 1}}', schema=tree).passed
        deep = '{"a":' * 190 + "{}" + "}" * 190
        deepened = {"additionalProperties": {"allOf": [{"allOf": [{"$ref": "#"}]}]}}
        assert "nested too deeply" in apply("json_schema", deep, schema=deepened).message

    @pytest.mark.parametrize(
        ("output", "message"),
        [
            ('[1, true, "1", [1], {"a": 1}, {}, [], null, [[1]]]', ""),
            ("[0, false, 0.0]", "$: the list items 0 and 2 are the same"),
            (
                '[{"a": [1], "b": 2}, {"b": 2.0, "a": [1]}]',
                "$: the list items 0 and 1 are the same",
            ),
            ('"aa"', ""),
        ],
    )
    def test_unique_items(self, apply, output, message):
        finding = apply("json_schema", output, schema={"uniqueItems": True})
        assert (finding.passed, finding.message) == (not message, message)
        assert apply("json_schema", output, schema={"uniqueItems": False}).passed

    def test_a_long_list_has_few_errors(self, apply):
        schema = {"uniqueItems": True, "items": {"type": "string"}}
        finding = apply("json_schema", json.dumps([{"a": n} for n in range(5000)]), schema=schema)
        assert finding.message.endswith("(and many more errors)")

    def test_a_number_too_large_for_the_arithmetic(self, apply):
        finding = apply("json_schema", "1" + "0" * 400, schema={"multipleOf": 0.1})
        assert (finding.passed, finding.message) == (
            False,
            "the JSON contains a number that is too large to be validated",
        )

    @pytest.mark.parametrize(
        ("schema", "what"),
        [
            ({"type": "objekt"}, r"not valid at \$.type: 'objekt'"),
            ({"properties": 3}, r"not valid at \$.properties: 3"),
            ({"pattern": "("}, r"`\(` does not compile"),
            ({"patternProperties": {"[": {}}}, r"`\[` does not compile"),
            ({"$schema": "https://example.com/mine"}, "not a known version"),
            ({"$schema": 7}, "not a known version"),
            ({"$ref": "https://example.com/x.json"}, "refers to https://example.com/x.json"),
            ({"items": {"$ref": "#/$defs/none"}}, "refers to #/[$]defs/none"),
            ({"items": {"$ref": "#anchor"}}, "refers to #anchor"),
            ({"$ref": "#"}, "refers to itself in a circle"),
            ({"anyOf": [{"$ref": "#"}]}, "refers to itself in a circle"),
            (
                {"patternProperties": {"^a": {}}, "unevaluatedProperties": False},
                "both `patternProperties` and `unevaluatedProperties`",
            ),
        ],
    )
    def test_a_schema_that_is_not_one_is_the_authors_mistake(self, apply, schema, what):
        with pytest.raises(ParameterError, match=what):
            apply("json_schema", "{}", schema=schema)

    @pytest.mark.parametrize(
        ("files", "what"),
        [
            ({}, "the schema file s.json"),
            ({"s.json": "{"}, "s.json:1"),
            ({"s.json": "[]"}, "the schema is not a mapping"),
            ({"s.json": '{"$ref": "t.json#/x"}', "t.json": '{"x": {"type": 3}}'}, "not valid"),
            ({"s.json": '{"$ref": "t.json"}', "t.json": "[]"}, "the schema in t.json is not valid"),
            (
                {"s.json": '{"$ref": "t.json"}', "t.json": json.dumps({"$schema": DRAFT7})},
                "t.json has the version",
            ),
        ],
    )
    def test_a_file_that_is_no_schema_is_the_authors_mistake(self, apply, files, what):
        with pytest.raises(ParameterError, match=what):
            apply("json_schema", "{}", files, schema="s.json")

    def test_what_looks_like_a_keyword_inside_data_is_data(self, apply):
        schema = {"const": {"$schema": "mine", "$ref": "https://example.com", "pattern": "("}}
        output = json.dumps(schema["const"])
        assert apply("json_schema", output, schema=schema).passed

    @pytest.mark.parametrize(
        "schema",
        [
            {"pattern": "^(a|aa)+$"},
            {"propertyNames": {"pattern": "^(a|aa)+$"}},
            {"patternProperties": {"^(a|aa)+$": {}}},
            {"patternProperties": {"^(a|aa)+$": {}}, "additionalProperties": False},
            {"$ref": "hard.json"},
        ],
    )
    def test_a_catastrophic_pattern_is_undetermined(self, apply, schema):
        hard = {"$schema": "https://json-schema.org/draft/2020-12/schema", "pattern": "^(a|aa)+$"}
        text = "a" * 60 + "!"
        output = json.dumps({text: 1} if any("ropert" in key for key in schema) else text)
        finding = apply(
            "json_schema", output, {"contracts/hard.json": json.dumps(hard)}, schema=schema
        )
        assert finding.passed is None
        assert "did not finish within" in finding.message

    def test_pattern_properties(self, apply):
        schema = {
            "properties": {"id": True},
            "patternProperties": {"^x-": {"type": "integer"}},
            "additionalProperties": {"type": "null"},
        }
        assert apply("json_schema", '{"id": "", "x-a": 1, "y": null}', schema=schema).passed
        assert apply("json_schema", "[]", schema=schema).passed
        assert not apply("json_schema", '{"x-a": "1"}', schema=schema).passed
        assert not apply("json_schema", '{"y": 1}', schema=schema).passed

    @pytest.mark.parametrize(
        ("form", "text", "passed"),
        [
            ("date-time", "2024-02-29T12:00:00Z", True),
            ("date-time", "2024-02-29t12:00:00.5+01:00", True),
            ("date-time", "2023-02-29T12:00:00Z", False),
            ("date-time", "2024-02-29", False),
            ("date-time", "2024-02-29T12:00:00", False),
            ("date-time", "2024-02-29T12Z", False),
            ("email", "someone", False),
            ("date", "2024-02-30", False),
        ],
    )
    def test_format_is_verified_on_request(self, apply, form, text, passed):
        schema = {"format": form}
        output = json.dumps(text)
        assert apply("json_schema", output, schema=schema).passed
        assert apply("json_schema", output, schema=schema, formats=True).passed is passed
        assert apply("json_schema", "3", schema=schema, formats=True).passed

    def test_a_format_that_cannot_be_verified_is_said_so(self, apply):
        with pytest.raises(ParameterError, match="gatekeeper cannot verify the format uri"):
            apply("json_schema", "1", schema={"format": "uri"}, formats=True)
