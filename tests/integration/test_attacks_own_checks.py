"""A pull request never makes its own code run, nor hides a worse prompt behind changed code.

Every function that a pull request brings here would let everything pass.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from support.edited_text import edited
from support.proposals import (
    CONTRACT,
    MANY,
    NO_SLO,
    OTHER,
    POLICY,
    PROMPT_FILE,
    SAYS_OK,
    Proposal,
    all_say,
)
from support.proposed_change import Link
from support.recorded_repository import contract_files, csv, under_name

from gatekeeper.cli.main import main
from gatekeeper.contract.policies.policy import Policy
from gatekeeper.contract.values.change import MemoryRevision
from gatekeeper.gate.work import plan_run

TONE, HELPER, ELSEWHERE = "contracts/tone.py", "contracts/words_of_tone.py", "tools/deploy.py"
SAYS = "def good(output):\n    return output == 'ok'\n"
ANYTHING = "def good(output):\n    return True\n"
CALLS = NO_SLO.replace(SAYS_OK, "{python: tone.py:good}")
INSIDE = NO_SLO.replace(SAYS_OK, "{type: all_of, checks: [{python: tone.py:good}]}")
WITH_HELPER = NO_SLO.replace(SAYS_OK, "{python: tone.py:good, modules: [words_of_tone.py]}")
USES_HELPER = "import words_of_tone\ndef good(output):\n    return output == words_of_tone.GOOD\n"
WORDS = MANY[:10]
"""All of them break under the other prompt."""
HAS_TONE = {TONE: SAYS}
EVERY_FILE = "checks: {python: ['**/*.py']}\n"


def proposal(name, why, writes, contract=CALLS, before=HAS_TONE, **more):
    return Proposal(
        name, why, {PROMPT_FILE: OTHER, **writes}, contract=contract, before=before, **more
    )


def base_of(change):
    return {**contract_files(change.contract, WORDS, change.recorded), **change.before}


ATTACKS = [
    proposal("only the prompt", "the check finds what broke", {}, reason="regression"),
    proposal(
        "the function",
        "it runs as it is at base",
        {TONE: ANYTHING},
        reason="regression",
    ),
    proposal(
        "a module that the file imports",
        "it is that of base, too",
        {HELPER: "GOOD = 'no'\n"},
        contract=WITH_HELPER,
        before={TONE: USES_HELPER, HELPER: "GOOD = 'ok'\n"},
        reason="regression",
    ),
    proposal(
        "another function of base",
        "the base contract also applies",
        {CONTRACT: edited(CALLS, "tone.py", "lax.py")},
        before={**HAS_TONE, "contracts/lax.py": ANYTHING},
        reason="regression",
    ),
    proposal(
        "the function, in a check inside another",
        "it runs as it is at base, too",
        {TONE: ANYTHING},
        contract=INSIDE,
        reason="regression",
    ),
    proposal(
        "a lower threshold",
        "the base contract also applies",
        {CONTRACT: edited(CALLS, ":good", ":good, pass: 0")},
        before={TONE: "def good(output):\n    return float(output == 'ok')\n"},
        reason="regression",
    ),
    proposal(
        "a new file",
        "it is not at base, so it is not run",
        {CONTRACT: edited(CALLS, "tone.py", "lax.py"), "contracts/lax.py": ANYTHING},
        reason="regression",
    ),
    proposal(
        "the first function of a contract",
        "what could be measured without it is not known",
        {CONTRACT: CALLS, TONE: ANYTHING},
        contract=NO_SLO,
        before={},
        recorded=all_say("ok"),
        code=3,
    ),
    Proposal(
        "a new contract with a new file",
        "nothing of it is run",
        {
            "contracts/new.yaml": under_name(CALLS, "new", "csv"),
            "contracts/new.csv": csv(WORDS),
            TONE: ANYTHING,
        },
        code=3,
    ),
    proposal(
        "a file of base outside of the policy's folders",
        "it was not written as a check",
        {CONTRACT: edited(CALLS, "tone.py", "../tools/deploy.py")},
        before={**HAS_TONE, ELSEWHERE: ANYTHING},
        recorded=all_say("ok"),
        code=3,
    ),
    proposal(
        "the policy's folders, and a file of base in them",
        "the base policy applies",
        {CONTRACT: edited(CALLS, "tone.py", "../tools/deploy.py"), POLICY: EVERY_FILE},
        before={**HAS_TONE, ELSEWHERE: ANYTHING},
        recorded=all_say("ok"),
        code=3,
    ),
    proposal(
        "a path out of the repository",
        "there is nothing of the repository",
        {CONTRACT: edited(CALLS, "tone.py", "../../tone.py")},
        code=2,
    ),
]


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_no_code_of_a_pull_request_runs(attack, check_of):
    checked = check_of(base_of(attack), attack.writes)
    assert checked.code == attack.code, attack.why
    if attack.reason:
        assert attack.reason in checked.codes()


@pytest.mark.long
def test_no_way_in_runs_the_code_of_a_pull_request(run_gate):
    attack = proposal("the function", "", {TONE: ANYTHING})
    answered = attack.run_check(run_gate)
    assert (answered.exit_code, answered.reasons()) == (1, {"regression"})


def test_no_link_is_followed_to_code(run_gate):
    before = {**HAS_TONE, ELSEWHERE: ANYTHING}
    attack = proposal("a link", "", {TONE: Link("../tools/deploy.py")}, before=before)
    assert attack.run_check(run_gate).exit_code == 2


@pytest.mark.long
def test_a_change_of_the_code_is_named_and_runs_after_the_merge(check_of):
    change = proposal("both", "", {TONE: ANYTHING}, recorded=all_say("ok"))
    checked = check_of(base_of(change), change.writes)
    assert checked.code == 0
    assert any(TONE in text for text in checked.contract["weakened"])


@pytest.mark.long
@pytest.mark.parametrize("contract", [CALLS, INSIDE])
def test_a_change_of_the_code_alone_affects_the_contract(contract, check_of):
    change = Proposal("code", "", {TONE: ANYTHING}, contract=contract, before=HAS_TONE)
    checked = check_of(base_of(change), change.writes)
    assert any(TONE in text for text in checked.contract["weakened"])


@pytest.mark.long
def test_a_base_policy_can_require_a_waiver_for_changed_code(check_of):
    before = {**HAS_TONE, POLICY: "on_weakening: require_waiver\n"}
    change = proposal("both", "", {TONE: ANYTHING}, before=before, recorded=all_say("ok"))
    assert check_of(base_of(change), change.writes).codes() == {"weakened"}


def test_a_file_that_no_contract_uses_yet_may_be_merged(check_of):
    change = Proposal("first the file", "", {TONE: SAYS})
    assert check_of(base_of(change), change.writes).code == 0


@pytest.mark.long
def test_a_run_of_one_revision_runs_its_own_code(tmp_path: Path, git_repository):
    contract = CALLS + "slo: {success_rate: 0.5}\n"
    repository = proposal("run", "", {TONE: edited(SAYS, "'ok'", "'x'")}, contract).propose(
        git_repository
    )
    where = ["--repo", str(repository.path), "--out", str(tmp_path / "out")]
    assert main(["run", "--ref", "main", *where]) == 0
    assert main(["run", "--ref", "pr", *where]) == 1


def test_a_commit_that_somebody_names_runs_the_code_of_the_default_branch():
    """So does `workflow_dispatch` with a `ref`, which may be a stranger's."""
    files = {**contract_files(CALLS, WORDS), **HAS_TONE}
    trusted, named = (
        MemoryRevision({path: text.encode() for path, text in {**files, **more}.items()})
        for more in ({}, {TONE: ANYTHING})
    )
    for revisions, code in (((trusted, named), SAYS), (None, ANYTHING)):
        work = plan_run(named, Policy(), trusted=revisions)
        assert work.jobs[0].contract.checks[0].code == {TONE: code}


def test_code_that_will_not_run_is_named_before_any_call():
    files = {**contract_files(CALLS, WORDS), **HAS_TONE}
    named = MemoryRevision({path: text.encode() for path, text in files.items()})
    without = MemoryRevision({p: t for p, t in named.files.items() if p != TONE})
    for trusted, count in ((named, 0), (without, 1)):
        notices = plan_run(named, Policy(), trusted=(trusted,)).affected.notices
        assert sum(TONE in notice for notice in notices) == count


def test_a_wider_pattern_of_code_weakens_the_policy(check_of):
    change = Proposal("wider", "", {POLICY: EVERY_FILE})
    checked = check_of(base_of(change), change.writes)
    assert [found["key"] for found in checked.result["policy_weakened"]] == ["checks.python"]
