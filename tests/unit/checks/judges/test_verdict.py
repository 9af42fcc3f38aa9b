"""Which verdict the object of a judge's answer says."""

from __future__ import annotations

import json

import pytest

from gatekeeper.checks.judges.verdict import Choice, ChoiceForm, ClaimForm

CHOICES = ChoiceForm([Choice("no", 0.0), Choice("partly", 0.5), Choice("Yes", 1.0)])


def test_choices_are_read_by_their_names():
    found = CHOICES.read({"reason": " two\n lines ", "verdict": " YES "})
    assert found is not None
    assert (found.label, found.score, found.reason) == ("Yes", 1.0, "two lines")


@pytest.mark.parametrize(
    "answer",
    [
        {},
        {"verdict": "yes"},
        {"reason": "r"},
        {"reason": "r", "verdict": "maybe"},
        {"reason": "r", "verdict": True},
        {"reason": 5, "verdict": "yes"},
        {"reason": "r", "verdict": ["yes"]},
    ],
)
def test_other_forms_are_not_read(answer):
    assert CHOICES.read(answer) is None


def test_a_level_may_be_a_number():
    levels = ChoiceForm([Choice("1", 0.0), Choice("2", 1.0)])
    found = levels.read({"reason": "r", "verdict": 2})
    assert found is not None
    assert found.score == 1.0


def test_the_reason_comes_before_the_verdict_in_the_schema():
    assert list(CHOICES.schema["properties"]) == ["reason", "verdict"]
    claim = ClaimForm().schema["properties"]["claims"]["items"]
    assert list(claim["properties"]) == ["claim", "evidence", "supported"]


def claims(*supported: bool) -> dict[str, object]:
    return {"claims": [{"claim": "c", "evidence": "e", "supported": s} for s in supported]}


@pytest.mark.parametrize(
    ("answer", "score"),
    [(claims(), 1.0), (claims(True), 1.0), (claims(True, False, True, True), 0.75)],
)
def test_the_score_is_the_share_of_supported_claims(answer, score):
    found = ClaimForm().read(answer)
    assert found is not None
    assert found.score == score


@pytest.mark.parametrize(
    "answer",
    [{}, {"claims": "none"}, {"claims": [1]}, {"claims": [{"claim": "c", "supported": True}]}],
)
def test_malformed_claims_are_not_read(answer):
    assert ClaimForm().read(json.loads(json.dumps(answer))) is None
