"""What samples.jsonl says of a sample's score reads back as it was."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from support.outcomes import outcome

from gatekeeper.contract.values.trial import CheckResult, Completion, JudgeAnswer, QuestionId, Vote
from gatekeeper.errors import UsageError
from gatekeeper.reports.formats.read_samples import read_run
from gatekeeper.reports.formats.samples import sample_document

GRADED = replace(
    outcome("a", "head", 0, True),
    check_results=(
        CheckResult("heavy", False, "m", score=0.5, weight=3.0),
        CheckResult("must", True, must_pass=True),
    ),
    pass_score=0.6,
)


def test_weights_and_the_pass_score_read_back(tmp_path: Path):
    file = tmp_path / "samples.jsonl"
    file.write_text(json.dumps(sample_document(GRADED)) + "\n", "utf-8")
    (found,) = read_run(file).outcomes
    assert found.check_results == GRADED.check_results
    assert (found.grade, found.passed) == (0.625, True)


def test_the_answers_and_votes_of_judges_read_back(tmp_path: Path):
    votes = (Vote("openai/a", True, 0.75, "is “fine”", "4"), Vote("openai/b", None, reason="lost"))
    said = Completion("{}", 5.0, 7, 3, 0.01, fingerprint="fp", finish_reason="stop", replayed=True)
    answers = (
        JudgeAnswer(QuestionId("openai/a", "d" * 64, 0), said),
        JudgeAnswer(QuestionId("openai/b", "e" * 64, 2), None, "no connection"),
    )
    plain = outcome("a", "head", 0, True)
    judged = replace(
        plain,
        sample=replace(plain.sample, judge_answers=answers),
        check_results=(CheckResult("c", None, "m", votes=votes),),
    )
    file = tmp_path / "samples.jsonl"
    file.write_text(json.dumps(sample_document(judged)) + "\n", "utf-8")
    (found,) = read_run(file).outcomes
    assert found.sample.judge_answers == answers
    assert found.check_results == judged.check_results


@pytest.mark.parametrize(("old", "new"), [('"weight": 3.0', '"weight": 0'), ("0.6", "7")])
def test_a_weight_or_score_out_of_range_is_refused(tmp_path: Path, old: str, new: str):
    file = tmp_path / "samples.jsonl"
    file.write_text(json.dumps(sample_document(GRADED)).replace(old, new) + "\n", "utf-8")
    with pytest.raises(UsageError):
        read_run(file)
