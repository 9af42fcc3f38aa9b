"""Evidence and policy to verdict and reasons."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.evaluations import arm
from support.plain_spaces import spaced
from support.verdicts import called_for, fixtures, paired

from gatekeeper.contract.changes.affected import AffectedContract
from gatekeeper.contract.policies.policy import Allow, Policy
from gatekeeper.contract.values.objectives import Objective
from gatekeeper.gate.decision.fixture_reasons import tolerance_reasons
from gatekeeper.gate.decision.reasons import slo_reasons
from gatekeeper.gate.decision.verdict import SEVERITY, exit_code, removed, worst
from gatekeeper.gate.plan.contract_reasons import left_reasons, not_held_up, uncovered_reasons
from gatekeeper.gate.results.result import Reason, SloResult
from gatekeeper.stats.interval import ConfidenceInterval


@given(st.lists(st.sampled_from(SEVERITY)))
def test_the_worst_verdict_wins_whatever_the_order(verdicts):
    assert worst(verdicts) == worst(reversed(verdicts))
    assert worst([*verdicts, "fail"]) == "fail"


@pytest.mark.parametrize(
    ("verdict", "on_inconclusive", "code"),
    [
        ("pass", "pass", 0),
        ("fail", "pass", 1),
        ("error", "pass", 3),
        ("inconclusive", "pass", 0),
        ("inconclusive", "fail", 1),
    ],
)
def test_exit_codes(verdict, on_inconclusive, code):
    assert exit_code(verdict, on_inconclusive) == code


@pytest.mark.parametrize(
    ("found", "harshly", "code", "verdict"),
    [
        (paired(broke=9, p_value=0.002, difference=-0.2), (True, 0.2), "regression", "fail"),
        (paired(broke=5, p_value=0.05), (True, 0.12), "regression", "fail"),
        (paired(broke=4, unmeasured=9, p_value=0.9), (True, 0.3), "error", "error"),
        (paired(p_value=None, difference=None), (False, 1.0), "error", "error"),
        (paired(fixtures=3, minimum_detectable_effect=None), (False, 0), "unseen", "inconclusive"),
        (paired(broke=4, difference=-0.1, p_value=0.06), (False, 0.1), "undecided", "inconclusive"),
        (paired(broke=1, difference=-0.025, p_value=0.5), (False, 0.025), "no_regression", "pass"),
        (paired(broke=1, unknown=1, p_value=0.75), (False, 0.05), "no_regression", "pass"),
        (paired(stopped="not_worse", p_value=0.75), (False, 0.04), "not_worse", "pass"),
    ],
)
def test_what_the_paired_test_calls_for(found, harshly, code, verdict):
    (reason,) = called_for(found, *harshly)

    assert (reason.code, reason.verdict) == (code, verdict)


def test_a_result_that_is_not_significant_says_what_could_have_been_seen():
    (reason,) = called_for(paired())

    assert "16 points" in spaced(reason.text)


def test_an_early_stop_says_of_the_planned_samples_what_they_could_have_shown():
    cut = paired(
        fixtures=80,
        unknown=72,
        rounds=0,
        stopped="regressed",
        p_value=0.5,
        minimum_detectable_effect=0.272,
    )

    (reason,) = called_for(cut, largest_drop=0.625)

    assert "the full run could have detected a drop of 27.2 points" in spaced(reason.text)
    assert "this run could only have shown" not in reason.text


def test_an_undecided_result_says_how_many_fixtures_would_do():
    (reason,) = called_for(paired(p_value=0.3, fixtures_needed=134), largest_drop=0.1)

    assert "detecting a drop of 5 points needs 134 fixtures" in spaced(reason.text)
    (reason,) = called_for(paired(p_value=0.3, fixtures_needed=40), largest_drop=0.1)
    assert "would take" not in reason.text


def test_not_worse_is_said_of_the_margin_it_was_shown_for():
    (reason,) = called_for(paired(stopped="not_worse", fixtures=1000))

    assert "Not worse than base by 5 points or more" in spaced(reason.text)


@pytest.mark.parametrize(
    ("margin", "said"), [(0.05, "5 points"), (0.025, "2.5 points"), (0.01, "1 point")]
)
def test_a_margin_is_not_rounded_to_another(margin, said):
    (reason,) = called_for(paired(stopped="not_worse", fixtures=1000), margin=margin)

    assert f"Not worse than base by {said} or more" in spaced(reason.text)


def test_too_many_lost_samples_say_why_they_were_lost():
    lost = paired(broke=4, unmeasured=9, p_value=0.9)

    (reason,) = called_for(lost, could_be_worse=True, largest_drop=0.3, cause=": not recorded")
    assert "because 9 pairs of samples" in reason.text
    assert reason.text.endswith(": not recorded.")


def test_a_few_lost_samples_that_could_hide_no_more_than_the_margin_are_no_error():
    lost = paired(broke=4, unmeasured=2, p_value=0.2)

    (reason,) = called_for(lost, could_be_worse=True, largest_drop=0.04)
    assert (reason.code, reason.verdict) == ("no_regression", "pass")
    (reason,) = called_for(lost, could_be_worse=True, largest_drop=0.06)
    assert (reason.code, reason.verdict) == ("error", "error")


def test_of_several_samples_the_pass_rate_is_told_beside_the_fixtures():
    (worse,) = called_for(paired(rounds=3, difference=-0.12, p_value=0.01))
    (better,) = called_for(paired(rounds=3, difference=0.12))

    assert "pass rate down 12 points" in spaced(worse.text)
    assert "pass rate up 12 points" in spaced(better.text)


@pytest.mark.parametrize(
    ("observed", "met", "unmeasured", "verdicts"),
    [
        (0.99, True, False, []),
        (0.97, None, False, []),
        (0.90, None, False, ["inconclusive"]),
        (0.50, False, False, ["fail"]),
        (0.97, None, True, ["error"]),
    ],
)
def test_an_objective_fails_only_when_it_is_surely_missed(observed, met, unmeasured, verdicts):
    interval = ConfidenceInterval(observed - 0.1, min(1.0, observed + 0.1))
    result = SloResult("success_rate", 0.95, observed, interval, met, unmeasured)

    assert [reason.verdict for reason in slo_reasons([result], [])] == verdicts


@pytest.mark.parametrize(
    ("objective", "observed", "target_value", "words"),
    [
        ("latency_p95_ms", 5000.0, 4000.0, "5,000 ms (target: 4,000 ms)"),
        ("cost_per_call_usd", 0.5, 0.01, "0.50 USD (target: 0.010 USD)"),
    ],
)
def test_an_objective_speaks_in_its_own_unit(objective, observed, target_value, words):
    result = SloResult(objective, target_value, observed, None, False)

    assert words in slo_reasons([result], [])[0].text


@pytest.mark.parametrize(
    ("passed", "settled", "verdicts"),
    [(9, 10, []), (8, 10, ["fail"]), (8, 9, ["error"]), (8, 8, ["error"]), (7, 8, ["error"])],
)
def test_tolerance_counts_fixtures_that_were_not_measured_both_ways(passed, settled, verdicts):
    reasons = tolerance_reasons(0.9, arm(passed, settled), fixtures(10))

    assert [reason.verdict for reason in reasons] == verdicts


def test_without_a_tolerance_there_is_no_reason():
    assert tolerance_reasons(None, arm(0, 10), fixtures(10)) == []


@pytest.mark.parametrize(
    ("prompt_still_there", "allowed", "verdict"),
    [(True, False, "fail"), (True, True, "pass"), (False, False, "pass")],
)
def test_a_removed_contract_fails_while_its_prompt_stays(prompt_still_there, allowed, verdict):
    contract = AffectedContract("c", "contracts/c.yaml", None, None, (), prompt_still_there)

    found = removed(contract, Policy(allow=Allow(contract_removal=allowed)))

    assert (found.verdict, found.reasons[0].code) == (verdict, "removed")


@pytest.mark.parametrize(("required", "verdict"), [(True, "fail"), (False, "pass")])
def test_a_changed_prompt_without_a_contract(required, verdict):
    (reason,) = uncovered_reasons(["prompts/x.md"], Policy(require_contract=required))

    assert (reason.code, reason.verdict) == ("uncovered", verdict)
    assert "prompts/x.md" in reason.text


@pytest.mark.parametrize(("allowed", "verdict"), [(False, "fail"), (True, "pass")])
def test_a_contract_that_turns_from_a_prompt_which_stays(allowed, verdict):
    (reason,) = left_reasons("prompts/old.md", Policy(allow=Allow(contract_removal=allowed)))

    assert (reason.code, reason.verdict) == ("removed", verdict)
    assert "prompts/old.md" in reason.text
    assert left_reasons(None, Policy()) == []


@pytest.mark.parametrize("code", ["slo", "unseen", "undecided"])
def test_what_is_open_does_not_hold_up_a_change_that_leaves_every_request(code):
    held = not_held_up(Reason(code, "Open.", "inconclusive"))
    assert (held.code, held.verdict) == (code, "pass")


@pytest.mark.parametrize(
    "reason",
    [
        Reason("slo", "Missed.", "fail"),
        Reason("slo", "Missing.", "error"),
        Reason("weakened", "Weakened.", "inconclusive"),
        Reason("unread", "Unread.", "inconclusive"),
    ],
)
def test_what_is_certain_still_holds_it_up(reason):
    assert not_held_up(reason) == reason


@pytest.mark.parametrize(
    ("allowed", "code", "verdict"),
    [(False, "replaced", "inconclusive"), (True, "removed", "pass")],
)
def test_a_contract_that_went_while_others_came(allowed, code, verdict):
    gone = AffectedContract(
        "a", "c/a.yaml", None, None, (), prompt_still_there=False, successors=("n (p/n.md)",) * 5
    )
    found = removed(gone, Policy(allow=Allow(contract_removal=allowed)))
    assert [(r.code, r.verdict) for r in found.reasons] == [(code, verdict)]


def test_a_prompt_that_became_a_link_is_named_as_one():
    (reason,) = left_reasons("p.md", Policy(), "now a symbolic link")
    assert reason.verdict == "fail"
    assert "now a symbolic link" in reason.text
    linked = AffectedContract(
        "a", "c/a.yaml", None, None, (), prompt_still_there=True, left_as="now a submodule"
    )
    (reason,) = removed(linked, Policy()).reasons
    assert "now a submodule" in reason.text


@pytest.mark.parametrize(
    ("inputs", "told"),
    [(20, "at least 72 distinct inputs are"), (1, "1 was measured"), (80, "more fixtures")],
)
def test_an_objective_in_doubt_says_what_could_still_meet_it(inputs, told):
    result = SloResult("success_rate", 0.95, 0.9, None, None, inputs=inputs, inputs_needed=72)
    (reason,) = slo_reasons([result], [])
    assert (reason.code, reason.verdict) == ("slo", "inconclusive")
    assert told in reason.text
    assert "more samples" not in reason.text


def test_an_objective_that_the_policy_sets_says_so():
    result = SloResult("success_rate", 0.5, 0.0, ConfidenceInterval(0, 0.05), False)
    (reason,) = slo_reasons([result], [Objective("success_rate", 0.5, by_policy=True)])
    assert "which the policy requires of new contracts" in reason.text
    assert "`new_contracts.success_rate`" in reason.text
    (reason,) = slo_reasons([result], [Objective("success_rate", 0.5)])
    assert "policy" not in reason.text
