"""Fixtures and checks with `must_pass`: what is broken, what can be chance, what is not known."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.outcomes import contract, outcome

from gatekeeper.contract.values.definition import CheckSpec, Contract, Fixture, SamplingPolicy
from gatekeeper.contract.values.trial import Arm, CheckResult, Outcome
from gatekeeper.gate.comparison.must_pass import must_pass_results
from gatekeeper.gate.decision.fixture_reasons import must_pass_reasons
from gatekeeper.gate.plan.alpha import alpha_shares, comparison_alpha
from gatekeeper.gate.results.parts import (
    BrokenFixtures,
    Confirmation,
    ConfirmedChange,
    Tally,
    Unit,
)


def promised(*must: str, samples: int = 10) -> Contract:
    fixtures = tuple(Fixture(name, {"n": name}, must_pass=name in must) for name in "abcd")
    return replace(contract(), fixtures=fixtures, sampling=SamplingPolicy(samples=samples))


def drawn(fixture: str, arm: Arm, passed: int, failed: int, lost: int = 0) -> list[Outcome]:
    flags = [True] * passed + [False] * failed + [None] * lost
    return [outcome(fixture, arm, repetition, flag) for repetition, flag in enumerate(flags)]


def again(found: ConfirmedChange) -> BrokenFixtures:
    """What fresh samples show of `a`."""
    return BrokenFixtures({Unit("a"): Confirmation(Tally(6, 6), Tally(0, 6), found)}, 0.005)


def found(
    base: tuple[int, ...] | None, head: tuple[int, ...], broken: BrokenFixtures | None = None
) -> str:
    outcomes = [*(drawn("a", "base", *base) if base else []), *drawn("a", "head", *head)]
    [result] = must_pass_results(promised("a"), outcomes, broken, complete=True)
    return result.found


CASES = {
    "kept": ((10, 0), (10, 0), None, "kept"),
    "broke again": ((10, 0), (0, 10), "broke", "broke"),
    "broke once by chance": ((10, 0), (9, 1), "kept", "open"),
    "every time, and then no more": ((1, 0), (0, 1), "kept", "open"),
    "fresh samples are lost": ((10, 0), (0, 10), "unknown", "unknown"),
    # The change did not break it, and holding it up would not mend it.
    "failed before as well": ((0, 10), (0, 10), None, "open"),
    "better than before": ((2, 8), (9, 1), None, "open"),
    "all lost": ((10, 0), (0, 0, 10), None, "unknown"),
    "fails every time, without a base": (None, (0, 10), None, "broke"),
    "once, without a base": (None, (9, 1), None, "open"),
    "all lost, without a base": (None, (0, 0, 10), None, "unknown"),
    "none passed, one lost, without a base": (None, (0, 9, 1), None, "unknown"),
}


@pytest.mark.parametrize(("base", "head", "fresh", "wanted"), CASES.values(), ids=CASES)
def test_what_becomes_of_a_fixture_that_must_pass(base, head, fresh, wanted) -> None:
    assert found(base, head, again(fresh) if fresh else None) == wanted


def test_only_what_must_pass_is_asked() -> None:
    outcomes = drawn("b", "base", 10, 0) + drawn("b", "head", 0, 10)
    assert must_pass_results(promised("a"), outcomes, None, complete=False) == ()


def test_a_check_that_must_pass_is_asked_of_every_fixture() -> None:
    specs = (CheckSpec("regex", "safe", {}, must_pass=True), CheckSpec("regex", "short", {}))
    evaluated = replace(promised(samples=1), checks=specs)
    outcomes = [
        replace(
            outcome(name, "head", 0, True),
            check_results=(CheckResult("safe", name != "c"), CheckResult("short", False)),
        )
        for name in "abcd"
    ]
    results = must_pass_results(evaluated, outcomes, None, complete=True)
    assert [(r.fixture, r.check, r.found) for r in results] == [
        ("a", "safe", "kept"),
        ("b", "safe", "kept"),
        ("c", "safe", "broke"),
        ("d", "safe", "kept"),
    ]
    [reason] = must_pass_reasons(results)
    assert (reason.code, reason.verdict) == ("must_pass", "fail")
    assert "safe" in reason.text
    assert "`c` (0/1)" in reason.text


def test_it_shares_the_level_of_broken_fixtures() -> None:
    inputs = replace(promised().gate, claim="inputs")
    alpha = inputs.alpha
    assert comparison_alpha(replace(promised(), gate=inputs)) == alpha
    assert comparison_alpha(replace(promised("a"), gate=inputs)) == pytest.approx(alpha * 0.98)
    assert alpha_shares(promised("a")) == alpha_shares(promised())


def test_a_contract_of_fixtures_alone_is_no_less_strict_with_them() -> None:
    fixtures = replace(promised(), gate=replace(promised().gate, claim="fixtures"))
    assert alpha_shares(fixtures) == alpha_shares(promised())


def test_what_fresh_samples_showed_is_named() -> None:
    outcomes = [*drawn("a", "base", 2, 0), *drawn("a", "head", 0, 2)]
    results = must_pass_results(promised("a", samples=2), outcomes, again("broke"), complete=True)
    [reason] = must_pass_reasons(results)
    assert reason.verdict == "fail"
    assert "`a` (2/2 → 0/2), again 6/6 → 0/6: broke" in reason.text


def test_what_fails_on_base_too_is_named_and_holds_up_nothing() -> None:
    outcomes = [*drawn("a", "base", 0, 10), *drawn("a", "head", 0, 10)]
    results = must_pass_results(promised("a"), outcomes, None, complete=True)
    [reason] = must_pass_reasons(results)
    assert (reason.verdict, reason.text) == (
        "pass",
        "Fixtures or checks with `must_pass: true` fail on head, but also fail on base: "
        "`a` (0/10 → 0/10).",
    )
