"""Results of runs that stopped as soon as the result was certain."""

from __future__ import annotations

from dataclasses import replace

from support import results as examples
from support.results import (
    HEAD_PROMPT,
    arm,
    failing_contract,
    fixture,
    paired,
    passing_contract,
    result,
)

from gatekeeper.gate.results.result import (
    Calls,
    ContractResult,
    Difference,
    PairedResult,
    Reason,
    SloResult,
)
from gatekeeper.stats.interval import ConfidenceInterval


def early_contract(name: str = "speech-tag") -> ContractResult:
    """Broken so plainly that the result was certain after 9 of 100 fixtures."""
    drawn = [fixture(n, "broke") for n in range(9)]
    never = [
        replace(
            fixture(n, "same"),
            base=None,
            head=None,
            base_passed=None,
            head_passed=None,
            change=None,
        )
        for n in range(9, 100)
    ]
    counts = "9 of 100 fixtures broke, 0 fixed, 91 not sampled to the end"
    sure = "(p = 0.0020, sequential McNemar test)"
    return replace(
        failing_contract(name),
        reasons=(Reason("regression", f"Worse than base: {counts} {sure}.", "fail"),),
        base=arm(9, 9, samples=9),
        head=arm(
            0,
            9,
            prompt=HEAD_PROMPT,
            samples=9,
            interval=ConfidenceInterval(0.0, 0.217),
            intervals={
                "wilson": ConfidenceInterval(0.0, 0.299),
                "jeffreys": ConfidenceInterval(0.0, 0.217),
            },
            latency_interval=ConfidenceInterval(640.0, 1210.5),
            cost_interval=ConfidenceInterval(0.00002, 0.000023),
        ),
        paired=regressed_after_nine(),
        slo=(SloResult("success_rate", 0.95, 0.0, ConfidenceInterval(0.0, 0.217), None),),
        fixtures=tuple(drawn + never),
    )


def regressed_after_nine() -> PairedResult:
    """All of the first 9 of 100 fixtures broke, and sampling stopped."""
    return paired(
        100,
        9,
        0,
        0.002,
        unknown=91,
        difference=-1.0,
        interval=ConfidenceInterval(-1.0, -0.55),
        stopped="regressed",
        rounds=0,
        adjusted_p_value=0.004,
        intervals={
            "newcombe": ConfidenceInterval(-1.0, -0.55),
            "bootstrap_fixtures": ConfidenceInterval(-1.0, float("nan")),
        },
        alternative_methods={
            "mcnemar_exact": 0.002,
            "mcnemar_exact_two_sided": 0.0039,
            "mcnemar_chi_square_two_sided": 0.0077,
            "mcnemar_chi_square_uncorrected_two_sided": 0.0027,
        },
        latency_difference_ms=Difference(310.4, ConfidenceInterval(120.0, 505.0)),
        cost_difference_usd=Difference(0.000004, None),
    )


def not_worse_contract(name: str = "order-id") -> ContractResult:
    """Stopped after two of its ten samples a fixture: nothing larger than the margin is there."""
    text = "Not worse than base by 5 points or more: 1 of 200 fixtures broke, 2 fixed (p = 0.88)."
    return replace(
        passing_contract(name, 200),
        reasons=(Reason("not_worse", text, "pass"),),
        base=replace(arm(196, 200, samples=400), passed=392),
        head=replace(arm(197, 200, samples=400), passed=394),
        paired=paired(
            200,
            1,
            2,
            0.875,
            method="sequential sign-flip test",
            sequential=True,
            minimum_detectable_effect=0.034,
            stopped="not_worse",
            rounds=2,
            planned_rounds=10,
            interval=ConfidenceInterval(-0.012, 0.022),
            alternative_methods={"mcnemar_exact": 0.875},
        ),
    )


EARLY = result(early_contract(), calls=Calls(made=18, saved=182, surplus=3))
NOT_WORSE = result(not_worse_contract(), calls=Calls(made=800, saved=3200))
EVERY = {**examples.EVERY, "early": EARLY, "not worse": NOT_WORSE}
