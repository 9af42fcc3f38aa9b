"""`not`, `when`, `any_of` and `pass_score` hide no regression: half of the words break."""

from __future__ import annotations

import pytest
from support.proposals import CONTRACT, NO_SLO, OTHER, PROMPT_FILE, SAYS_OK, Proposal, all_say

ANY = "{type: length, max: 1000}"
ATTACKS = {
    "when": f"{ANY}\n  - {{type: regex, pattern: ok, when: \"word == 'word39'\"}}",
    "any of": f"{{type: any_of, checks: [{SAYS_OK}, {ANY}]}}",
    "not": "{type: regex, pattern: nothing, not: true}",
    "pass score": f"{SAYS_OK}\n  - {ANY}\npass_score: 0.5",
    "weight": f"{SAYS_OK}\n  - {ANY[:-1]}, weight: 100}}\npass_score: 0.99",
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_the_base_contract_still_applies(attack, run_gate):
    written = NO_SLO.replace(SAYS_OK, ATTACKS[attack])
    assert written != NO_SLO
    answered = Proposal(attack, "", {PROMPT_FILE: OTHER, CONTRACT: written}).run_check(run_gate)
    assert (answered.exit_code, answered.verdict) == (1, "fail")


def test_head_alone_would_pass_by_the_pass_score(run_gate):
    """The same contract on both sides shows that the score itself decides."""
    contract = NO_SLO.replace(SAYS_OK, ATTACKS["pass score"])
    made = Proposal("same", "", {PROMPT_FILE: OTHER}, contract=contract)
    assert made.run_check(run_gate).verdict != "fail"


def test_the_comment_names_checks_that_the_score_tolerates(check_of):
    contract = NO_SLO.replace(
        SAYS_OK, f"{SAYS_OK}\n  - {{type: contains, value: xyz, name: odd}}\npass_score: 0.5"
    )
    made = Proposal("same", "", {PROMPT_FILE: OTHER}, contract=contract, recorded=all_say("ok"))
    checked = check_of(made.base, made.writes)
    assert checked.comment is not None
    assert (
        "the check `odd` fails on 40 fixtures of head and on 40 of base, in samples that pass"
    ) in checked.comment
