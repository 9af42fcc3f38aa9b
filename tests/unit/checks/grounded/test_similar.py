"""`similar`: what it asks, and what it makes of the answer."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gatekeeper.checks.check import Files, ParameterError
from gatekeeper.checks.registry import CHECKS
from gatekeeper.contract.checks.embeddings import read_cosine, written_cosine
from gatekeeper.contract.checks.judge_settings import question_id
from gatekeeper.contract.values.trial import Completion, JudgeAnswer
from tests.unit.checks.conftest import sample_of

MODEL = "openai/text-embedding-3-small"


def prepared(**params):
    given = {"value": "wanted", "min": 0.5, "model": MODEL, **params}
    return CHECKS["similar"].prepare(given, Files({}, "c.yaml"))


def found(output: str, says: str | None, **params):
    check, sample = prepared(**params), sample_of(output)
    (question,) = check.questions(sample)
    completion = None if says is None else Completion(says)
    answer = JudgeAnswer(question_id(question), completion, "no" if says is None else None)
    answered = replace(sample, judge_answers=(answer,))
    assert check.questions(answered) == ()
    return check(answered)


@pytest.mark.parametrize(
    ("says", "passed", "score"),
    [
        ("0.500000", True, 0.5),
        ("0.499999", False, 0.499999),
        ("-0.300000", False, 0.0),
        ("nan", None, None),
        ("2", None, None),
        ("[0.9]", None, None),
        (None, None, None),
    ],
)
def test_the_cosine_decides(says, passed, score):
    finding = found("said", says)
    assert (finding.passed, finding.score) == (passed, score)
    assert bool(finding.message) is (passed is not True)


def test_both_texts_are_sent_and_nothing_else():
    (question,) = prepared(field="$.a[*]").questions(sample_of('{"a": ["one", "two"]}'))
    assert [m.content for m in question.messages] == ["wanted", "one\ntwo"]
    assert (question.model, dict(question.params)) == (MODEL, {})


@pytest.mark.parametrize("output", ["", " \n", "x" * 100_001])
def test_what_no_model_has_to_see_is_not_sent(output):
    check = prepared()
    assert check.questions(sample_of(output)) == ()
    assert check(sample_of(output)).passed is (None if output.strip() else False)


def test_without_an_answer_it_is_undetermined():
    assert prepared()(sample_of("said")).passed is None


@pytest.mark.parametrize("params", [{"value": " "}, {"model": "local/smollm2"}])
def test_parameters_must_make_sense(params):
    with pytest.raises(ParameterError):
        prepared(**params)


@pytest.mark.parametrize(
    ("one", "other", "cosine"),
    [([1, 0], [2, 0], 1), ([1, 0], [0, 3], 0), ([1, 1], [-1, -1], -1), ([3, 4], [4, 3], 0.96)],
)
def test_cosines_are_written_and_read(one, other, cosine):
    assert read_cosine(written_cosine(one, other)) == pytest.approx(cosine)


@pytest.mark.parametrize(
    ("one", "other"), [([], []), ([1], [1, 2]), ([0], [1]), ([1e308], [1e308])]
)
def test_vectors_without_an_angle(one, other):
    with pytest.raises(ValueError, match="vector"):
        written_cosine(one, other)
