"""Judges asked about labelled outputs: what they said, how they agree, whether they drifted."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from support.fake_client import UNLIMITED, FakeClient
from support.judged_checks import FakeJudge, with_judge
from support.outcomes import contract

from gatekeeper.contract.policies.policy import Limits
from gatekeeper.contract.values.calibration_record import CheckCalibration, GradedLabel
from gatekeeper.contract.values.definition import CheckSpec, PromptStep
from gatekeeper.contract.values.trial import Completion, Request
from gatekeeper.errors import CallFailed, UsageError
from gatekeeper.gate.calibration import measure
from gatekeeper.gate.calibration.judge_agreement import find_judge_drift
from gatekeeper.gate.calibration.labels import SettledLabel
from gatekeeper.gate.calibration.measure import CalibrationPlan, grade_labels, plan_calibration
from gatekeeper.gate.plan.calibrations_in_force import judge_identities

LABELS = tuple(
    SettledLabel(f"f{i % 4}", f"{'good' if i % 3 else 'bad'} output {i}", i % 2 == 0)
    for i in range(12)
)


def plan(labels=LABELS, judge: FakeJudge | None = None, monkeypatch=None) -> CalibrationPlan:
    """The plan for a contract whose check `says ok` asks a judge."""
    made = contract("f0", "f1", "f2", "f3")
    prepare = measure.prepare
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(measure, "prepare", lambda c: with_judge(prepare(c), "says ok", judge))
        return plan_calibration(made, labels)


def obey(request: Request) -> Completion:
    """A judge that believes the first word of the output."""
    return Completion(request.messages[0].content.split()[3], cost_usd=0.001)


def graded(made: CalibrationPlan, client: FakeClient, limits: Limits = UNLIMITED):
    return asyncio.run(grade_labels(made, client, limits))


def test_a_judge_of_pairs_cannot_be_calibrated():
    prefer = CheckSpec("judge", "better", {"judge": "prefer", "model": "openai/gpt-4o"})
    with pytest.raises(UsageError, match="labels of single outputs do not say which of two"):
        plan_calibration(contract("f0", checks=(prefer,)), LABELS)


def test_a_judge_of_whole_conversations_cannot_be_calibrated():
    params = {"judge": "tone", "tone": "kind", "model": "openai/gpt-4o", "transcript": True}
    kind = CheckSpec("judge", "kind", params)
    every = CheckSpec("all_of", "every", {}, parts=(kind,))
    for spec in (kind, every):
        with pytest.raises(UsageError, match="grades whole conversations"):
            plan_calibration(contract("f0", checks=(spec,)), LABELS)


def test_figures_are_those_of_a_hand_count():
    made = plan()
    found = graded(made, client := FakeClient(obey))
    assert len(client.asked) == 12
    (judge,) = found.agreement.judges
    # Passed by the judge: i % 3 != 0. Passed by people: i even.
    assert (judge.confusion.true_pass, judge.confusion.false_fail) == (4, 2)
    assert (judge.confusion.false_pass, judge.confusion.true_fail) == (4, 2)
    calibration = found.calibrations["says ok"]
    assert calibration.judge == made.judges["says ok"].digest
    assert calibration.confusion == judge.confusion
    assert found.run.cost_usd == pytest.approx(0.012)
    assert found.ended is None


def test_the_model_under_test_is_never_called():
    client = FakeClient(obey)
    graded(plan(), client)
    assert all(text.startswith("Is this good?") for text in client.asked)


def test_judges_of_several_families_are_compared():
    def answer(request: Request) -> Completion:
        return obey(request) if request.model == "a/one" else Completion("good")

    judge = FakeJudge(("a/one", "b/two", "c/three"))
    found = graded(plan(judge=judge), FakeClient(answer))
    names = [judge.judge for judge in found.agreement.judges]
    assert names == ["says ok", "says ok: a/one", "says ok: b/two", "says ok: c/three"]
    assert found.agreement.judges[2].confusion.false_pass == 6
    assert ("says ok: a/one", "says ok: b/two") in found.agreement.between


def test_outputs_without_a_verdict_are_counted_apart():
    def answer(request: Request) -> Completion | CallFailed:
        last = request.messages[0].content.rsplit(" ", 1)[1]
        return Completion("who knows") if last == "3" else obey(request)

    (judge,) = graded(plan(), FakeClient(answer)).agreement.judges
    assert (judge.unanswered, judge.confusion.labels) == (1, 11)


def test_a_limit_ends_the_calibration():
    found = graded(plan(), FakeClient(obey), replace(UNLIMITED, calls=5))
    assert found.ended is not None


def test_a_label_of_another_fixture_is_counted_and_left_out():
    made = plan((*LABELS, SettledLabel("gone", "x", True)))
    assert (made.skipped, len(made.labelled)) == (1, 12)


@pytest.mark.parametrize(
    "labels",
    [
        (SettledLabel("gone", "x", True),),
        (SettledLabel("f0", "x", True, "no such check"),),
    ],
)
def test_labels_that_do_not_fit_are_refused(labels):
    with pytest.raises(UsageError):
        plan(labels)


def test_a_contract_without_a_judge_cannot_be_calibrated():
    with pytest.raises(UsageError):
        plan_calibration(contract("f0"), LABELS)


def test_a_contract_with_steps_cannot_be_calibrated():
    made = contract("f0")
    steps = (PromptStep("extract", made.target.prompt),)
    with pytest.raises(UsageError, match="steps"):
        plan_calibration(replace(made, target=replace(made.target, steps=steps)), LABELS)


def test_of_several_judges_a_label_names_one_and_only_that_is_asked():
    specs = (
        CheckSpec("contains", "tone", {"value": "a"}),
        CheckSpec("contains", "facts", {"value": "b"}),
    )
    made = contract("f0", checks=specs)
    prepare = measure.prepare
    with pytest.MonkeyPatch.context() as patch:
        both = {"tone": FakeJudge(("a/tone",)), "facts": FakeJudge(("b/facts",))}

        def judged(c):
            evaluator = prepare(c)
            for name, judge in both.items():
                evaluator = with_judge(evaluator, name, judge)
            return evaluator

        patch.setattr(measure, "prepare", judged)
        with pytest.raises(UsageError):
            plan_calibration(made, [SettledLabel("f0", "x", True)])
        planned = plan_calibration(made, [SettledLabel("f0", "good x", True, "tone")])
    asked: list[str] = []

    def answer(request: Request) -> Completion:
        asked.append(request.model)
        return Completion("good")

    found = graded(planned, FakeClient(answer))
    assert asked == ["a/tone"]
    assert set(found.calibrations) == {"tone"}
    assert set(judge_identities(made, planned.evaluator)) == {"tone", "facts"}


def grading(verdicts: list[bool]) -> CheckCalibration:
    labels = [GradedLabel("f", str(i), True, v) for i, v in enumerate(verdicts)]
    return CheckCalibration("digest", tuple(labels))


def test_a_judge_that_passes_everything_is_drifted_although_it_agrees_nearly_as_often():
    people = [True] * 24 + [False] * 12
    said = [False] * 6 + [True] * 18 + [False] * 10 + [True] * 2
    stored, now = (
        CheckCalibration(
            "digest",
            tuple(
                GradedLabel("f", str(i), human, verdict)
                for i, (human, verdict) in enumerate(zip(people, verdicts, strict=True))
            ),
        )
        for verdicts in (said, [True] * 36)
    )
    found = find_judge_drift("tone", stored, now)
    assert (found.lost, found.gained, found.to_pass) == (10, 6, 16)
    assert found.drifted


def test_a_judge_that_forgets_is_drifted_and_chance_is_not():
    before = grading([True] * 40)
    worse = find_judge_drift("tone", before, grading([False] * 8 + [True] * 32))
    assert worse.drifted
    assert (worse.lost, worse.gained, worse.agreed_before, worse.agrees_now) == (8, 0, 40, 32)
    assert (worse.to_pass, worse.p_value) == (0, 2 * 0.5**8)
    assert not find_judge_drift("tone", before, grading([False] * 3 + [True] * 37)).drifted
    better = find_judge_drift("tone", grading([False] * 40), grading([True] * 40))
    assert not better.drifted
    assert not find_judge_drift("tone", before, grading([])).drifted
