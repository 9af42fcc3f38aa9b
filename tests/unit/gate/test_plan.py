"""Which comparisons of a run share a level."""

from __future__ import annotations

from dataclasses import replace

from support.random_comparisons import evaluation

from gatekeeper.contract.values.definition import GatePolicy, SamplingPolicy
from gatekeeper.gate.plan.alpha import levels
from gatekeeper.gate.plan.plan import Job

SUITE = 0.05 * 0.98
"""What broken fixtures leave of alpha for the comparison of the suite."""


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
        ("old", "head"): SUITE / 3,
        ("older", "head"): SUITE / 3,
        ("changed", "base"): SUITE / 3,
        ("changed", "head"): SUITE / 2,
        ("new", "head"): SUITE / 2,
    }


def test_what_is_not_compared_takes_no_share():
    assert levels([job("old", True), job("alone", True, compared=False)]) == {
        ("old", "head"): SUITE
    }


def test_each_has_its_own_alpha():
    assert levels([job("a", True, alpha=0.1), job("b", True, alpha=0.02)]) == {
        ("a", "head"): 0.1 * 0.98 / 2,
        ("b", "head"): 0.02 * 0.98 / 2,
    }
