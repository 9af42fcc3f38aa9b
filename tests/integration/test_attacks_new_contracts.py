"""A worse prompt comes under a new name, with a contract of its own that asks for little."""

from __future__ import annotations

import pytest
from support.edited_text import edited
from support.plain_spaces import spaced
from support.proposals import (
    CONTRACT,
    FIXTURES,
    MANY,
    NO_SLO,
    OTHER,
    POLICY,
    PROMPT_FILE,
    Proposal,
    all_say,
    run_check,
    some_say,
)
from support.recorded_repository import PROMPT, RECORDING, csv, recording, under_name

STRICT = """\
require_contract: true
on_inconclusive: fail
allow: {contract_removal: false, weakening: false}
"""
FLOOR = "new_contracts: {fixtures: 30, success_rate: 0.9}\n"
NEW_CONTRACT = "contracts/texts.yaml"
NEW_PROMPT = "prompts/texts.txt"
NEW_FIXTURES = "contracts/texts.csv"
DIFFERENT = f"Now a prompt that nobody takes for the other. {OTHER}"
TINY = under_name(NO_SLO, "texts", "txt", "csv") + "slo: {success_rate: 0.01}\n"
BASE = Proposal("base", "", {}, recorded=some_say("no", 20, DIFFERENT)).base
REPLACED = {
    CONTRACT: None,
    PROMPT_FILE: None,
    FIXTURES: None,
    NEW_CONTRACT: TINY,
    NEW_PROMPT: DIFFERENT,
    NEW_FIXTURES: csv(MANY),
}


def test_a_prompt_that_is_replaced_together_with_its_contract_does_not_pass(run_gate):
    answered = run_gate(BASE, REPLACED, policy=STRICT)
    assert (answered.exit_code, answered.verdict) == (1, "inconclusive")
    assert answered.reasons("inconclusive") == {"replaced"}
    assert "texts" in answered.text


@pytest.mark.parametrize(
    "changes",
    [
        # the prompt comes without a contract
        {NEW_CONTRACT: None, NEW_FIXTURES: None},
        # the new contract stands in a file of another kind of name
        {NEW_CONTRACT: None, "contracts/a/b.yaml": edited(TINY, "texts.csv", "/" + NEW_FIXTURES)},
    ],
)
def test_other_ways_to_replace_do_not_pass_either(run_gate, changes):
    head = {**REPLACED, **changes}
    if "contracts/a/b.yaml" in head:
        head["contracts/a/b.yaml"] = edited(
            TINY, "../prompts", "/prompts", "file: texts.csv", f"file: /{NEW_FIXTURES}"
        )
    answered = run_gate(BASE, {k: v for k, v in head.items() if v or k in BASE})
    assert answered.verdict == "inconclusive"
    assert answered.reasons("inconclusive") == {"replaced"}


def test_another_contract_that_turns_to_the_new_prompt_does_not_pass(run_gate):
    base = {**BASE, NEW_CONTRACT: edited(TINY, "texts.txt", "old.txt"), "prompts/old.txt": PROMPT}
    base[NEW_FIXTURES] = csv(MANY)
    head = {**REPLACED, "prompts/old.txt": None}
    answered = run_gate(base, {k: v for k, v in head.items() if v or k in base})
    assert answered.verdict != "pass"


def test_a_replaced_prompt_under_the_contracts_name_is_compared(run_gate):
    head = {**REPLACED, NEW_CONTRACT: edited(TINY, "name: texts", "name: words")}
    answered = run_gate(BASE, head)
    assert answered.exit_code == 1
    assert "regression" in answered.reasons()


HONEST = [
    ("a contract goes with its prompt", {CONTRACT: None, PROMPT_FILE: None, FIXTURES: None}, ""),
    (
        "a contract comes",
        {
            NEW_CONTRACT: edited(TINY, "0.01", "0.9"),
            NEW_PROMPT: PROMPT,
            NEW_FIXTURES: csv(MANY),
        },
        FLOOR,
    ),
    ("the policy allows it", REPLACED, edited(STRICT, "removal: false", "removal: true")),
]


@pytest.mark.parametrize(("_name", "head", "policy"), HONEST, ids=[row[0] for row in HONEST])
def test_what_replaces_nothing_may_merge(git_repository, tmp_path, _name, head, policy):
    proposal = Proposal(
        "honest", "", head, recorded=some_say("no", 20, DIFFERENT), before={POLICY: policy or "{}"}
    )
    code, result = run_check(proposal, git_repository, tmp_path)
    assert (code, result["verdict"]) == (0, "pass")


# The floor for new contracts

ADDED = {
    NEW_CONTRACT: TINY,
    NEW_PROMPT: DIFFERENT,
    NEW_FIXTURES: csv(MANY),
    RECORDING: recording(all_say("ok", PROMPT) | some_say("no", 20, DIFFERENT)),
}


def test_a_new_contract_is_held_to_the_policys_success_rate(run_gate):
    answered = run_gate(BASE, ADDED, policy=FLOOR)
    assert (answered.exit_code, answered.reasons()) == (1, {"slo"})
    assert run_gate(BASE, ADDED).exit_code == 0


@pytest.mark.parametrize(
    "fixtures",
    [
        csv(MANY[:29]),
        # as many as are asked for, of which most repeat an input
        "id,word\n" + "".join(f"{number},tree\n" for number in range(40)),
        # inputs that differ in a variable that the prompt does not use
        "id,word,other\n" + "".join(f"{number},tree,{number}\n" for number in range(40)),
    ],
)
def test_a_new_contract_must_have_the_policys_fixtures(run_gate, fixtures):
    tree = {edited(DIFFERENT, "{{ word }}", "tree").strip(): "ok"}
    said = recording(all_say("ok", PROMPT) | all_say("ok", DIFFERENT) | tree)
    head = {**ADDED, NEW_FIXTURES: fixtures, RECORDING: said}
    answered = run_gate({**BASE, RECORDING: said}, head, policy=FLOOR)
    assert (answered.exit_code, answered.reasons()) == (1, {"new_contract"})


def test_a_contract_that_did_not_load_at_base_is_held_to_it(git_repository, tmp_path):
    broken = Proposal(
        "broken",
        "",
        {CONTRACT: NO_SLO, FIXTURES: csv(MANY[:10])},
        contract=NO_SLO + "typo: 1\n",
        before={POLICY: FLOOR},
    )
    code, result = run_check(broken, git_repository, tmp_path)
    (contract,) = result["contracts"]
    assert code == 1
    assert "new_contract" in {reason["code"] for reason in contract["reasons"]}


def test_a_prompt_whose_contract_did_not_load_at_base_is_not_replaced_unseen(run_gate):
    base = {**BASE, CONTRACT: NO_SLO + "typo: 1\n"}
    head = {CONTRACT: edited(TINY, "name: texts", "name: words"), PROMPT_FILE: None}
    head |= {NEW_PROMPT: DIFFERENT, NEW_FIXTURES: csv(MANY)}
    answered = run_gate(base, head)
    assert answered.verdict == "inconclusive"
    assert "replaced" in answered.reasons("inconclusive")


def test_a_contract_that_has_a_base_version_is_not_held_to_it(git_repository, tmp_path):
    few = Proposal(
        "few",
        "",
        {PROMPT_FILE: OTHER},
        recorded=all_say("ok"),
        before={POLICY: FLOOR, FIXTURES: csv(MANY[:10])},
    )
    code, _ = run_check(few, git_repository, tmp_path)
    assert code == 0


EASY = "id,word,category\n" + "".join(
    f"{word},{word},{'hard' if number < 39 else 'easy'}\n" for number, word in enumerate(MANY)
)
WITH_LENGTH = edited(TINY, "checks:\n", "checks:\n  - {type: length, max: 99, name: short}\n")
NARROW = {
    "a category": edited(
        TINY, "{success_rate: 0.01}", "{categories: {easy: {success_rate: 0.01}}}"
    ),
    "a check": edited(WITH_LENGTH, "success_rate: 0.01", "checks: {short: 0.9}"),
    "a tolerance": edited(TINY, "slo: {success_rate: 0.01}", "gate: {tolerance: 0.01}"),
}


@pytest.mark.parametrize("policy", ["{}\n", FLOOR])
@pytest.mark.parametrize("contract", NARROW.values(), ids=NARROW)
def test_a_narrow_promise_does_not_lift_the_success_rate(run_gate, contract, policy):
    said = recording(all_say("ok", PROMPT) | some_say("no", 39, DIFFERENT))
    head = {**ADDED, NEW_CONTRACT: contract, NEW_FIXTURES: EASY, RECORDING: said}
    answered = run_gate({**BASE, RECORDING: said}, head, policy=policy)
    assert (answered.exit_code, answered.reasons()) == (1, {"slo"})


@pytest.mark.parametrize(
    ("policy", "asked", "applies"), [("{}\n", "50 %", False), (FLOOR, "90 %", True)]
)
def test_a_success_rate_below_the_policys_is_named(run_gate, policy, asked, applies):
    answered = run_gate(BASE, ADDED, policy=policy)
    [notice] = [spaced(text) for text in answered.result["notices"] if "success rate" in text]
    assert "The new contract texts sets the success rate 1 %, but" in notice
    assert f"in the policy is {asked}" in notice
    assert notice.endswith(f", so {asked} applies.") == applies
