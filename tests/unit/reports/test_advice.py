"""What to do about a verdict: words that fit the reason and the contract."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support import results as examples

from gatekeeper.gate.result import ContractResult, Reason, ReasonCode, SloResult, Verdict
from gatekeeper.reports.advice import advice
from gatekeeper.reports.headline import headline


def _because(
    *codes: ReasonCode, contract: ContractResult | None = None, verdict: Verdict = "fail"
) -> ContractResult:
    reasons = tuple(Reason(code, "Found.", verdict) for code in codes)
    found = contract or examples.failing_contract("poem")
    return replace(found, reasons=reasons, verdict=verdict)


def _advice(contract: ContractResult) -> str:
    return advice(examples.result(contract), contract)


@pytest.mark.parametrize(
    ("objective", "words"),
    [
        ("success_rate", "If they are wrong, mend the new prompt"),
        ("latency_p95_ms", "Make the new prompt meet its objectives"),
    ],
)
def test_a_new_prompt_is_not_brought_back(objective: str, words: str) -> None:
    slo = SloResult(objective, 0.5, 0.0, None, False)
    known = replace(_because("slo"), slo=(slo,))
    assert "Bring the prompt back" in _advice(known)
    new = replace(known, base=None, paired=None)
    assert words in _advice(new)
    assert "back" not in _advice(new)


def test_the_title_counts_the_fixtures_of_which_none_passes() -> None:
    fixtures = tuple(replace(examples.fixture(n, "failing"), id=str(n)) for n in range(80))
    contract = replace(_because("nothing_passes"), fixtures=fixtures)
    assert headline(examples.result(contract)).endswith("`poem` passes none of its 80 fixtures")
    lost = replace(fixtures[0], head_passed=None)
    contract = replace(contract, fixtures=(lost, *fixtures[1:]))
    assert "none of the measured 79 fixtures" in headline(examples.result(contract))
    contract = replace(contract, fixtures=fixtures[:1])
    assert headline(examples.result(contract)).endswith("`poem` passes no fixture")
