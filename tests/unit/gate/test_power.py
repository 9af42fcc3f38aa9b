"""What a contract could see, and the advice where that is not what it asks for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.evaluations import evaluation_of
from support.outcomes import contract
from support.plain_spaces import spaced

from gatekeeper.contract.policies.policy import Policy
from gatekeeper.contract.values.change import MemoryRevision
from gatekeeper.contract.values.definition import GatePolicy, RepairPolicy, SamplingPolicy
from gatekeeper.contract.values.objectives import read_limits, read_objectives
from gatekeeper.gate.comparison.resource_limits import fewest_inputs
from gatekeeper.gate.forecast.power import (
    ComparisonPower,
    limit_notes,
    objective_needs,
    objective_summary,
)
from gatekeeper.gate.validate import Validation, validate_contracts
from gatekeeper.stats.paired.power import minimum_detectable_effect


def _foresight(
    inputs: int = 20,
    margin: float = 0.05,
    seen: float | None = 0.313,
    needed: int | None = 134,
) -> ComparisonPower:
    return ComparisonPower("words", inputs, 0.05, margin, seen, needed)


@pytest.mark.parametrize(
    ("foresight", "said"),
    [
        (
            _foresight(),
            "words, compared alone: 20 distinct fixtures can only show a drop of 32 points or "
            "more, but `gate.margin` is 5 points; if a change breaks fixtures outright, use 134 "
            "fixtures; if answers to the same fixture vary, take more samples",
        ),
        (
            replace(_foresight(), finds_broken=True),
            "words, compared alone: 20 distinct fixtures can only show a drop of 32 points or "
            "more over all inputs, but `gate.margin` is 5 points; a fixture that always fails is "
            "found; to see a smaller drop, use 134 fixtures; if answers to the same fixture vary, "
            "take more samples",
        ),
        (
            replace(_foresight(), together=2, contracts=2),
            "words, compared together with 1 other contract: 20 distinct fixtures can only show a "
            "drop of 32 points or more, but `gate.margin` is 5 points; if a change breaks fixtures "
            "outright, use 134 fixtures; if answers to the same fixture vary, take more samples",
        ),
        (
            replace(_foresight(inputs=1, seen=None), together=4, contracts=3),
            "words, compared together with 2 other contracts, with 4 comparisons in total: 1 "
            "distinct fixture cannot show a drop, but `gate.margin` is 5 points; use 134 fixtures",
        ),
        (
            _foresight(margin=0.0, needed=None),
            "words, compared alone: 20 distinct fixtures can only show a drop of 32 points or "
            "more, but `gate.margin` is 0 points; if a change breaks fixtures outright, add "
            "fixtures; if answers to the same fixture vary, take more samples",
        ),
        (
            _foresight(seen=0.0071, margin=0.005, inputs=900, needed=1342),
            "words, compared alone: 900 distinct fixtures can only show a drop of 1 point or more, "
            "but `gate.margin` is 0.5 points; if a change breaks fixtures outright, use 1,342 "
            "fixtures; if answers to the same fixture vary, take more samples",
        ),
        (
            _foresight(inputs=0, seen=None, margin=0.0, needed=None),
            "words, compared alone: 0 distinct fixtures cannot show a drop, but `gate.margin` is 0 "
            "points; add fixtures",
        ),
        (
            _foresight(seen=0.996, needed=6),
            "words, compared alone: 20 distinct fixtures can only show a drop of 100 points or "
            "more, but `gate.margin` is 5 points; if a change breaks fixtures outright, use 6 "
            "fixtures; if answers to the same fixture vary, take more samples",
        ),
    ],
)
def test_who_is_blind_to_the_margin_is_told_what_would_do(
    foresight: ComparisonPower, said: str
) -> None:
    assert foresight.warning is not None
    assert spaced(foresight.warning) == said


@pytest.mark.parametrize("seen", [0.05, 0.02])
def test_who_sees_the_margin_is_left_alone(seen: float) -> None:
    assert _foresight(seen=seen).warning is None


@given(st.integers(5, 200))
def test_a_wider_margin_is_never_advised(inputs: int) -> None:
    """It would let larger drops pass."""
    seen = minimum_detectable_effect(inputs, 0.05)
    assert seen is not None
    warning = _foresight(inputs=inputs, seen=seen, margin=0.001).warning
    assert warning is not None
    said, advice = warning.split(";", 1)
    assert "`gate.margin` is" in said
    assert "margin" not in advice
    assert "fixtures" in advice
    assert "more samples" in advice


def _validated(words: Sequence[str], gate: str, params: str = "{}") -> Validation:
    rows = "\n".join(f"  - {{id: f{n}, vars: {{word: {word}}}}}" for n, word in enumerate(words))
    files = {
        "contracts/words.yaml": (
            "contract: 1\nname: words\nprompt: ../prompts/words.txt\nmodel: openai/gpt-4o-mini\n"
            f"params: {params}\nchecks: [{{type: regex, pattern: ok}}]\n"
            f"gate: {gate}\nfixtures:\n{rows}\n"
        ).encode(),
        "prompts/words.txt": b"Say {{ word }}.\n",
    }
    return validate_contracts(MemoryRevision(files), Policy())


def test_validate_warns_of_a_contract_that_cannot_see_its_margin() -> None:
    words = [f"word{n}" for n in range(20)]
    found = _validated([*words, *words], "{margin: 0.05}")
    assert found.contracts[0].fixtures_text == "40, 20 repeated"
    # A repeated input shows nothing new.
    (warning,) = found.of_level("warning")
    assert spaced(warning.problem.what).startswith(
        "words, compared alone: 20 distinct fixtures can only show a drop of 32 points"
    )


@pytest.mark.parametrize(
    ("gate", "params", "finds"),
    [
        ("{}", "{}", True),
        ("{claim: fixtures}", "{temperature: 1}", True),
        ("{claim: inputs}", "{}", False),
        ("{}", "{temperature: 0}", False),
    ],
)
def test_validate_says_that_a_broken_fixture_is_found_where_it_is(gate, params, finds) -> None:
    found = _validated([f"word{n}" for n in range(20)], gate, params)
    told = " ".join(warning.problem.what for warning in found.of_level("warning"))
    assert ("a fixture that always fails is found" in told) == finds
    assert ("breaks fixtures outright" in told) != finds


def test_validate_has_nothing_to_say_of_one_that_can() -> None:
    assert not _validated([f"word{n}" for n in range(20)], "{margin: 0.4}").findings


@pytest.mark.parametrize(
    ("samples", "mode", "needed"), [(1, "fixed", 86), (10, "fixed", 86), (10, "adaptive", 117)]
)
def test_objectives_that_the_suite_cannot_prove_are_told_before_the_run(samples, mode, needed):
    """Two objectives share the 5 %, and so do five looks; 40 of 50 fixtures are distinct."""
    names = [f"f{i}" for i in range(50)]
    slo = read_objectives(
        {"success_rate": 0.95, "checks": {"says ok": 0.7}, "cost_per_call_usd": 1}
    )[:2]
    made = contract(*names, slo=slo, sampling=SamplingPolicy(samples=samples, mode=mode))
    same = dict.fromkeys(names[40:], names[0])
    evaluation = evaluation_of(made, same_input=same)
    (need,) = objective_needs(evaluation)
    assert (need.needed, need.have, need.noun) == (needed, 40, "distinct inputs")
    assert objective_summary(evaluation) == str(need)


def test_several_objectives_that_cannot_be_proven_are_one_sentence():
    slo = read_objectives({"success_rate": 0.9, "latency_p95_ms": 500})
    evaluation = evaluation_of(contract("f1", "f2", slo=slo))
    first, second = sorted(need.needed for need in objective_needs(evaluation))
    said = objective_summary(evaluation)
    assert said is not None
    assert "2 objectives" in said
    assert f"{first} to {second} distinct inputs" in spaced(said)


@pytest.mark.parametrize("few", [0, 1])
def test_a_limit_that_the_suite_cannot_find_exceeded_is_told_before_the_run(few: int) -> None:
    limits = read_limits({"cost": "+20%"})
    names = [f"f{i}" for i in range(fewest_inputs(limits[0]) - few)]
    made = contract(*names, gate=GatePolicy(limits=limits))
    found = limit_notes(evaluation_of(made))
    assert len(found) == few
    assert all(f"has only {len(names)}" in note for note in found)


def test_a_contract_without_objectives_has_nothing_to_prove():
    made = contract("f1", slo=())
    assert objective_needs(evaluation_of(made)) == ()
    assert objective_summary(evaluation_of(made)) is None


@pytest.mark.parametrize(("inputs", "noted"), [(7, True), (8, False)])
def test_too_few_inputs_for_the_test_of_repairs_are_noted(inputs: int, noted: bool) -> None:
    failing = contract(
        *(f"f{n}" for n in range(inputs)),
        gate=GatePolicy(repairs="fail"),
        repair=RepairPolicy(("strip_whitespace",)),
    )
    notes = limit_notes(evaluation_of(failing))
    assert bool(notes) == noted
    assert all("gate.repairs" in note for note in notes)
