"""all_of, any_of and `not`: results, scores and messages; a sample's grade and pass score."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatekeeper.checks.check import Check, Finding, InnerCheck, parameters
from gatekeeper.checks.composed.all_or_any import ALL_OF, ANY_OF
from gatekeeper.checks.evaluate import NegatedCheck, prepare
from gatekeeper.checks.judged_check import forecast_of, judge_models_of, questions_of
from gatekeeper.checks.registry import CHECKS
from gatekeeper.contract.values.definition import (
    CheckSpec,
    Contract,
    Fixture,
    MessageTemplate,
    Prompt,
)
from gatekeeper.contract.values.definition import Target as ModelTarget
from gatekeeper.contract.values.trial import (
    CheckResult,
    Completion,
    Outcome,
    Request,
    Sample,
    Trial,
    Vote,
)
from gatekeeper.errors import ContractError
from gatekeeper.gate.samples.outcomes import fixture_result

SAMPLE = Sample(
    Trial("c", "f", "head", 0, Request("m", (), {}, None, 0)), Completion("out"), output="out"
)
PASS, FAIL, OPEN = Finding(True), Finding(False, "bad"), Finding(None, "unknown")


def combined(check: Check, *findings: Finding) -> Finding:
    inner = tuple(InnerCheck(f"c{n}", lambda _, f=f: f) for n, f in enumerate(findings))
    return check.prepare({"checks": inner}, None)(SAMPLE)


class TestResults:
    @pytest.mark.parametrize(
        ("findings", "every", "some"),
        [
            ((PASS, PASS), True, True),
            ((PASS, FAIL), False, True),
            ((FAIL, FAIL), False, False),
            ((PASS, OPEN), None, True),
            ((FAIL, OPEN), False, None),
            ((OPEN,), None, None),
        ],
    )
    def test_follow_three_valued_logic(self, findings, every, some):
        assert combined(ALL_OF, *findings).passed is every
        assert combined(ANY_OF, *findings).passed is some

    def test_messages_name_the_part(self):
        assert combined(ALL_OF, PASS, FAIL).message == "1 of 2 checks failed: `c1`: bad"
        assert combined(ANY_OF, FAIL, FAIL).message == (
            "none of 2 checks passed: `c0`: bad; `c1`: bad"
        )

    def test_scores_are_the_lowest_and_the_highest(self):
        scored = Finding(True, score=0.9), Finding(False, "low", 0.4), PASS
        assert combined(ALL_OF, *scored).score == 0.4
        assert combined(ANY_OF, *scored).score == 1.0
        assert combined(ALL_OF, PASS, FAIL).score is None

    @given(st.lists(st.sampled_from([PASS, FAIL, OPEN]), min_size=1))
    def test_negation_swaps_the_two(self, findings):
        opposite = [NegatedCheck(lambda _, f=f: f)(SAMPLE) for f in findings]
        every = NegatedCheck(lambda _: combined(ALL_OF, *findings))(SAMPLE).passed
        assert combined(ANY_OF, *opposite).passed is every

    def test_negation_of_a_score_and_its_message(self):
        found = NegatedCheck(lambda _: Finding(True, score=0.75))(SAMPLE)
        assert (found.passed, found.score) == (False, 0.25)
        assert '"out"' in found.message


class Asking:
    """A check that asks one judge, and passes when it has asked."""

    judge_models = ("openai/judge",)

    def __call__(self, sample: Sample) -> Finding:
        return Finding(True, votes=(Vote("openai/judge", True),))

    def questions(self, sample: Sample) -> tuple[Request, ...]:
        return (Request("openai/judge", (), {}, None, 0),)

    forecast = questions


@pytest.mark.parametrize("check", [ALL_OF, ANY_OF])
def test_questions_to_judges_are_passed_on(check):
    plain = InnerCheck("p", lambda _: PASS)
    whole = NegatedCheck(check.prepare({"checks": (plain, InnerCheck("j", Asking()))}, None))
    assert judge_models_of(whole) == ("openai/judge",)
    assert len(questions_of(whole, SAMPLE)) == len(forecast_of(whole, SAMPLE)) == 1
    assert [vote.model for vote in whole(SAMPLE).votes] == ["openai/judge"]


def contract(*checks: CheckSpec, expected: object = None, **fields: object) -> Contract:
    prompt = Prompt("p.md", (MessageTemplate("user", "hi", 1),), "hi")
    fixtures = (Fixture("f", {}, expected), Fixture("g", {}, "other"))
    return Contract("c", "c.yaml", ModelTarget(prompt, "m", {}), fixtures, checks, **fields)


def spec(kind: str, *parts: CheckSpec, **params: object) -> CheckSpec:
    return CheckSpec(kind, kind, params, parts=parts)


class TestPrepared:
    def test_templates_of_inner_checks_are_rendered_for_each_fixture(self):
        inner = spec("any_of", spec("equals", value="{{ expected }}"), spec("equals", value="x"))
        evaluator = prepare(contract(spec("all_of", inner), expected="out"))
        assert [r.passed for r in evaluator.evaluate(SAMPLE)] == [True]
        other = Sample(
            Trial("c", "g", "head", 0, SAMPLE.trial.request), Completion("out"), output="out"
        )
        assert [r.passed for r in evaluator.evaluate(other)] == [False]

    def test_a_mistake_of_an_inner_check_is_named(self):
        inner = spec("all_of", spec("regex", pattern="("))
        with pytest.raises(ContractError) as caught:
            prepare(contract(inner))
        assert "check `regex`" in str(caught.value)

    def test_a_check_that_does_not_apply_is_left_out(self):
        checks = (spec("equals", value="out"), spec("json_valid"))
        made = contract(*checks)
        fixtures = (Fixture("f", {}, left_out=frozenset({"json_valid"})),)
        found = prepare(Contract("c", "c", made.target, fixtures, checks)).evaluate(SAMPLE)
        assert [r.check for r in found] == ["equals"]

    def test_a_composed_check_without_inner_checks_is_refused(self):
        with pytest.raises(ContractError):
            prepare(contract(spec("any_of")))

    def test_composed_checks_scores_are_those_of_their_parts(self):
        assert not CHECKS["all_of"].scores
        assert CHECKS["all_of"].parameters == parameters(
            required=("checks",), checks=CHECKS["any_of"].parameters["properties"]["checks"]
        )


def outcome(results: Sequence[CheckResult], pass_score: float | None) -> Outcome:
    return Outcome(SAMPLE, tuple(results), pass_score)


def result(
    passed: bool | None, score: float | None = None, weight: float = 1, **more: object
) -> CheckResult:
    message = "" if passed else "m"
    return CheckResult("c", passed, message, score=score, weight=weight, **more)


class TestGrade:
    @pytest.mark.parametrize(
        ("results", "pass_score", "passed"),
        [
            ([result(True), result(False)], 0.5, True),
            ([result(True), result(False)], 0.51, False),
            ([result(True, weight=3), result(False)], 0.75, True),
            ([result(False, 0.7), result(True)], 0.85, True),
            ([result(True), result(None)], 0.5, True),
            ([result(True), result(None)], 0.6, None),
            ([result(False), result(None)], 0.6, False),
            ([result(True, weight=9), result(False, must_pass=True)], 0.5, False),
            ([result(True, weight=9), result(None, must_pass=True)], 0.5, None),
            ([result(True)] * 8 + [result(False)] * 2, 0.8, True),
            ([result(True, weight=0.1)] * 9 + [result(False, weight=0.1)], 0.9, True),
            ([], 0.5, None),
            ([result(True), result(False)], None, False),
        ],
    )
    def test_a_sample_passes_by_the_weighted_mean(self, results, pass_score, passed):
        assert outcome(results, pass_score).passed is passed

    def test_checks_of_severity_warn_do_not_count(self):
        warn = CheckResult("w", False, "m", "warn")
        assert outcome([result(True), warn], 0.9).passed is True

    def test_the_score_is_weighted(self):
        assert outcome([result(True, 1.0, 3), result(False, 0.2)], None).score == 0.8

    @given(
        st.lists(
            st.tuples(st.booleans(), st.floats(0, 1), st.floats(0.01, 100)), min_size=1, max_size=9
        )
    )
    def test_the_grade_is_a_share_and_decides(self, values):
        made = outcome([result(p, s, w) for p, s, w in values], 0.5)
        grade = made.grade
        assert grade is not None
        assert 0 <= grade <= 1 + 1e-9
        assert made.passed is (grade >= 0.5 - 1e-9)


class TestReport:
    def failures(self, *results: CheckResult) -> tuple[list[str], list[str]]:
        made = contract(spec("json_valid"), pass_score=0.6)
        groups = {("f", "head"): [outcome(results, 0.6)]}
        found = fixture_result(made, made.fixtures[0], groups, None, 1, paired=False)
        return (
            [f"{f.check}: {f.message}" for f in found.failures],
            [f.check for f in found.warnings],
        )

    def test_says_why_a_sample_failed(self):
        failing = result(False)
        assert self.failures(failing, result(True)) == (
            ["c: m", "pass_score: scores 0.5, but needs 0.6"],
            [],
        )
        must = result(False, must_pass=True)
        failures, _ = self.failures(must, result(True), result(True))
        assert failures[1] == (
            "pass_score: scores 0.666 and needs only 0.6, but a check with `must_pass: true` failed"
        )

    def test_shows_what_a_passing_sample_failed_as_a_warning(self):
        assert self.failures(result(False), result(True), result(True)) == ([], ["c"])
