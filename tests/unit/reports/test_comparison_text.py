"""How a comparison of the arms is told: its test, how sure, how soon, and on how much."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import pytest
from support import early_results as early_examples
from support import results as examples
from support.report_texts import comment_of

from gatekeeper.gate.decision.unit_words import paired_p_value
from gatekeeper.gate.results.result import GateResult, UnderBase
from gatekeeper.reports.markdown.explanation import render_explanation
from gatekeeper.reports.words.comparison_text import counts, decided_by, early_stop, ended_early
from gatekeeper.stats.interval import ConfidenceInterval


def _lead(result: GateResult) -> str:
    return comment_of(result).splitlines()[4].removeprefix("> ")


def test_a_regression_found_at_once_says_how_soon() -> None:
    assert _lead(early_examples.EARLY) == (
        "`speech-tag` got **worse**: 9 of 9 → 0 of 9 fixtures pass, **9 of 9 broke**, "
        "p = 0.0020, more than chance explains. "
        "0 fixed; the result was certain after 9 of 100 fixtures."
    )
    assert "18 calls made, 182 not needed, 3 not used for the decision" in comment_of(
        early_examples.EARLY
    )


def test_not_worse_is_said_and_how_soon() -> None:
    assert _lead(early_examples.NOT_WORSE) == (
        "`order-id` is **not worse** than base by 5 points or more: 98 % → 98.5 % of samples pass, "
        "**about +0.5 points** (estimated after an early stop), p = 0.88. 1 broke, 2 fixed; "
        "the result was certain after 2 of 10 samples of each fixture."
    )


def test_a_pass_rate_that_fell_under_unchanged_fixtures_is_no_change_of_none() -> None:
    contract = early_examples.not_worse_contract()
    assert contract.paired
    still = replace(contract.paired, broke=0, fixed=0, difference=0.0)
    lead = _lead(examples.result(replace(contract, paired=still)))
    sure = "the result was certain after 2 of 10 samples of each fixture"
    assert f"did **not change** on any of 200 fixtures; {sure}." in lead
    fell = replace(still, difference=-0.02, stopped="exhausted")
    lead = _lead(examples.result(replace(contract, paired=fell)))
    assert "shows **no significant change**: 98 % → 98.5 % of samples pass, **−2 points**" in lead


def test_only_an_early_stop_makes_the_difference_an_estimate() -> None:
    contract = early_examples.not_worse_contract()
    assert contract.paired
    whole = replace(contract.paired, rounds=10, interval=ConfidenceInterval(0.001, 0.022))
    lead = _lead(examples.result(replace(contract, paired=whole)))
    size = "**+0.5 points** (95 % interval [+0.1, +2.2])"
    assert f"got **better**: 98 % → 98.5 % of samples pass, {size}" in lead
    assert "certain after" not in lead
    # The test's question is whether head is worse: its p beside "better" reads as a contradiction.
    assert ", p " not in lead
    comment = comment_of(examples.result(replace(contract, paired=whole)))
    assert "| **+0.5 points**" not in comment
    assert "| +0.5 points<br>[+0.1, +2.2] | – |" in comment
    # The same interval, were it looked at as soon as it says so, would say so too often.
    early = replace(whole, rounds=2)
    assert "is **not worse** than base by 5" in _lead(
        examples.result(replace(contract, paired=early))
    )


@pytest.mark.parametrize("stopped", ["regressed", None])
def test_samples_that_were_cut_short_name_no_drop_that_only_all_of_them_could_show(
    stopped: Literal["regressed"] | None,
) -> None:
    contract = replace(
        examples.passing_contract("order-id", 80),
        paired=examples.paired(
            80, 0, 0, 1.0, difference=0.0, unknown=72, rounds=0, stopped=stopped
        ),
    )
    found = examples.result(contract)
    assert "shows ≥" not in comment_of(found)
    assert "could only have shown" not in _lead(found)
    explained = render_explanation(found, "order-id").replace("\u00a0", " ")
    assert "would probably have been detected if sampling had not ended early." in explained


def test_an_early_estimate_is_one_in_every_report() -> None:
    comment = comment_of(early_examples.EARLY)
    assert "| **9 of 9 broke** | 0.0020 |" in comment
    assert "[−100, −55]" not in comment
    explained = render_explanation(early_examples.EARLY, "speech-tag").replace("\u00a0", " ")
    assert "**By how much**: 9 of 9 broke." in explained
    assert "[−100, −55]" not in explained


def test_a_p_value_is_a_bound_only_where_samples_were_not_measured() -> None:
    never_drawn = examples.paired(40, 9, 0, 0.002, unknown=31, stopped="regressed", rounds=0)
    assert paired_p_value(never_drawn) == "= 0.0020"
    assert paired_p_value(replace(never_drawn, unmeasured=2)) == "= 0.0020"
    exact = replace(never_drawn, unmeasured=2, sequential=False)
    assert paired_p_value(exact) == "≤ 0.0020"


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({}, "1 broke, 2 fixed"),
        ({"unknown": 3, "unmeasured": 3}, "1 broke, 2 fixed, 3 unknown"),
        ({"unknown": 3, "stopped": None}, "1 broke, 2 fixed, 3 unknown"),
        (
            {"unknown": 1000, "stopped": "not_worse", "rounds": 0, "fixtures": 2000},
            "1 broke, 2 fixed; the result was certain after 1,000 of 2,000 fixtures",
        ),
        (
            {"unknown": 30, "stopped": "futile", "rounds": 0},
            "1 broke, 2 fixed; sampling ended after 10 of 40 fixtures because more could "
            "hardly have changed the answer",
        ),
        (
            {"stopped": "futile", "rounds": 3, "planned_rounds": 10},
            "1 broke, 2 fixed; sampling ended after 3 of 10 samples because more could "
            "hardly have changed the answer",
        ),
        (
            {"unknown": 30, "unmeasured": 2, "stopped": "not_worse", "rounds": 0},
            "1 broke, 2 fixed, 2 not measured; the result was certain after 12 of 40 fixtures",
        ),
        (
            {
                "unknown": 3,
                "unmeasured": 4,
                "stopped": "not_worse",
                "rounds": 2,
                "planned_rounds": 3,
            },
            "1 broke, 2 fixed, 3 unknown; "
            "the result was certain after 2 of 3 samples of each fixture",
        ),
        ({"stopped": "not_worse", "rounds": 0}, "1 broke, 2 fixed"),
        (
            {"stopped": "not_worse", "rounds": 0, "planned_rounds": 5},
            "1 broke, 2 fixed; the result was certain after 1 of 5 samples of each fixture",
        ),
        (
            {"stopped": "not_worse", "rounds": 1},
            "1 broke, 2 fixed",
        ),
    ],
)
def test_what_was_not_drawn_is_not_called_unknown(other: dict[str, object], said: str) -> None:
    assert counts(replace(examples.paired(40, 1, 2, 0.88), **other)) == said  # type: ignore[arg-type]


def test_sampling_cut_by_another_evaluation_claims_nothing() -> None:
    cut = examples.paired(40, 1, 0, 0.5, unknown=30, stopped="regressed", rounds=0)
    assert ended_early(cut)
    assert (
        early_stop(cut)
        == "sampling ended because the result of the contract's other comparison was certain"
    )


def test_the_deciding_test_is_named_with_its_level() -> None:
    found = decided_by(examples.paired(60, 1, 2, 0.875, unknown=4, stopped=None))
    assert found == (
        "sequential McNemar test on 60 distinct inputs, level 0.05: p = 0.88; 1 broke, 2 fixed, "
        "4 unknown; unfinished; 134 fixtures would show a drop of 5\u00a0points"
    )
    several = decided_by(replace(examples.paired(200, 0, 0, None, alpha=0.0125), family=4))
    assert "level 0.0125, with Holm's correction for 4 comparisons: no p-value; 0 broke" in several


def test_what_the_base_contract_found_has_its_own_lines() -> None:
    contract = early_examples.early_contract()
    assert contract.head
    reason = replace(contract.reasons[0], contract_from="base")
    found = UnderBase(
        contract.base,
        contract.head,
        replace(contract.paired, family=2),
        contract.slo,
        contract.fixtures,
    )
    own = replace(contract, paired=examples.paired(100, 0, 0, 1.0), fixtures=())
    comment = comment_of(examples.result(replace(own, reasons=(reason,), under_base=found)))
    row = "- `speech-tag, under the base contract`: sequential McNemar test on 100 distinct"
    assert row in comment
    assert "with Holm's correction for 2 comparisons" in comment


def test_arms_that_are_not_known_are_left_out() -> None:
    contract = early_examples.early_contract()
    long = examples.fixture(0, "broke", head_output="word " * 100)
    bare = replace(
        contract, base=None, fixtures=(replace(long, base_output=None, base=None),), slo=()
    )
    assert _lead(examples.result(bare)).startswith("`speech-tag` got **worse**: **9 of 9 broke**")
    comment = comment_of(examples.result(bare))
    assert "Head said:" in comment
    assert "Base said:" not in comment
    unpriced = replace(contract, head=examples.arm(0, 9, cost_per_call_usd=None))
    assert "latency p95 812 ms, cost unknown" in comment_of(examples.result(unpriced))


def test_a_difference_that_weights_categories_says_so_beside_the_plain_rates() -> None:
    contract = examples.failing_contract()
    assert contract.paired
    plain = contract.paired
    mixed = replace(plain, method="exact sign-flip test, weighted by category")
    result = examples.result(replace(contract, paired=mixed))
    assert "**−20 points** weighted by category (95 % interval [" in _lead(result)
    assert "<br>weighted by category |" in comment_of(result)
    assert "weighted by category" not in _lead(examples.result(contract))
