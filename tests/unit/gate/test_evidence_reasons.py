"""What one contract says of one set of outcomes, and which models a plan may ask."""

from __future__ import annotations

import pytest
from support.evaluations import arm, evaluation_of, evidence_of
from support.outcomes import contract

from gatekeeper.contract.policies.policy import Policy
from gatekeeper.contract.values.change import Change, MemoryRevision
from gatekeeper.contract.values.definition import GatePolicy
from gatekeeper.gate.decision.reasons import EvaluationSummary, evidence_reasons
from gatekeeper.gate.results.parts import (
    FixtureResult,
    MustPassFinding,
    MustPassResult,
    Tally,
)
from gatekeeper.gate.results.result import SloResult
from gatekeeper.gate.work import plan_check
from gatekeeper.stats.interval import ConfidenceInterval

FOUND: tuple[MustPassFinding, ...] = ("broke", "unknown", "open")
MUST_PASS = tuple(MustPassResult(f, None, Tally(3, 3), Tally(1, 3), f) for f in FOUND)
MET = SloResult("success_rate", 0.5, 1.0, ConfidenceInterval(0.6, 1.0), True)


def summary(settled: bool, gate: GatePolicy, slo: tuple[SloResult, ...] = ()) -> EvaluationSummary:
    """A contract without a base version, whose only fixture passes."""
    made = contract("a", gate=gate)
    passes = FixtureResult("a", None, None, Tally(1, 1), None, True, None)
    evidence = evidence_of(made, head=arm(1, 1), slo=slo, fixtures=(passes,), must_pass=MUST_PASS)
    return EvaluationSummary(evaluation_of(made), evidence, None, None, settled)


@pytest.mark.parametrize(
    ("settled", "verdicts"), [(True, ["fail", "error", "pass"]), (False, ["fail"])]
)
def test_of_an_unfinished_run_only_what_fails_is_told(settled: bool, verdicts: list[str]) -> None:
    found = evidence_reasons(summary(settled, GatePolicy()))
    assert [reason.verdict for reason in found if reason.code == "must_pass"] == verdicts


@pytest.mark.parametrize(
    ("gate", "slo", "unseen"),
    [
        (GatePolicy(), (), True),
        (GatePolicy(tolerance=0.5), (), False),
        (GatePolicy(), (MET,), False),
        (GatePolicy(tolerance=0.5), (MET,), False),
    ],
)
def test_with_no_base_and_no_objective_there_is_nothing_to_evaluate(
    gate: GatePolicy, slo: tuple[SloResult, ...], unseen: bool
) -> None:
    found = evidence_reasons(summary(True, gate, slo))
    assert ("unseen" in [reason.code for reason in found]) == unseen


CONTRACT = b"""\
contract: 1
name: words
prompt: ../prompts/words.md
model: openai/small
checks: [{type: contains, value: ok}]
fixtures: [{id: a, vars: {word: red}}]
"""


@pytest.mark.parametrize(("models", "refused"), [("openai/*", False), ("anthropic/*", True)])
def test_a_hosted_model_that_the_policy_does_not_name_is_refused(
    models: str, refused: bool
) -> None:
    base, head = (
        MemoryRevision({"contracts/words.yaml": CONTRACT, "prompts/words.md": prompt})
        for prompt in (b"Say {{ word }}.", b"Tell {{ word }}.")
    )
    problems = plan_check(Change(base, head), Policy(models=(models,))).model_problems
    assert bool(problems) == refused
    assert {problem.path for problem in problems} <= {"contracts/words.yaml"}
