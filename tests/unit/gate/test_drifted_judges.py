"""A judge that drifted is no fault of the prompt."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.outcomes import contract, outcome

from gatekeeper.contract.values.objectives import read_objectives
from gatekeeper.contract.values.trial import CheckResult, Vote
from gatekeeper.gate.objectives.judge_correction import describe_drift, drifted_reasons, leave_open
from gatekeeper.gate.results.parts import AnchorResult
from gatekeeper.gate.results.result import Reason, SloResult

CHECK = "says ok"
DRIFTED = AnchorResult(CHECK, ("openai/j",), "c", 30, 28, 14, 14, 0, 0.0001)
STEADY = replace(DRIFTED, agrees_now=28, lost=0, p_value=1.0)


def graded():
    result = CheckResult(CHECK, False, "no", votes=(Vote("openai/j", False),))
    return [replace(outcome("f", "head", 0, False), check_results=(result,))]


def test_an_objective_that_rests_on_the_judge_is_left_open_and_latency_is_not():
    made = contract("f", slo=read_objectives({"success_rate": 0.9, "latency_p95_ms": 10}))
    results = tuple(SloResult(o.name, o.target, 0.0, None, False) for o in made.slo)
    found = leave_open(made, results, graded(), [DRIFTED])
    assert {r.objective: (r.met, r.outdated) for r in found} == {
        "success_rate": (None, True),
        "latency_p95_ms": (False, False),
    }
    assert leave_open(made, results, graded(), [STEADY]) == results


@pytest.mark.parametrize(
    ("code", "after"),
    [("tolerance", "inconclusive"), ("nothing_passes", "inconclusive"), ("weakened", "fail")],
)
def test_what_the_judges_verdicts_decide_no_longer_fails(code, after):
    reasons = [Reason(code, "It failed.", "fail")]
    first, second = drifted_reasons(reasons, (), contract("f"), [DRIFTED])
    assert first.code == "judge_drifted"
    assert second.verdict == after
    assert first.verdict == ("inconclusive" if after == "inconclusive" else "pass")
    assert drifted_reasons(reasons, (), contract("f"), [STEADY]) == reasons


def test_a_judge_that_only_warns_excuses_nothing():
    reasons = [Reason("nothing_passes", "It failed.", "fail")]
    other = replace(DRIFTED, check="another")
    note, kept = drifted_reasons(reasons, (), contract("f"), [other])
    assert (note.verdict, kept.verdict) == ("pass", "fail")


def test_the_note_names_each_judge_and_one_p_value():
    one, two = (
        describe_drift(replace(DRIFTED, judges=names, p_value=p))
        for names, p in ((("openai/j",), 0.0013), (("openai/j", "openai/k"), 0.00001))
    )
    assert one.startswith("The judge openai/j of `says ok` drifted: it agrees ")
    assert two.startswith("The judges openai/j and openai/k of `says ok` drifted: they agree ")
    assert "(p = 0.0013)" in one
    assert "(p < 0.0001)" in two
