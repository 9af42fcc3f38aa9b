"""The agreement of judges in a result, equal to a computation by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest

from gatekeeper.contract.values.definition import CheckSpec
from gatekeeper.contract.values.trial import (
    CheckResult,
    Completion,
    JudgeAnswer,
    Outcome,
    QuestionId,
    Request,
    Sample,
    Trial,
    Vote,
)
from gatekeeper.gate.calibration.judge_agreement import agreement_text, judge_agreements

NAMES = {"a": "openai/a", "b": "claude/b", "c": "gemini/c"}


@dataclass(frozen=True)
class Graded:
    """What each judge says of one output, such as `{"a": "y", "b": "yny"}`."""

    votes: dict[str, str]
    output: str = ""
    contract_from: Any = "head"


def outcome(number: int, graded: Graded) -> Outcome:
    request = Request("m", (), {}, None, 0)
    trial = Trial("c", f"f{number}", "head", 0, request, contract_from=graded.contract_from)
    votes = tuple(
        Vote(NAMES[judge], {"y": True, "n": False, "-": None}[vote])
        for judge, said in graded.votes.items()
        for vote in said
    )
    answers = (JudgeAnswer(QuestionId("j", "d", 0), Completion("")),)
    sample = Sample(trial, Completion("o"), output=graded.output, judge_answers=answers)
    return Outcome(sample, (CheckResult("is good", True, votes=votes),))


def agreements(*graded: Graded) -> Any:
    contract: Any = SimpleNamespace(name="c", own_checks=[CheckSpec("judge", "is good", {})])
    job: Any = SimpleNamespace(contract=contract)
    return judge_agreements([job], [outcome(n, one) for n, one in enumerate(graded)])


def rows(judges: str, votes: Sequence[str]) -> list[Graded]:
    return [Graded(dict(zip(judges, row, strict=True))) for row in votes]


def test_two_judges_have_cohens_kappa():
    """20 both pass, 15 both fail, 5 and 10 split: the example of Cohen's kappa with 0.4."""
    (found,) = agreements(*rows("ab", ["yy"] * 20 + ["nn"] * 15 + ["yn"] * 5 + ["ny"] * 10))
    assert (found.outputs, found.agreed) == (50, 0.7)
    # (0.7 - 0.5) / (1 - 0.5), with 0.5 = 0.5 * 0.6 + 0.5 * 0.4
    assert found.kappa.value == pytest.approx(0.4)
    assert found.kappa.interval.low < 0.4 < found.kappa.interval.high
    assert found.repeats == {}
    assert "hardly agree more often" in agreement_text(found)


def test_three_judges_have_fleiss_kappa():
    (found,) = agreements(*rows("abc", ["yyy", "yyn", "nnn", "nny"]))
    assert found.agreed == 0.5
    # Observed (1 + 1/3 + 1 + 1/3) / 4 = 2/3, by chance 1/2.
    assert found.kappa.value == pytest.approx((2 / 3 - 1 / 2) / (1 / 2))


def test_a_judge_that_is_asked_again_agrees_with_itself():
    (found,) = agreements(*(Graded({"a": said}) for said in ("yyy", "nnn", "yyn", "nny")))
    assert (found.agreed, found.kappa) == (None, None)
    assert found.repeats["openai/a"].value == pytest.approx(1 / 3)


def test_one_judge_asked_once_has_no_agreement():
    assert agreements(*rows("a", ["y", "n"])) == ()


def test_outputs_without_every_vote_do_not_count():
    (found,) = agreements(*rows("ab", ["yy", "-y", "nn"]))
    assert found.outputs == 2


def test_the_base_contracts_judges_are_not_mixed_in():
    (found,) = agreements(*rows("ab", ["yy"]), Graded({"a": "n", "b": "y"}, contract_from="base"))
    assert found.outputs == 1


def test_verdicts_that_never_vary_have_no_kappa():
    (found,) = agreements(*rows("ab", ["yy", "yy"]))
    assert (found.agreed, found.kappa) == (1.0, None)
    assert "not defined" in agreement_text(found)
