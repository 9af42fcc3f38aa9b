"""What fresh samples show, as a reason: broken fixtures, net of those that were fixed."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.evaluations import arm, evaluation_of, evidence_of
from support.outcomes import contract

from gatekeeper.gate.decision.fixture_reasons import broken_reasons
from gatekeeper.gate.decision.reasons import EvaluationSummary, evidence_reasons
from gatekeeper.gate.decision.verdict import SEVERITY, worst
from gatekeeper.gate.results.parts import BrokenFixtures, Confirmation, Tally, Unit

SHOWN = {
    "broke": (Tally(6, 6), Tally(0, 6)),
    "fixed": (Tally(0, 4), Tally(4, 4)),
    "kept": (Tally(2, 2), Tally(2, 2)),
    "unknown": (Tally(0, 0), Tally(0, 0)),
}


def found(*changes: str, **fields) -> BrokenFixtures:
    each = {Unit(f"f{n}"): Confirmation(*SHOWN[c], c) for n, c in enumerate(changes)}
    return BrokenFixtures(each, 0.005, **fields)


@pytest.mark.parametrize(
    ("changes", "fields", "wanted"),
    [
        (("broke",), {}, ("broke", "fail")),
        (("broke", "kept"), {}, ("broke", "fail")),
        (("broke", "fixed"), {}, ("broke", "pass")),
        (("broke", "broke", "fixed"), {}, ("broke", "fail")),
        (("broke", "broke"), {"allowed": 2}, ("broke", "pass")),
        (("broke", "broke", "broke"), {"allowed": 2}, ("broke", "fail")),
        (("unknown",), {}, ("error", "error")),
        (("unknown",), {"ended": "limit", "detail": "30 calls"}, ("limit", "error")),
        (("unknown",), {"ended": "interrupted"}, ("interrupted", "error")),
        (("unknown",), {"ended": "fatal"}, ("error", "error")),
        (("unknown",), {"unrecorded": True}, ("broke", "inconclusive")),
        # One may have been fixed, which nobody knows.
        (("broke",), {"maybe_fixed": 1}, ("broke", "inconclusive")),
        (("broke", "broke"), {"maybe_fixed": 1}, ("broke", "fail")),
        ((), {"left_out": 2}, ("broke", "inconclusive")),
        (("broke",), {"p_value": 0.5}, ("broke", "inconclusive")),
        (("broke",), {"p_value": 0.005}, ("broke", "fail")),
        (("broke", "fixed"), {"p_value": 0.5}, ("broke", "pass")),
    ],
)
def test_each_finding_has_its_verdict(changes, fields, wanted) -> None:
    [reason] = broken_reasons(found(*changes, **fields), better=False)
    assert (reason.code, reason.verdict) == wanted


@pytest.mark.parametrize("changes", [(), ("kept",), ("fixed",), ("kept", "fixed")])
def test_what_did_not_break_is_no_reason(changes) -> None:
    assert broken_reasons(found(*changes), better=False) == []
    assert broken_reasons(None, better=False) == []


def test_a_contract_about_inputs_has_no_such_reason() -> None:
    assert broken_reasons(found("broke", claimed=False), better=False) == []


def test_a_significantly_better_prompt_may_break_fixtures() -> None:
    [reason] = broken_reasons(found("broke"), better=True)
    assert (reason.code, reason.verdict) == ("broke", "pass")


def test_equal_tallies_are_told_together() -> None:
    [reason] = broken_reasons(found("broke", "broke"), better=False)
    assert reason.text == (
        "2 fixtures broke: `f0` and `f1` passed 6 of 6 on base and pass 0 of 6 now."
    )


def test_of_many_only_some_are_named() -> None:
    [reason] = broken_reasons(found(*["broke"] * 8), better=False)
    assert "8 fixtures broke: `f0`, `f1`, `f2`, `f3` and `f4` passed" in reason.text
    assert "3 more broke" in reason.text


@given(
    st.lists(st.sampled_from(sorted(SHOWN)), max_size=6),
    st.integers(0, 2),
    st.integers(0, 2),
    st.booleans(),
    st.sampled_from([None, 0.001, 0.5]),
)
def test_fresh_samples_never_make_a_verdict_milder(changes, allowed, left, unrecorded, p_value):
    """Other reasons keep their verdicts, whatever is found."""
    made = contract("f1", "f2")
    before = evidence_of(made, head=arm(0, 2))
    broken = found(*changes, allowed=allowed, left_out=left, unrecorded=unrecorded, p_value=p_value)
    verdicts = [
        worst(
            r.verdict
            for r in evidence_reasons(
                EvaluationSummary(evaluation_of(made), evidence, None, None, settled=True)
            )
        )
        for evidence in (before, replace(before, broken=broken))
    ]
    assert SEVERITY.index(verdicts[1]) <= SEVERITY.index(verdicts[0])
