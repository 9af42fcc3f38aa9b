"""The check: what it asks, how several votes decide, and when it could not measure."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.judges import MODEL, ask, judge, sample_of, verdict

from gatekeeper.checks.check import Files, ParameterError
from gatekeeper.checks.judges.panel import _most
from gatekeeper.checks.registry import CHECKS
from gatekeeper.contract.checks.judge_settings import question_id
from gatekeeper.contract.values.definition import Message, MessageTemplate, Prompt, ToolCall
from gatekeeper.contract.values.trial import Completion, JudgeAnswer, Request, Sample

SCALE = {"1": "useless", "2": "weak", "3": "fair", "4": "good", "5": "perfect"}


def texts_of(question: Request) -> tuple[str, str]:
    system, user = question.messages
    assert (system.role, user.role) == ("system", "user")
    return system.content, user.content


def asked_about(output: str = "the output", *messages: Message, **params: Any) -> tuple[str, str]:
    (question,) = judge(**params).questions(sample_of(output, *messages))
    return texts_of(question)


class TestQuestions:
    def test_the_output_is_never_in_the_system_message(self):
        system, user = asked_about("XYZZY", criteria="Is polite.")
        assert "Is polite." in system
        assert "XYZZY" not in system
        assert "\nXYZZY\n" in user

    def test_at_temperature_0_with_the_form_of_the_answer(self):
        (question,) = judge().questions(sample_of("x"))
        assert question.model == MODEL
        assert question.params["temperature"] == 0
        form = question.params["response_format"]["json_schema"]
        assert form["strict"] is True
        assert form["schema"]["properties"]["verdict"]["enum"] == ["no", "yes"]

    @pytest.mark.parametrize(
        ("model", "params", "sent"),
        [
            ("anthropic/claude-haiku-4-5", {}, {"temperature", "max_tokens"}),
            ("openai/o3-mini", {}, {"max_tokens", "response_format"}),
            ("openai/gpt-3.5-turbo", {}, {"temperature", "max_tokens"}),
            (MODEL, {"structured": False}, {"temperature", "max_tokens"}),
            (
                MODEL,
                {"params": {"temperature": None, "max_completion_tokens": 9}},
                {"max_completion_tokens", "response_format"},
            ),
        ],
    )
    def test_with_the_parameters_that_the_model_takes(self, model, params, sent):
        (question,) = judge(model=model, **params).questions(sample_of("x"))
        assert set(question.params) == sent

    def test_a_judge_that_lists_claims_may_write_more(self):
        kinds = {"rubric": judge(), "faithful": judge(judge="faithful", context="c")}
        most = {kind: made.forecast(sample_of("x"))[0].params for kind, made in kinds.items()}
        assert most["faithful"]["max_tokens"] > most["rubric"]["max_tokens"]

    def test_nothing_is_asked_twice_and_nothing_of_a_sample_that_is_judged(self):
        finding, asked = ask(judge(), sample_of("x"), lambda _: verdict("yes"))
        assert len(asked) == 1
        assert (finding.passed, finding.score, finding.message) == (True, 1.0, "")

    def test_documents_are_numbered_and_stay_data(self):
        system, user = asked_about(judge="faithful", context=["one", {"b": 2}])
        assert '[1] one\n\n[2] {"b": 2}' in user
        assert "[1] one" not in system

    def test_the_question_is_by_default_the_users_last_message(self):
        messages = (Message("user", "first"), Message("assistant", "a"), Message("user", "last"))
        _, user = asked_about("x", *messages, judge="answers_question")
        assert "\nlast\n" in user
        assert "first" not in user

    def test_complies_shows_the_prompt_of_the_arm_without_the_input(self):
        prompts = {
            arm: Prompt("p.md", (MessageTemplate("system", f"{arm}: label {{{{ text }}}}", 1),), "")
            for arm in ("base", "head")
        }
        params = {"judge": "complies", "model": MODEL}
        check = CHECKS["judge"].prepare(params, Files({}, "c.yaml", prompts))
        sample = sample_of("x", Message("system", "head: label SECRET INPUT"))
        (question,) = check.questions(sample)  # type: ignore[attr-defined]
        _, user = texts_of(question)
        assert "head: label {{ text }}" in user
        assert "SECRET INPUT" not in user

    def test_calls_of_tools_are_shown(self):
        completion = Completion("", tool_calls=(ToolCall("look_up", '{"id": 1}', None),))
        sample = Sample(sample_of("").trial, completion)
        (question,) = judge().questions(sample)
        assert "look_up" in texts_of(question)[1]

    def test_a_part_of_the_output_can_be_graded_alone(self):
        check = judge(field="answer.text")
        (question,) = check.questions(sample_of('{"answer": {"text": "ONLY"}, "b": "REST"}'))
        assert "ONLY" in texts_of(question)[1]
        assert "REST" not in texts_of(question)[1]

    def test_an_output_without_the_field_fails_without_a_question(self):
        check = judge(field="answer")
        finding, asked = ask(check, sample_of("no JSON"), lambda _: verdict("yes"))
        assert (finding.passed, finding.score, asked) == (False, 0.0, [])

    def test_an_output_that_is_too_long_is_not_measured(self):
        finding, asked = ask(judge(), sample_of("x" * 50_001), lambda _: verdict("yes"))
        assert (finding.passed, asked) == (None, [])

    def test_a_forecast_has_every_question_whatever_the_output(self):
        check = judge(field="answer", models=["openai/a", "openai/b"], repeat=3)
        sample = sample_of("x" * 1000)
        forecast = check.forecast(sample)
        assert len(forecast) == 6
        # Ten thousand fixtures must not hold ten thousand copies of it.
        assert all(question.messages[-1].content is sample.output for question in forecast)
        assert check.judge_models == ("openai/a", "openai/b")


class TestVerdicts:
    @pytest.mark.parametrize(
        ("params", "label", "passed", "score"),
        [
            ({}, "yes", True, 1.0),
            ({}, "no", False, 0.0),
            ({"scale": SCALE}, "4", True, 0.75),
            ({"scale": SCALE}, "3", False, 0.5),
            ({"scale": SCALE, "pass": 3}, "3", True, 0.5),
            ({"choices": {"bad": 0, "fine": 0.8, "best": 1}}, "fine", True, 0.8),
            ({"choices": {"bad": 0, "fine": 0.5, "best": 1}}, "fine", False, 0.5),
            ({"choices": {"bad": 0, "fine": 0.5, "best": 1}, "pass": "fine"}, "fine", True, 0.5),
            ({"choices": {"bad": 0, "fine": 0.5}, "pass": 0.4}, "fine", True, 0.5),
        ],
    )
    def test_scores_and_thresholds(self, params, label, passed, score):
        finding, _ = ask(judge(**params), sample_of("x"), lambda _: verdict(label))
        assert (finding.passed, finding.score) == (passed, score)

    def test_claims(self):
        claims = [{"claim": f"c{n}", "evidence": "e", "supported": n > 0} for n in range(4)]
        said = json.dumps({"claims": claims})
        strict = judge(judge="faithful", context="c")
        mild = judge(judge="faithful", context="c", **{"pass": 0.75})
        assert ask(strict, sample_of("x"), lambda _: said)[0].passed is False
        assert ask(mild, sample_of("x"), lambda _: said)[0].passed is True

    def test_a_malformed_answer_is_asked_for_again_once(self):
        answers = iter(["It is fine.", verdict("yes")])
        finding, asked = ask(judge(), sample_of("x"), lambda _: next(answers))
        assert finding.passed is True
        assert [question.repetition for question in asked] == [0, 1]

    def test_two_malformed_answers_could_not_be_measured(self):
        finding, asked = ask(judge(), sample_of("x"), lambda _: "It is fine.")
        assert (finding.passed, finding.score, len(asked)) == (None, None, 2)

    def test_a_call_that_fails_is_not_repeated_and_could_not_be_measured(self):
        finding, asked = ask(judge(), sample_of("x"), lambda _: None)
        assert (finding.passed, len(asked)) == (None, 1)
        assert "no connection" in finding.message

    def test_a_sample_whose_judge_was_not_asked_is_not_measured(self):
        assert judge()(sample_of("x")).passed is None

    def test_the_message_is_one_short_line_with_the_reason(self):
        said = verdict("no", "first\nsecond " + "x" * 5000)
        finding, _ = ask(judge(), sample_of("x"), lambda _: said)
        assert "first second" in finding.message
        assert len(finding.message) < 400
        assert "\n" not in finding.message


THREE = ["openai/a", "anthropic/b", "gemini/c"]


class TestSeveralJudges:
    @pytest.mark.parametrize(
        ("votes", "majority", "unanimous"),
        [
            ("yyy", True, True),
            ("yyn", True, False),
            ("ynn", False, False),
            ("yy-", True, None),
            ("yn-", None, False),
            ("nn-", False, False),
            ("---", None, None),
        ],
    )
    def test_decide_by_their_votes(self, votes, majority, unanimous):
        words = {"y": verdict("yes"), "n": verdict("no"), "-": None}
        said = dict(zip(THREE, (words[v] for v in votes), strict=True))
        for decide, passed in (("majority", majority), ("unanimous", unanimous)):
            check = judge(models=THREE, decide=decide)
            finding, asked = ask(check, sample_of("x"), lambda question: said[question.model])
            assert finding.passed is passed, decide
            assert len(finding.votes) == len(asked) == 3

    def test_half_is_no_majority(self):
        said = {"openai/a": verdict("yes"), "openai/b": verdict("no")}
        check = judge(models=list(said))
        finding, _ = ask(check, sample_of("x"), lambda question: said[question.model])
        assert (finding.passed, finding.score) == (False, 0.5)

    def test_a_judge_that_is_asked_several_times_has_the_verdict_of_most(self):
        answers = iter([verdict("yes"), verdict("no"), verdict("yes")])
        finding, asked = ask(judge(repeat=3), sample_of("x"), lambda _: next(answers))
        assert finding.passed is True
        assert [question.repetition for question in asked] == [0, 1, 2]
        assert [vote.passed for vote in finding.votes] == [True, False, True]

    def test_a_malformed_answer_among_repeats_is_asked_again_as_another_repetition(self):
        answers = {0: verdict("yes"), 1: "?", 2: verdict("yes"), 4: verdict("no")}
        check = judge(repeat=3)
        finding, asked = ask(check, sample_of("x"), lambda question: answers[question.repetition])
        assert [question.repetition for question in asked] == [0, 1, 2, 4]
        assert [vote.passed for vote in finding.votes] == [True, False, True]


@given(
    st.lists(st.sampled_from([True, False, None]), min_size=1, max_size=6),
    st.sampled_from(["majority", "unanimous"]),
)
def test_what_is_decided_no_missing_vote_can_change(votes, decide):
    """And what is not decided, the missing votes could decide either way."""
    missing = votes.count(None)
    ends = set()
    for rest in itertools.product([True, False], repeat=missing):
        others = iter(rest)
        ends.add(_most([next(others) if vote is None else vote for vote in votes], decide))
    assert None not in ends
    decided = _most(votes, decide)
    assert ends == ({True, False} if decided is None else {decided})


def test_an_answer_that_was_cut_off_says_so():
    check = judge()
    (question,) = check.questions(sample_of("x"))
    cut = Completion('{"reason": "it goes on', finish_reason="length")
    sample = replace(sample_of("x"), judge_answers=(JudgeAnswer(question_id(question), cut),))
    finding = check(sample)
    assert finding.passed is None
    assert "max_tokens" in finding.message


@pytest.mark.parametrize(
    "said",
    [
        'Here is my verdict: {"reason": "r", "verdict": "yes"}',
        '{"reason": "r", "verdict": "yes"}\nI hope this helps.',
        '{"reason": "r", "verdict": "Yes, it does."}',
        '{"reason": "r", "verdict": true}',
    ],
)
@pytest.mark.parametrize(
    ("structured", "advice"),
    [(False, "set `structured: true` for the judge"), (True, "its server ignores the schema")],
)
def test_an_answer_of_another_form_says_what_to_set(said, structured, advice):
    finding, _ = ask(judge(structured=structured), sample_of("x"), lambda _: said)
    assert finding.passed is None
    assert advice in finding.message


def test_a_quotation_is_no_mistake_of_the_settings():
    said = '{"reason": "all is well", "verdict": "yes"}'
    finding, _ = ask(judge(structured=False), sample_of(said), lambda _: said)
    assert finding.passed is None
    assert "structured" not in finding.message


class TestParameters:
    @pytest.mark.parametrize(
        "params",
        [
            {"criteria": ""},
            {"judge": "faithful"},
            {"judge": "faithful", "context": ""},
            {"judge": "faithful", "context": "c", "scale": SCALE},
            {"judge": "tone"},
            {"judge": "tone", "tone": "t", "criteria": "c"},
            {"scale": {"1": "a", "3": "b"}},
            {"scale": SCALE, "pass": 6},
            {"scale": SCALE, "choices": {"a": 0, "b": 1}},
            {"choices": {"a": 0, "A": 1}},
            {"choices": {"a": 0, "b": 0.5}},
            {"choices": {"a": 0, "b": 1}, "pass": "c"},
            {"pass": 2},
            {"params": {"api_base": "https://evil.example"}},
            {"params": {"tools": []}},
            {"params": {"temperature": "hot"}},
        ],
    )
    def test_mistakes_are_found_before_any_call(self, params):
        with pytest.raises(ParameterError):
            judge(**params)

    def test_a_judge_needs_a_model(self):
        with pytest.raises(ParameterError):
            CHECKS["judge"].prepare({"judge": "rubric", "criteria": "c"}, Files({}, "c.yaml"))


class TestPromptFiles:
    def test_a_team_can_write_its_own(self):
        files = {"judges/mine.md": "Grade strictly.\n{{criteria}}\n{{ choices }}"}
        system, user = texts_of(
            judge(files, prompt="judges/mine.md", criteria="C.").questions(sample_of("x"))[0]
        )
        assert system.startswith("Grade strictly.\nC.\n- no: ")
        # The rules about data are added to every prompt, and the output stays in the other message.
        assert "instruction" in system
        assert "\nx\n" in user

    @pytest.mark.parametrize("text", ["{{ output }} {{ criteria }}", "no criteria at all"])
    def test_a_file_that_cannot_be_filled_is_refused(self, text):
        with pytest.raises(ParameterError):
            judge({"p.md": text}, prompt="p.md")
