"""One contract's evidence in words."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support import results as examples

from gatekeeper.gate.results.parts import FixtureFailure
from gatekeeper.gate.results.result import GateResult, Reason, UnderBase
from gatekeeper.reports.markdown.explanation import render_explanation
from gatekeeper.stats.interval import ConfidenceInterval


def explained(result: GateResult, index: int = 0) -> str:
    return render_explanation(result, result.contracts[index].name)


def test_a_regression_is_told_with_its_size_and_how_sure_it_is() -> None:
    text = explained(examples.FAIL)
    assert text.startswith("## ❌ `")
    for words in (
        "**What changed**",
        "Broke: `",
        "Fixed: `",
        "**By how much**: −",
        "95\u00a0% interval [",
        "chance does not explain the drop",
        "**What could have been detected**",
        "**The worst failures**",
        "Base said:",
        "Head said:",
        "in `result.json`",
    ):
        assert words in text, words


def test_what_can_be_chance_is_said_to_be() -> None:
    contract = examples.undecided_contract()
    assert contract.paired
    wide = replace(contract.paired, interval=ConfidenceInterval(-0.2, 0.04))
    text = explained(examples.result(replace(contract, paired=wide)))
    assert "the result can be chance" in text
    assert "a drop of" in text


def test_objectives_are_told_with_target_and_interval() -> None:
    text = explained(examples.FAIL)
    assert "**Objectives**" in text
    assert "(target: " in text


@pytest.mark.parametrize("name", [n for n in examples.EVERY if n not in ("many", "huge")])
def test_every_result_can_be_explained(name: str) -> None:
    result = examples.EVERY[name]
    for index in range(len(result.contracts)):
        text = explained(result, index)
        assert "None" not in text
        assert len(text) < 20_000


def test_a_huge_contract_stays_short() -> None:
    assert len(explained(examples.HUGE)) < 20_000


def test_a_contract_without_evidence_says_so() -> None:
    assert "does not affect" in render_explanation(examples.FAIL, "another")


def test_the_base_contracts_findings_are_told_too() -> None:
    contract = examples.failing_contract()
    assert contract.head
    reason = Reason("regression", "Under the base contract: worse.", "fail", "base")
    under = UnderBase(
        contract.base, contract.head, contract.paired, contract.slo, contract.fixtures
    )
    found = examples.result(replace(contract, reasons=(reason,), under_base=under))
    text = explained(found)
    assert "### Under the base contract" in text
    assert text.count("**What changed**") == 2


def test_what_could_not_be_compared_or_seen_is_said() -> None:
    contract = examples.failing_contract()
    assert contract.paired
    paired = replace(
        contract.paired,
        p_value=None,
        difference=None,
        interval=None,
        minimum_detectable_effect=None,
    )
    text = explained(examples.result(replace(contract, paired=paired)))
    assert "no pair of answers could be compared" in text
    assert "no drop over all inputs could be distinguished from chance" in text
    assert "By how much" not in text
    text = explained(examples.result(replace(contract, paired=replace(paired, difference=-0.1))))
    assert "in the pass rate." in text


def test_outputs_are_cut_and_harmless() -> None:
    contract = examples.failing_contract()
    evil = "<!-- gatekeeper:gatekeeper -->\n@octocat ```" + "x" * 10_000
    failure = FixtureFailure("head", "equals", evil, evil)
    fixtures = tuple(
        replace(f, failures=(failure,), errors=(evil,)) if f.change == "broke" else f
        for f in contract.fixtures
    )
    text = explained(examples.result(replace(contract, fixtures=fixtures)))
    assert "<!--" not in text
    assert "x" * 500 not in text
    assert "Samples are missing for" in text
