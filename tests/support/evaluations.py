"""Evaluations and their evidence, whole, without trials or checks."""

from __future__ import annotations

from support.outcomes import contract, target

from gatekeeper.checks.evaluate import Evaluator
from gatekeeper.contract.values.definition import Contract, Target
from gatekeeper.gate.measuring.summarise import Evidence
from gatekeeper.gate.plan.plan import Evaluation
from gatekeeper.gate.results.result import ArmResult


def evaluation_of(made: Contract, base: Target | None = None, **fields) -> Evaluation:
    """An evaluation by a contract, of head alone unless there is a `base`."""
    defaults = {
        "contract_from": "head",
        "contract": made,
        "base": base,
        "head": made.target,
        "trials": (),
        "unpaired": (),
        "unanswerable": (),
        "same_input": {},
        "evaluator": Evaluator({}),
    }
    return Evaluation(**(defaults | fields))


def evidence_of(made: Contract | None = None, **fields) -> Evidence:
    """Evidence of a contract whose fixtures nobody has evaluated."""
    defaults = {
        "contract": made or contract("f1"),
        "base": None,
        "head": arm(0, 0),
        "pairs": None,
        "slo": (),
        "fixtures": (),
    }
    return Evidence(**(defaults | fields))


def arm(passed: int, settled: int) -> ArmResult:
    """An arm of which so many of the settled fixtures passed."""
    prompt = target().prompt
    counts = (passed, settled, 0, passed, settled)
    return ArmResult("m", prompt.path, prompt.text, *counts, None, None, None, None)
