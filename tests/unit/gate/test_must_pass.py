"""Fixtures and checks with `must_pass`: what is broken, what can be chance, what is not known."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from math import comb

import pytest
from support.outcomes import contract, outcome

from gatekeeper.contract.definition import CheckSpec, Contract, Fixture, SamplingPolicy
from gatekeeper.contract.trial import Arm, CheckResult, Outcome
from gatekeeper.gate.alpha import MUST_PASS, comparison_alpha
from gatekeeper.gate.fixture_reasons import must_pass_reasons
from gatekeeper.gate.must_pass import must_pass_results


def promised(*must: str, samples: int = 10) -> Contract:
    fixtures = tuple(Fixture(name, {"n": name}, must_pass=name in must) for name in "abcd")
    return replace(contract(), fixtures=fixtures, sampling=SamplingPolicy(samples=samples))


def drawn(fixture: str, arm: Arm, passed: int, failed: int, lost: int = 0) -> list[Outcome]:
    flags = [True] * passed + [False] * failed + [None] * lost
    return [outcome(fixture, arm, repetition, flag) for repetition, flag in enumerate(flags)]


def found(
    base: tuple[int, ...] | None, head: tuple[int, ...], level: float | None = 0.04
) -> tuple[str, float | None]:
    outcomes = [*(drawn("a", "base", *base) if base else []), *drawn("a", "head", *head)]
    [result] = must_pass_results(promised("a"), outcomes, level, complete=True)
    return result.found, result.p_value


CASES = {
    "kept": ((10, 0), (10, 0), "kept"),
    "fails every time": ((10, 0), (0, 10), "broke"),
    # The change did not break it, and holding it up would not mend it: named, as with a base alone.
    "failed before as well": ((0, 10), (0, 10), "open"),
    "failed before as well, one lost on head": ((0, 10), (0, 9, 1), "open"),
    "failed before as well, one lost on base": ((0, 9, 1), (0, 10), "unknown"),
    "base was lost, fails every time": ((0, 0, 10), (0, 10), "broke"),
    "fails every time, without a base": (None, (0, 10), "broke"),
    "surely more often": ((10, 0), (3, 7), "broke"),
    "once, by chance or not": ((10, 0), (9, 1), "open"),
    "once, without a base": (None, (9, 1), "open"),
    "better than before": ((2, 8), (9, 1), "open"),
    "lost, and none left to fail": ((10, 0), (10, 0, 0), "kept"),
    "one lost that decides nothing": ((10, 0), (2, 7, 1), "broke"),
    "one lost that could decide": ((10, 0), (4, 5, 1), "unknown"),
    "all lost": ((10, 0), (0, 0, 10), "unknown"),
    "all lost, without a base": (None, (0, 0, 10), "unknown"),
    "none passed, one lost, without a base": (None, (0, 9, 1), "unknown"),
    "base was lost": ((0, 0, 10), (9, 1), "open"),
    "base was lost and could decide": ((0, 0, 10), (4, 6), "unknown"),
}


@pytest.mark.parametrize(("base", "head", "wanted"), CASES.values(), ids=CASES)
def test_what_becomes_of_a_fixture_that_must_pass(base, head, wanted) -> None:
    assert found(base, head)[0] == wanted


def test_only_what_must_pass_is_asked() -> None:
    outcomes = drawn("b", "base", 10, 0) + drawn("b", "head", 0, 10)
    [result] = must_pass_results(promised("a"), outcomes, 0.04, complete=False) or [None]
    assert result is None


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


def test_alpha_is_shared_only_if_there_is_something_to_test() -> None:
    alpha = promised().gate.alpha
    assert comparison_alpha(promised()) == alpha
    assert comparison_alpha(promised("a", samples=1)) == alpha
    assert comparison_alpha(promised("a")) == pytest.approx(alpha * (1 - MUST_PASS))


@pytest.mark.parametrize("rate", [0.3, 0.5, 0.9])
@pytest.mark.parametrize("units", [1, 2])
def test_the_test_holds_its_share_of_alpha(rate: float, units: int) -> None:
    """Enumerated: equal rates, three samples an arm; what fails every time is no matter of it."""
    n, level = 3, 4 * 0.25  # so large a level that three samples can reach it: 0.25 of its own
    names = "ab"[:units]
    evaluated = promised(*names, samples=n)
    false = 0.0
    for tallies in product(range(n + 1), repeat=2 * units):
        chance = 1.0
        outcomes: list[Outcome] = []
        for name, base, head in zip(names, tallies[::2], tallies[1::2], strict=True):
            for arm, k in (("base", base), ("head", head)):
                chance *= comb(n, k) * rate**k * (1 - rate) ** (n - k)
                outcomes += drawn(name, arm, k, n - k)
        results = must_pass_results(evaluated, outcomes, level, complete=True)
        tested = [r for r in results if r.head.passed]
        false += chance * any(r.found == "broke" for r in tested)
    assert false <= level * MUST_PASS / (1 - MUST_PASS)


def test_what_fails_on_base_too_is_named_and_holds_up_nothing() -> None:
    outcomes = [*drawn("a", "base", 0, 10), *drawn("a", "head", 0, 10)]
    results = must_pass_results(promised("a"), outcomes, 0.04, complete=True)
    [reason] = must_pass_reasons(results)
    assert (reason.verdict, reason.text) == (
        "pass",
        "Fixtures or checks with `must_pass: true` fail on head, but also fail on base: "
        "`a` (0/10 → 0/10).",
    )
