"""prepare and Judge: every problem at once, templates per fixture, and nothing raised later."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from gatekeeper.checks.check import PASSED, Check, parameters
from gatekeeper.checks.evaluate import prepare
from gatekeeper.checks.registry import CHECKS, SHAPES
from gatekeeper.contract.meaning.schemas import COMMON_KEYS
from gatekeeper.contract.values.definition import (
    CheckSpec,
    Contract,
    Fixture,
    MessageTemplate,
    Position,
    Prompt,
    Target,
)
from gatekeeper.contract.values.trial import CheckResult, Completion, Request, Sample, Trial
from gatekeeper.errors import ContractError

PATH = "contracts/c.yaml"


def spec(kind: str, name: str | None = None, line: int = 7, **params: Any) -> CheckSpec:
    return CheckSpec(kind, name or kind, params, position=Position(PATH, line, 5))


def contract(*checks: CheckSpec, fixtures: tuple[Fixture, ...] = ()) -> Contract:
    prompt = Prompt("p.md", (MessageTemplate("user", "hi", 1),), "hi")
    return Contract(
        "c", PATH, Target(prompt, "m", {}), fixtures or (Fixture("one", {}),), tuple(checks)
    )


def sample(output: str, fixture: str = "one") -> Sample:
    trial = Trial("c", fixture, "head", 0, Request("m", (), {}, None, 0))
    return Sample(trial, Completion(output), output=output)


def problems_of(subject: Contract) -> list[str]:
    with pytest.raises(ContractError) as caught:
        prepare(subject)
    return [str(problem) for problem in caught.value.problems]


class TestEvaluation:
    def test_one_evaluation_a_check_in_order_with_names_and_severities(self):
        warn = replace(spec("contains", "mentions b", value="b"), severity="warn")
        evaluator = prepare(contract(spec("equals", "is a", value="a"), warn))
        assert evaluator.evaluate(sample("a")) == (
            CheckResult("is a", True),
            CheckResult("mentions b", False, 'does not contain "b"; got "a"', "warn"),
        )

    def test_a_fixture_adds_its_own_checks(self):
        own = Fixture("own", {}, checks=(spec("equals", value="x"),))
        evaluator = prepare(contract(spec("json_valid"), fixtures=(Fixture("plain", {}), own)))
        assert [j.check for j in evaluator.evaluate(sample("1", "plain"))] == ["json_valid"]
        assert [j.check for j in evaluator.evaluate(sample("1", "own"))] == ["json_valid", "equals"]

    @pytest.mark.parametrize("reason", ["request_too_long", "request_refused"])
    def test_no_check_passes_a_request_that_was_refused(self, reason):
        evaluator = prepare(contract(spec("not_contains", value="x"), spec("length", max=9)))
        refused = replace(sample(""), completion=Completion("", finish_reason=reason))
        assert [j.passed for j in evaluator.evaluate(refused)] == [False, False]
        assert "refused the request" in evaluator.evaluate(refused)[0].message
        said = replace(sample("y"), completion=Completion("y", finish_reason=reason))
        assert [j.passed for j in evaluator.evaluate(said)] == [True, True]

    def test_a_failed_call_gets_no_evaluation(self):
        evaluator = prepare(contract(spec("equals", value="")))
        failed = replace(sample(""), completion=None, error="500")
        assert evaluator.evaluate(failed) == ()

    def test_a_fixture_of_another_contract_is_never_a_pass(self):
        evaluator = prepare(contract(spec("json_valid")))
        with pytest.raises(KeyError):
            evaluator.evaluate(sample("1", "elsewhere"))

    def test_the_repaired_output_is_checked(self):
        evaluator = prepare(contract(spec("equals", value="a", strip=False)))
        repaired = replace(sample("a"), completion=Completion("```\na\n```"))
        assert evaluator.evaluate(repaired)[0].passed

    @given(st.text())
    def test_no_output_makes_a_check_raise(self, output):
        checks = [
            spec("equals", value={"a": 1}),
            spec("contains", value="a", field="x.y"),
            spec("not_contains", value="a", ignore_case=True),
            spec("regex", pattern="^a+$"),
            spec("json_valid"),
            spec("json_schema", schema={"type": "object", "additionalProperties": False}),
            spec("json_required", fields=["a.b[0]"]),
            spec("enum", values=["a", 1]),
            spec("length", max=3, unit="tokens"),
            spec("latency", max_ms=1),
        ]
        check_results = prepare(contract(*checks)).evaluate(sample(output))
        assert len(check_results) == len(checks)
        assert all(bool(j.message) is (j.passed is not True) for j in check_results)


class TestTemplates:
    def test_render_per_fixture_and_keep_types(self):
        fixtures = (
            Fixture("text", {"limit": 2}, expected="ab"),
            Fixture("number", {"limit": 3}, expected=4),
            Fixture("mapping", {"limit": 9}, expected={"a": 1}),
        )
        evaluator = prepare(
            contract(
                spec("equals", value="{{ expected }}"),
                spec("length", max="{{ limit }}"),
                fixtures=fixtures,
            )
        )
        passed = {
            (name, output): [j.passed for j in evaluator.evaluate(sample(output, name))]
            for name, output in [("text", "ab"), ("number", "4.0"), ("mapping", '{"a":1}')]
        }
        assert set(map(tuple, passed.values())) == {(True, True)}
        assert [j.passed for j in evaluator.evaluate(sample("abc", "text"))] == [False, False]

    def test_templates_inside_lists_and_schemas(self):
        fixture = Fixture("one", {"label": "x"}, expected="y")
        evaluator = prepare(
            contract(
                spec("enum", values=["{{ label }}", "z"]),
                spec("json_schema", schema={"const": "{{ expected }}"}),
                fixtures=(fixture,),
            )
        )
        assert evaluator.evaluate(sample("x"))[0].passed
        assert evaluator.evaluate(sample('"y"'))[1].passed

    def test_what_needs_no_fixture_is_prepared_once(self):
        prepared = []

        def note(params: Any, _files: Any) -> Any:
            prepared.append(params["value"])
            return lambda _sample: PASSED

        checks = {"note": Check(parameters(required=("value",), value={"type": "string"}), note)}
        fixtures = tuple(Fixture(str(n), {"n": f"v{n}"}) for n in range(3))
        prepare(contract(spec("note", value="same"), fixtures=fixtures), checks)
        assert prepared == ["same"]
        prepare(contract(spec("note", value="{{ n }}"), fixtures=fixtures), checks)
        assert prepared == ["same", "v0", "v1", "v2"]

    def test_braces_of_a_pattern_are_no_template(self):
        evaluator = prepare(contract(spec("regex", pattern=r"^{#\d{2}}$")))
        assert evaluator.evaluate(sample("{#12}"))[0].passed


class TestProblems:
    def test_all_at_once_each_with_place_and_fix(self):
        found = problems_of(
            contract(
                spec("regex", "tag", line=3, pattern="("),
                spec("length", line=4),
                spec("json_schema", line=5, schema={"type": "objekt"}),
            )
        )
        assert len(found) == 3
        assert found[0].startswith(f"{PATH}:3:5: check `tag`: the pattern `(` does not compile")
        assert found[1] == (
            f"{PATH}:4:5: check `length`: neither `min` nor `max` is set; set `min`, `max` or both"
        )

    def test_a_check_wrong_for_every_fixture_is_told_once(self):
        fixtures = tuple(Fixture(f"f{n}", {}) for n in range(50))
        assert len(problems_of(contract(spec("regex", pattern="("), fixtures=fixtures))) == 1

    def test_no_expected_where_a_check_uses_it(self):
        fixtures = (
            Fixture("a", {}, expected="x"),
            Fixture("b", {}, position=Position("f.jsonl", 2)),
            Fixture("c", {}),
        )
        found = problems_of(contract(spec("equals", value="{{ expected }}"), fixtures=fixtures))
        assert found == [
            f"{PATH}:7:5: check `equals`: the check uses `expected`, but the fixture has no "
            "`expected` "
            "(for fixture `b` at f.jsonl:2 and 1 more); "
            "add `expected` to the fixture, or move the check to the fixtures with `expected`"
        ]

    def test_a_misspelt_column_of_expected_answers_is_a_question(self):
        fixtures = (Fixture("a", {"expeced": "x"}),)
        (found,) = problems_of(contract(spec("equals", value="{{ expected }}"), fixtures=fixtures))
        assert "did you mean `expeced`? If not, add `expected` to the fixture" in found

    def test_a_value_of_the_wrong_type_in_each_fixture_is_one_problem(self):
        fixtures = tuple(Fixture(f"f{n}", {}, expected=f"x{n}") for n in range(8))
        check = spec("contains", values="{{ expected }}")
        (found,) = problems_of(contract(check, fixtures=fixtures))
        assert "for fixture `f0` and 7 more" in found

    def test_different_mistakes_of_fixtures_are_different_problems(self):
        fixtures = (Fixture("a", {}, expected="x"), Fixture("b", {}, expected=[]))
        check = spec("contains", values="{{ expected }}")
        assert len(problems_of(contract(check, fixtures=fixtures))) == 2

    def test_an_undefined_variable_names_the_fixture(self):
        found = problems_of(contract(spec("contains", value="x {{ nothing }}")))
        assert len(found) == 1
        assert "nothing" in found[0]
        assert "fixture `one`" in found[0]
        assert found[0].startswith(f"{PATH}:7:5: check `contains`:")

    def test_a_broken_template(self):
        found = problems_of(contract(spec("contains", value="{{ expected")))
        assert "fixture `one`" in found[0]

    def test_a_value_rendered_to_the_wrong_type(self):
        fixture = Fixture("one", {"limit": "many"})
        found = problems_of(contract(spec("length", max="{{ limit }}"), fixtures=(fixture,)))
        wanted = "max: 'many' is not of type 'integer' (for fixture `one`)"
        assert wanted in found[0]
        assert "write the largest length that passes" in found[0]

    def test_a_pattern_that_only_one_fixture_breaks(self):
        fixtures = (Fixture("good", {}, expected="a"), Fixture("bad", {}, expected="("))
        found = problems_of(contract(spec("regex", pattern="^{{ expected }}$"), fixtures=fixtures))
        assert "(for fixture `bad`)" in found[0]

    @pytest.mark.parametrize(
        ("check", "what"),
        [
            (spec("equal", value=1), "there is no check `equal`; use one of equals, contains"),
            (spec("equals"), "'value' is a required property; its parameters are value, "),
            (spec("json_valid", x=1), "its parameters are field"),
            (replace(spec("equals"), position=None), f"{PATH}: check `equals`:"),
        ],
    )
    def test_without_the_loader_shapes_are_held_too(self, check, what):
        assert what in problems_of(contract(check))[0]

    def test_a_schema_file_comes_with_the_check(self):
        check = spec("json_schema", schema="s.json")
        missing = problems_of(contract(check))
        assert "the schema file s.json" in missing[0]
        evaluator = prepare(contract(replace(check, files={"s.json": '{"type": "null"}'})))
        assert evaluator.evaluate(sample("null"))[0].passed


class TestShapes:
    @pytest.mark.parametrize("name", CHECKS)
    def test_a_shape_is_a_schema_that_names_every_parameter(self, name):
        shape = SHAPES[name]
        Draft202012Validator.check_schema(shape.schema)
        assert set(shape.schema["properties"]) == set(CHECKS[name].parameters["properties"])
        assert shape.schema["additionalProperties"] is False
        assert all(
            schema["description"].endswith(".") for schema in shape.schema["properties"].values()
        )
        assert not set(COMMON_KEYS) & set(shape.schema["properties"])

    @pytest.mark.parametrize(
        ("name", "params", "valid"),
        [
            ("length", {"max": 3}, True),
            ("length", {"max": "{{ limit }}"}, True),
            ("length", {"max": "three"}, False),
            ("enum", {"values": "{{ labels }}"}, True),
            ("enum", {"values": []}, False),
            ("json_schema", {"schema": "a.json"}, True),
            ("equals", {"value": None}, False),
            ("equals", {"valu": "x"}, False),
        ],
    )
    def test_a_template_may_stand_for_any_value(self, name, params, valid):
        assert Draft202012Validator(SHAPES[name].schema).is_valid(params) is valid

    def test_only_schemas_are_files(self):
        assert {name: shape.paths for name, shape in SHAPES.items() if shape.paths} == {
            "contains_json": ("schema",),
            "json_schema": ("schema",),
            "judge": ("prompt",),
            "tool_call": ("schema",),
            "word_list": ("file",),
        }
