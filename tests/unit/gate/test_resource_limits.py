"""Limits on what a call takes: exceeded only beyond chance, and never by what was not measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest
from support.outcomes import contract, outcome
from support.plain_spaces import spaced

from gatekeeper import numbers
from gatekeeper.contract.values.definition import Contract, GatePolicy
from gatekeeper.contract.values.objectives import read_limits
from gatekeeper.contract.values.trial import Outcome
from gatekeeper.gate.comparison.resource_limits import fewest_inputs, limit_reasons, limit_results
from gatekeeper.gate.results.parts import LimitResult

LEVEL = 0.044


def limited(**limits: str) -> Contract:
    return replace(contract(), gate=GatePolicy(limits=read_limits(limits)))


def drawn(
    factor: float,
    inputs: int = 40,
    *,
    lost: int = 0,
    unknown: int = 0,
    scatter: float = 0.1,
    copies: int = 1,
) -> list[Outcome]:
    """Calls whose cost and latency on head are `factor` times those on base, but for chance; the
    last ones of head have no answer, or no price."""
    rng = np.random.default_rng(3)
    found = []
    for number in range(inputs):
        level = float(rng.lognormal(0, 0.3))
        for copy in range(copies):
            for arm, times in (("base", 1.0), ("head", factor)):
                amount = level * times * float(rng.lognormal(0, scatter))
                gone = arm == "head" and number >= inputs - lost
                price = None if arm == "head" and number < unknown else amount
                found.append(
                    outcome(
                        f"f{number}-{copy}",
                        arm,
                        0,
                        None if gone else True,
                        cost=price,
                        latency=1000 * amount,
                    )
                )
    return found


def found(
    outcomes: list[Outcome],
    name: str = "cost",
    limit: str = "+20%",
    same_input: Mapping[str, str] | None = None,
    *,
    complete: bool = True,
) -> LimitResult:
    [result] = limit_results(
        limited(**{name: limit}), outcomes, LEVEL, same_input or {}, complete=complete
    )
    return result


@pytest.mark.parametrize("name", ["cost", "latency_p50", "latency_p95"])
@pytest.mark.parametrize(
    ("factor", "wanted"), [(4.3, "exceeded"), (1.1, "kept"), (0.5, "kept"), (1.0, "kept")]
)
def test_what_is_found(name: str, factor: float, wanted: str) -> None:
    result = found(drawn(factor), name)
    assert result.found == wanted
    assert result.relative == pytest.approx(factor - 1, rel=0.25, abs=0.15)
    if wanted == "exceeded":
        assert result.low is not None
        assert result.p_value is not None
        assert result.low > 0.2
        assert result.p_value <= result.level
        assert [(r.code, r.verdict) for r in limit_reasons([result])] == [
            ("resource_limit", "fail")
        ]
    else:
        assert limit_reasons([result]) == []


def test_what_can_be_chance_is_shown_and_does_not_fail() -> None:
    result = found(drawn(1.45, scatter=0.6))
    assert result.relative is not None
    assert result.relative > 0.2
    assert result.found == "open"
    [reason] = limit_reasons([result])
    assert (reason.code, reason.verdict) == ("resource_limit", "inconclusive")


@pytest.mark.parametrize(("name", "inputs"), [("cost", 37), ("latency_p50", 40)])
def test_inputs_count_if_both_arms_say_something_of_them(name: str, inputs: int) -> None:
    """A call without an answer was slow or quick, and so says something of a quantile."""
    assert found(drawn(1.0, lost=3), name).inputs == inputs


@pytest.mark.parametrize("name", ["cost", "latency_p95"])
def test_too_few_inputs_never_exceed_a_limit(name: str) -> None:
    needed = fewest_inputs(limited(**{name: "+20%"}).gate.limits[0])
    assert found(drawn(5, needed), name).found == "exceeded"
    few = found(drawn(5, needed - 1), name)
    assert few.found == "open"
    assert str(needed) in limit_reasons([few])[0].text


def test_copies_of_an_input_are_one() -> None:
    outcomes = drawn(5, 10, copies=3)
    same = {f"f{i}-{copy}": f"f{i}-0" for i in range(10) for copy in (1, 2)}
    assert found(outcomes).found == "exceeded"
    result = found(outcomes, same_input=same)
    assert (result.inputs, result.found) == (10, "open")


def test_a_price_that_is_not_known_of_every_call_is_no_price() -> None:
    result = found(drawn(1.0, unknown=1))
    assert (result.found, result.head) == ("unmeasured", None)
    assert limit_reasons([result])[0].verdict == "inconclusive"


def test_lost_calls_that_could_have_been_slow_decide_nothing_by_themselves() -> None:
    assert found(drawn(1.0, lost=1), "latency_p50").found == "kept"
    assert found(drawn(1.0, lost=20), "latency_p95").found == "unknown"
    assert limit_reasons([found(drawn(1.0, lost=20), "latency_p95")])[0].verdict == "error"
    # Quick or slow, the lost ones change nothing.
    assert found(drawn(5.0, lost=1), "latency_p50").found == "exceeded"


def test_what_the_suite_cut_short_is_not_checked() -> None:
    result = found(drawn(5), complete=False)
    assert result.found == "kept"
    assert limit_reasons([result]) == []


def test_limits_share_a_part_of_alpha_and_nothing_is_asked_without_a_comparison() -> None:
    one, two = limited(cost="+20%"), limited(cost="+20%", latency_p50="+5%")
    alone = limit_results(one, drawn(1), LEVEL, {}, complete=True)
    both = limit_results(two, drawn(1), LEVEL, {}, complete=True)
    assert alone[0].level == pytest.approx(0.005)
    assert [result.level for result in both] == pytest.approx([0.0025, 0.0025])
    assert limit_results(one, drawn(1), None, {}, complete=True) == ()
    assert limit_results(contract(), drawn(1), LEVEL, {}, complete=True) == ()


def test_a_base_that_costs_nothing_is_exceeded_by_any_price() -> None:
    outcomes = [o for o in drawn(1.0) if o.sample.trial.arm == "head"]
    free = [outcome(f"f{i}-0", "base", 0, True, cost=0.0) for i in range(40)]
    result = found([*outcomes, *free])
    assert (result.found, result.low, result.relative) == ("exceeded", None, None)
    assert "from nothing" in limit_reasons([result])[0].text


@pytest.mark.parametrize(
    ("head", "rise"),
    [(0.203801, "20,280 %"), (0.001235, "23.5 %"), (0.0010001, "< 0.1 %")],
)
def test_sentences_and_tables_write_a_rise_alike(head: float, rise: str) -> None:
    result = LimitResult("cost", 0.0, 0.001, head, 202.9, 0.001, LEVEL, 40, 20, "exceeded")
    text = spaced(limit_reasons([result])[0].text)
    assert f"rose by {rise} (at least 20,290 %)" in text
    assert "e+" not in text
    if rise != "< 0.1 %":
        assert spaced(numbers.change(result.relative)) == f"+{rise}"


@pytest.mark.parametrize(
    ("low", "said"), [(2.333, "rose by 233.3 %, signif"), (2.0, "(at least 200 %), signif")]
)
def test_the_lower_end_is_told_unless_it_repeats_the_rise(low: float, said: str) -> None:
    result = LimitResult("cost", 0.2, 1.0, 3.333, low, 0.001, LEVEL, 40, 6, "exceeded")
    (reason,) = limit_reasons([result])
    assert said in spaced(reason.text)


def dear_and_alike(inputs: int, times: float, base: float = 0.2, head: float = 0.01):
    """Calls of base that scatter, and of head that take `times` as much, nearly all the same."""
    rng = np.random.default_rng(5)
    return [
        outcome(f"f{number}", arm, 0, True, cost=factor * float(rng.lognormal(0, scatter)))
        for number in range(inputs)
        for arm, factor, scatter in (("base", 1.0, base), ("head", times, head))
    ]


class TestAHeadThatIsMoreRegular:
    """A few dear calls that base happened not to have look like a rise of head."""

    def test_it_is_open_with_the_reason(self) -> None:
        result = found(dear_and_alike(20, 1.74))
        assert (result.found, result.uneven) == ("open", True)
        [reason] = limit_reasons([result])
        assert reason.verdict == "inconclusive"
        assert "vary more than twice as much as head's" in reason.text
        assert "100 inputs decide it" in reason.text

    def test_a_hundred_inputs_decide_it(self) -> None:
        assert found(dear_and_alike(100, 1.74)).found == "exceeded"

    def test_a_rise_far_beyond_what_scatters_is_exceeded(self) -> None:
        """Such as answers that now all end at the limit of their tokens."""
        assert found(dear_and_alike(20, 6.0)).found == "exceeded"

    def test_arms_that_scatter_alike_are_compared(self) -> None:
        assert found(dear_and_alike(20, 1.74, 0.2, 0.15)).found == "exceeded"
        assert found(dear_and_alike(20, 1.74, 0.0, 0.0)).found == "exceeded"

    def test_within_the_limit_nothing_is_said(self) -> None:
        assert found(dear_and_alike(20, 1.1)).found == "kept"
