"""Which comparisons of a run share a level."""

from __future__ import annotations

from dataclasses import replace

from support.random_comparisons import evaluation

from gatekeeper.contract.definition import GatePolicy, SamplingPolicy
from gatekeeper.gate.families import levels
from gatekeeper.gate.plan import Job


def job(name: str, *trusted: bool, alpha: float = 0.05, compared: bool = True) -> Job:
    """A job whose evaluations have the base's rules or not, head's first."""
    made = evaluation(["a"], SamplingPolicy())
    own = replace(made.contract, name=name, gate=GatePolicy(alpha=alpha))
    evaluations = tuple(
        replace(
            made,
            contract_from="head" if number == 0 else "base",
            contract=own,
            trusted=is_trusted,
            base=made.base if compared else None,
        )
        for number, is_trusted in enumerate(trusted)
    )
    return Job(own, None, (), evaluations, (), None, ())


def test_the_bases_contracts_share_a_level_apart_from_what_head_changed():
    jobs = [job("old", True), job("older", True), job("changed", False, True), job("new", False)]

    assert levels(jobs) == {
        ("old", "head"): 0.05 / 3,
        ("older", "head"): 0.05 / 3,
        ("changed", "base"): 0.05 / 3,
        ("changed", "head"): 0.05 / 2,
        ("new", "head"): 0.05 / 2,
    }


def test_what_is_not_compared_takes_no_share():
    assert levels([job("old", True), job("alone", True, compared=False)]) == {("old", "head"): 0.05}


def test_each_has_its_own_alpha():
    assert levels([job("a", True, alpha=0.1), job("b", True, alpha=0.02)]) == {
        ("a", "head"): 0.05,
        ("b", "head"): 0.01,
    }
