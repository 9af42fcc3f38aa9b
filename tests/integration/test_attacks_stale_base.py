"""An author may start from any commit of the branch: what the merge would make is what counts."""

from __future__ import annotations

import json

import pytest
from support.edited_text import edited
from support.proposals import CONTRACT, FIXTURES, MANY, NO_SLO, OTHER, POLICY, PROMPT_FILE, some_say
from support.recorded_repository import PROMPT, check, contract_files, csv, result_of, under_name

from gatekeeper.cli.main import main

LAX = edited(NO_SLO, "pattern: ok", "pattern: '.'")
assert LAX != NO_SLO
FEW = MANY[:12]
THIRD = "Say now {{ word }}.\n"
SAID = some_say("no", 8) | some_say("ok", 0, PROMPT) | some_say("no", 8, THIRD)
COMMENT = "# a remark of the author\n"


def start(contract: str, **more: str) -> dict[str, str]:
    return contract_files(contract, FEW, SAID) | more


@pytest.fixture
def check_parted(git_repository, tmp_path):
    """The exit code and result of a change that parted from `base` before main got `since`."""

    def run(base, since, head, *, worktree=False):
        made = git_repository("words")
        made.write_all(base)
        made.commit("base")
        made.branch("pr")
        made.write_all(head)
        made.commit("head")
        made.switch("main")
        for path, text in since.items():
            if text is None:
                made.delete(path)
            else:
                made.write(path, text)
        made.commit("since")
        made.switch("pr")
        out = tmp_path / "out"
        own = ["check", "--repo", str(made.path), "--base", "main", "--worktree", "--out", str(out)]
        code = main(own) if worktree else check(made, out)
        return code, result_of(out)

    return run


STRICTER = {
    "a check": (start(LAX), {CONTRACT: NO_SLO}, {PROMPT_FILE: OTHER}),
    "fixtures": (
        start(NO_SLO) | {FIXTURES: csv(FEW[8:])},
        {FIXTURES: csv(FEW)},
        {PROMPT_FILE: OTHER},
    ),
    "the first contract": (
        {k: v for k, v in start(NO_SLO).items() if k != CONTRACT},
        {CONTRACT: NO_SLO},
        {PROMPT_FILE: OTHER},
    ),
    "another contract": (
        start(LAX),
        {"contracts/more.yaml": under_name(NO_SLO, "more")},
        {PROMPT_FILE: OTHER},
    ),
    "a contract that moved and got stricter": (
        start(LAX),
        {CONTRACT: None, "contracts/moved.yaml": NO_SLO},
        {PROMPT_FILE: OTHER},
    ),
    "a check, and the change comments on the contract": (
        start(LAX),
        {CONTRACT: NO_SLO},
        {PROMPT_FILE: OTHER, CONTRACT: COMMENT + LAX},
    ),
    "a check, and the change is in conflict with it": (
        start(LAX),
        {CONTRACT: NO_SLO},
        {PROMPT_FILE: OTHER, CONTRACT: edited(LAX, "pattern: '.'", "pattern: '.+'")},
    ),
}


@pytest.mark.parametrize(("base", "since", "head"), STRICTER.values(), ids=STRICTER.keys())
def test_what_became_stricter_since_the_change_parted_applies(check_parted, base, since, head):
    code, result = check_parted(base, since, head)
    assert code == 1
    assert "regression" in {r["code"] for c in result["contracts"] for r in c["reasons"]}


def test_the_same_goes_for_the_work_tree(check_parted):
    base, since, head = STRICTER["a check"]
    code, _ = check_parted(base, since, head, worktree=True)
    assert code == 1


def test_a_conflict_is_named(check_parted):
    base, since, head = STRICTER["a check, and the change is in conflict with it"]
    _, result = check_parted(base, since, head)
    assert any("in conflict" in said and CONTRACT in said for said in result["notices"])


UNTOUCHED = {
    "main changed the prompt": (start(NO_SLO), {PROMPT_FILE: OTHER}, {"README.md": "Hello."}),
    "both made the same change": (start(NO_SLO), {PROMPT_FILE: OTHER}, {PROMPT_FILE: OTHER}),
    "main loosened the contract": (start(NO_SLO), {CONTRACT: LAX}, {"README.md": "Hello."}),
    "main added a policy": (
        start(NO_SLO),
        {POLICY: "on_weakening: require_waiver\n"},
        {"README.md": "Hello."},
    ),
}


@pytest.mark.parametrize(("base", "since", "head"), UNTOUCHED.values(), ids=UNTOUCHED.keys())
def test_what_main_changed_since_is_not_the_changes(check_parted, base, since, head):
    code, result = check_parted(base, since, head)
    assert code == 0
    assert result["contracts"] == []
    assert "in conflict" not in json.dumps(result["notices"])


def test_a_prompt_that_both_edit_is_tested_with_both_edits(check_parted):
    lines = "".join(f"Line {number}.\n" for number in range(9))
    before = f"{lines}Say {{{{ word }}}}.\n"
    theirs, ours = (before.replace(f"Line {n}.", f"Edited {n}.") for n in (0, 8))
    merged = edited(theirs, "Line 8.", "Edited 8.")
    said = some_say("no", 8, merged) | some_say("ok", 0, theirs) | some_say("ok", 0, ours)
    base = contract_files(NO_SLO, FEW, said) | {PROMPT_FILE: before}
    code, result = check_parted(base, {PROMPT_FILE: theirs}, {PROMPT_FILE: ours})
    assert code == 1
    [contract] = result["contracts"]
    assert contract["base"]["passed"] == contract["base"]["samples"] > 7
    assert contract["verdict"] == "fail"
