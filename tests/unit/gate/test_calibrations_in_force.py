"""Whose calibrations count, and what an uncalibrated judge means."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.evaluations import evaluation_of
from support.judged_checks import FakeJudge, with_judge
from support.outcomes import contract

from gatekeeper import numbers
from gatekeeper.checks.evaluate import prepare
from gatekeeper.contract.checks.judge_calibration import (
    calibration_path,
    calibration_text,
    read_calibration,
)
from gatekeeper.contract.policies.policy import JudgePolicy, Policy, load_policy
from gatekeeper.contract.values.calibration_record import CheckCalibration, GradedLabel
from gatekeeper.contract.values.change import Change, MemoryRevision
from gatekeeper.contract.values.definition import CheckSpec, Contract
from gatekeeper.contract.weakening.policy_weakening import (
    brought_calibrations,
    calibration_weakenings,
    policy_weakenings,
)
from gatekeeper.errors import ContractError
from gatekeeper.gate.plan.calibrations_in_force import (
    calibration_problems,
    judge_identities,
    uncalibrated_reasons,
    use_calibrations,
)
from gatekeeper.gate.plan.contract_reasons import policy_reasons
from gatekeeper.gate.plan.plan import Evaluation, Job

OTHER = CheckSpec("contains", "tone", {"value": "other criteria"})
TONE = CheckSpec("contains", "tone", {"value": "polite"})


def judged(check: CheckSpec = TONE, **fields) -> tuple[Contract, Evaluation]:
    made = contract("f1", "f2", checks=(check,), **fields)
    return made, evaluation_of(made, evaluator=with_judge(prepare(made), "tone"))


def graded(check: CheckSpec, right: int = 10, wrong: int = 0) -> dict[str, CheckCalibration]:
    made, evaluation = judged(check)
    digest = judge_identities(made, evaluation.evaluator)["tone"].digest
    pairs = [(i % 2 == 0, i % 2 == 0) for i in range(right)] + [(True, False)] * wrong
    labels = [GradedLabel("f1", str(i), human, said) for i, (human, said) in enumerate(pairs)]
    return {"tone": CheckCalibration(digest, tuple(labels))}


def job(head_check: CheckSpec, head, base_check: CheckSpec | None, base=None) -> Job:
    """A job; the base contract's evaluation is there if its judge is another."""
    own, evaluation = judged(head_check, calibrations=head)
    if base_check is None:
        return Job(own, None, (), (evaluation,), (), None, ())
    before, theirs = judged(base_check, calibrations=base)
    theirs = replace(theirs, contract_from="base")
    evaluations = (evaluation,) if base_check == head_check else (evaluation, theirs)
    return Job(own, before, (), evaluations, (), None, ())


def in_force(made: Job) -> list[bool]:
    return [bool(evaluation.calibrations) for evaluation in use_calibrations(made).evaluations]


def test_the_calibration_of_another_judge_does_not_count():
    assert in_force(job(TONE, graded(TONE), None)) == [True]
    assert in_force(job(TONE, graded(OTHER), None)) == [False]
    assert in_force(job(TONE, {}, TONE, graded(OTHER))) == [False]


def test_another_model_is_another_judge():
    made, evaluation = judged()
    other = with_judge(prepare(made), "tone", FakeJudge(("openai/other",)))
    ours, theirs = judge_identities(made, evaluation.evaluator), judge_identities(made, other)
    assert ours["tone"].digest != theirs["tone"].digest


def test_a_pull_request_cannot_calibrate_the_judge_of_the_base_branch():
    assert in_force(job(TONE, graded(TONE), TONE, {})) == [False]
    assert in_force(job(TONE, {}, TONE, graded(TONE))) == [True]


def test_a_new_judge_brings_its_calibration_and_the_old_one_grades_with_its_own():
    assert in_force(job(OTHER, graded(OTHER), TONE, graded(TONE))) == [True, True]
    # It is not a way to calibrate the old judge again.
    assert in_force(job(OTHER, graded(TONE), TONE, {})) == [False, False]


def test_an_uncalibrated_judge_is_noted_and_decides_nothing():
    (reason,) = uncalibrated_reasons(use_calibrations(job(TONE, {}, None)))
    assert (reason.code, reason.verdict) == ("uncalibrated", "pass")
    assert "`tone`" in reason.text
    assert uncalibrated_reasons(use_calibrations(job(TONE, graded(TONE), None))) == []


# Of (people pass, judge passes): how many outputs.
WORTHLESS = {
    "passes everything": {(True, True): 20, (False, True): 20},
    "fails everything": {(True, False): 20, (False, False): 20},
    "throws a coin": {(True, True): 10, (True, False): 10, (False, True): 10, (False, False): 10},
    "is upside down": {(True, False): 20, (False, True): 20},
    "passes nearly everything": {(True, True): 20, (False, True): 19, (False, False): 1},
    "is lost among good outputs": {(True, True): 50, (True, False): 50, (False, False): 1},
    "saw no bad output": {(True, True): 40},
    "saw no good output": {(False, False): 1},
}


def said_of(counts: dict[tuple[bool, bool], int]) -> dict[str, CheckCalibration]:
    found = graded(TONE)["tone"]
    pairs = [pair for pair, times in counts.items() for _ in range(times)]
    labels = tuple(GradedLabel("f1", str(i), *pair) for i, pair in enumerate(pairs))
    return {"tone": replace(found, labels=labels)}


@pytest.mark.parametrize("counts", WORTHLESS.values(), ids=WORTHLESS)
def test_a_judge_whose_labels_show_that_it_is_worthless_counts_as_not_calibrated(counts):
    made = use_calibrations(job(TONE, said_of(counts), None))
    (reason,) = uncalibrated_reasons(made)
    assert (reason.code, reason.verdict) == ("uncalibrated", "pass")
    assert "`tone` counts as not calibrated" in reason.text
    assert numbers.count(sum(counts.values()), "labelled output") in reason.text
    strict = replace(Policy(), judge=JudgePolicy(require_calibration=True))
    (problem,) = calibration_problems([made], strict)
    assert problem.what.partition(": ")[2] in reason.text
    # What rests on it stays unmeasured: it is not taken as judged.
    assert in_force(made) == [True]


@pytest.mark.parametrize(
    ("rules", "known", "refused"),
    [
        (JudgePolicy(), {}, False),
        (JudgePolicy(require_calibration=True), {}, True),
        (JudgePolicy(require_calibration=True), graded(TONE), False),
        (JudgePolicy(min_kappa=0.6), {}, False),
        (JudgePolicy(min_kappa=0.6), graded(TONE), False),
        (JudgePolicy(min_kappa=0.6), graded(TONE, 10, 9), True),
    ],
)
def test_the_policy_refuses_judges_before_any_call(rules, known, refused):
    made = use_calibrations(job(TONE, known, None))
    problems = calibration_problems([made], replace(Policy(), judge=rules))
    assert bool(problems) == refused
    assert all("tone" in (problem.field or "") for problem in problems)


def revision(**files: str) -> MemoryRevision:
    named = {".github/gatekeeper.yml": files.get("policy", "{}")}
    return MemoryRevision({path: text.encode() for path, text in named.items()})


def test_the_policy_is_read_and_its_weakening_is_named():
    strict = revision(policy="judge: {require_calibration: true, min_kappa: 0.6}")
    assert load_policy(strict).judge == JudgePolicy(True, 0.6)
    loose = revision(policy="judge: {min_kappa: 0.4}")
    keys = {weakening.key for weakening in policy_weakenings(Change(strict, loose))}
    assert keys == {"judge.require_calibration", "judge.min_kappa"}
    assert policy_weakenings(Change(loose, strict)) == ()


CONTRACT, LABELS = "c/words.yaml", "c/words.judge.json"


@pytest.mark.parametrize(
    ("before", "now", "weakened", "brought"),
    [
        ({CONTRACT: b"a", LABELS: b"1"}, {CONTRACT: b"a", LABELS: b"2"}, 1, 0),
        ({CONTRACT: b"a", LABELS: b"1"}, {CONTRACT: b"a"}, 1, 0),
        ({CONTRACT: b"a"}, {CONTRACT: b"a", LABELS: b"1"}, 1, 0),
        ({CONTRACT: b"a"}, {CONTRACT: b"a", "c/words.part.judge.json": b"1"}, 1, 0),
        ({}, {CONTRACT: b"a", LABELS: b"1"}, 0, 1),
        ({LABELS: b"1"}, {LABELS: b"1"}, 0, 0),
    ],
)
def test_calibrations_of_contracts_at_base_are_weakenings(before, now, weakened, brought):
    change = Change(MemoryRevision(before), MemoryRevision(now))
    assert len(calibration_weakenings(change)) == weakened
    assert len(brought_calibrations(change)) == brought


def test_a_changed_calibration_needs_a_waiver_if_the_policy_says_so():
    found = calibration_weakenings(Change(MemoryRevision({LABELS: b"1"}), MemoryRevision({})))
    strict = replace(Policy(), on_weakening="require_waiver")
    (reason,) = policy_reasons(found, strict)
    assert (reason.code, reason.verdict) == ("policy_weakened", "fail")
    assert LABELS in reason.text
    assert policy_reasons(found, Policy()) == []


def test_the_file_is_written_and_read_beside_the_contract():
    known = graded(TONE, 10, 2)
    path = calibration_path("contracts/a.b.yaml")
    assert path == "contracts/a.b.judge.json"
    text = calibration_text("words", known)
    assert read_calibration(MemoryRevision({path: text.encode()}), "contracts/a.b.yaml") == known
    assert read_calibration(MemoryRevision({}), "contracts/a.b.yaml") == {}


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        "no",
        "{}",
        '{"calibration": 2, "checks": {}}',
        '{"calibration": 1, "checks": {"a": {"judge": "x", "labels": [{"fixture": "f"}]}}}',
        '{"calibration": 1, "checks": {"a": {"judge": 1, "labels": []}}}',
        "[" * 100_000,
    ],
)
def test_a_damaged_file_is_named(text):
    with pytest.raises(ContractError) as error:
        read_calibration(MemoryRevision({"c.judge.json": text.encode()}), "c.yaml")
    assert "c.judge.json" in str(error.value)
