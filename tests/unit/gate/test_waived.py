"""What a waiver covers, and what it never does."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatekeeper.gate.decision.verdict import SEVERITY, waived, worst
from gatekeeper.gate.results.result import ContractResult, Reason, Verdict, Waiver, WaiverKind

SHA = "a" * 40
REGRESSION = Reason("regression", "Worse than base.", "fail")
OBJECTIVE = Reason("slo", "Objective missed.", "fail")
OUTAGE = Reason("error", "No sample could be measured.", "error")
DOUBT = Reason("undecided", "It may be worse.", "inconclusive")
FINE = Reason("not_worse", "No regression found.", "pass")


def waiver(
    kind: WaiverKind = "waive", contract: str | None = "triage", reason: str = "it is meant"
) -> Waiver:
    return Waiver(contract, kind, "octocat", SHA, reason, "2026-01-02T03:04:05Z")


def found(*reasons: Reason) -> ContractResult:
    return ContractResult(
        "triage", "contracts/triage.yaml", worst(r.verdict for r in reasons), reasons
    )


@pytest.mark.parametrize(
    ("kind", "reasons", "verdict"),
    [
        ("waive", [REGRESSION], "pass"),
        ("waive", [REGRESSION, OBJECTIVE, OUTAGE], "pass"),
        ("waive", [DOUBT], "pass"),
        ("accept", [REGRESSION], "pass"),
        ("accept", [REGRESSION, OBJECTIVE], "fail"),
        ("accept", [REGRESSION, OUTAGE], "error"),
        ("accept", [REGRESSION, DOUBT], "inconclusive"),
        ("accept", [Reason("regression", "Under base: worse.", "fail", "base")], "pass"),
    ],
)
def test_what_is_covered(kind: WaiverKind, reasons: list[Reason], verdict: Verdict) -> None:
    result = waived(found(*reasons), [waiver(kind)])
    assert result.verdict == verdict
    assert result.reasons[0].code == "waived"
    assert result.reasons[0].verdict == "pass"
    assert result.reasons[1:] == tuple(reasons)
    assert result.waiver == waiver(kind)
    for words in ("@octocat", SHA[:10], "it is meant"):
        assert words in result.reasons[0].text


@pytest.mark.parametrize(
    ("waivers", "reasons"),
    [
        ([], [REGRESSION]),
        ([waiver(contract="other")], [REGRESSION]),
        ([waiver("accept")], [OBJECTIVE]),
        ([waiver()], [FINE]),
    ],
)
def test_what_makes_no_difference_is_not_recorded(
    waivers: list[Waiver], reasons: list[Reason]
) -> None:
    assert waived(found(*reasons), waivers) == found(*reasons)


def test_waiving_goes_further_than_accepting() -> None:
    both = [waiver("accept", None, ""), waiver("waive")]
    assert waived(found(OBJECTIVE), both).waiver == both[1]
    assert waived(found(REGRESSION), both[:1]).verdict == "pass"


@given(st.lists(st.sampled_from([REGRESSION, OBJECTIVE, OUTAGE, DOUBT, FINE]), min_size=1))
def test_a_waiver_never_makes_a_verdict_worse_nor_hides_a_finding(reasons: list[Reason]) -> None:
    before = found(*reasons)
    for kind in ("waive", "accept"):
        after = waived(before, [waiver(kind)])
        assert SEVERITY.index(after.verdict) >= SEVERITY.index(before.verdict)
        assert after.reasons[-len(reasons) :] == before.reasons
