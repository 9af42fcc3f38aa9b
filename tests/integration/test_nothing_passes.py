"""A green answer says that something passes: of a new prompt, and of one that nothing compares."""

from __future__ import annotations

from typing import Any

import pytest
from support.edited_text import edited
from support.proposals import CONTRACT, FIXTURES, MANY, NO_SLO, PROMPT_FILE, all_say, some_say
from support.recorded_repository import (
    PROMPT,
    RECORDING,
    WORDS,
    contract_files,
    csv,
    recording,
    result_of,
)

from gatekeeper.cli.main import main

EMPTY = {"README.md": "Nothing yet.\n"}


def new(contract: str = NO_SLO, failing: int = 40, words: tuple[str, ...] = MANY) -> dict[str, str]:
    """A pull request that brings the first contract and prompt; the first words fail."""
    return {
        CONTRACT: contract,
        PROMPT_FILE: PROMPT,
        FIXTURES: csv(words),
        RECORDING: recording(some_say("no", failing, PROMPT)),
    }


def test_a_new_prompt_that_passes_none_of_its_fixtures_does_not_merge(run_gate: Any) -> None:
    answered = run_gate(EMPTY, new())
    assert (answered.exit_code, answered.verdict) == (1, "fail")
    assert answered.reasons() == {"slo", "nothing_passes"}
    [slo] = answered.result["contracts"][0]["slo"]
    assert (slo["objective"], slo["target"], slo["default"]) == ("success_rate", 0.5, True)
    assert "default" in answered.text
    assert answered.result["contracts"][0]["reasons"][0]["code"] == "nothing_passes"


CASES = {
    "most fail": (new(failing=34), "", (1, {"slo"})),
    "half fail, by chance or not": (new(failing=22), "", (0, set())),
    "half pass": (new(failing=20), "", (0, set())),
    "its own objective asks less": (
        new(NO_SLO + "slo: {success_rate: 0.1}\n", failing=34),
        "",
        (0, set()),
    ),
    # Any tolerance, however small, would lift the default.
    "its own tolerance asks less, and is no objective": (
        new(NO_SLO + "gate: {tolerance: 0.1}\n", failing=34),
        "",
        (1, {"slo"}),
    ),
    "the policy's floor holds against it": (
        new(NO_SLO + "slo: {success_rate: 0.1}\n", failing=34),
        "new_contracts: {success_rate: 0.5}",
        (1, {"slo"}),
    ),
    "the policy lifts the default": (
        new(failing=34),
        "new_contracts: {success_rate: null}",
        (0, set()),
    ),
    "but something must pass": (
        new(),
        "new_contracts: {success_rate: null}",
        (1, {"nothing_passes"}),
    ),
    "a few fixtures are enough to see that": (
        new(words=WORDS) | {RECORDING: recording(all_say("no", PROMPT))} | new(words=MANY[:2]),
        "",
        (1, {"nothing_passes"}),
    ),
    "an objective on latency alone promises nothing of what passes": (
        new(NO_SLO + "slo: {latency_p95_ms: 4000}\n", failing=34),
        "",
        (1, {"slo"}),
    ),
}


@pytest.mark.parametrize(("head", "policy", "wanted"), CASES.values(), ids=CASES)
def test_what_a_new_contract_is_held_to(check_of, head, policy, wanted) -> None:
    found = check_of(EMPTY | {".github/gatekeeper.yml": policy or "{}"}, head)
    assert (found.code, found.codes()) == wanted


def test_a_prompt_that_was_broken_before_is_not_green_either(check_of) -> None:
    """Base and head agree: nothing passes."""
    broken = all_say("no", PROMPT) | all_say("no", "Tell {{ word }}.\n")
    base = contract_files(NO_SLO, MANY, broken)
    found = check_of(base, {PROMPT_FILE: "Tell {{ word }}.\n"})
    assert (found.code, found.codes()) == (1, {"nothing_passes"})


def test_a_contract_that_is_repaired_is_not_held_to_the_old_one(check_of) -> None:
    """Nothing could pass under the base contract; that is what the pull request repairs."""
    wrong = edited(NO_SLO, "pattern: ok", "pattern: never")
    found = check_of(contract_files(wrong, MANY), {CONTRACT: NO_SLO})
    assert (found.code, found.codes()) == (0, set())


@pytest.mark.parametrize(
    ("failing", "words", "wanted"),
    [
        (3, MANY[:3], (1, {"nothing_passes"})),
        (2, MANY[:3], (0, set())),
        (0, MANY[:3], (0, set())),
        (40, MANY, (1, {"slo", "nothing_passes"})),
        (34, MANY, (1, {"slo"})),
    ],
)
def test_a_full_suite_is_held_to_the_default(git_repository, tmp_path, failing, words, wanted):
    made = git_repository("words")
    made.write_all(new(failing=failing, words=words))
    made.commit("base")
    code = main(["run", "--repo", str(made.path), "--out", str(tmp_path)])
    [contract] = result_of(tmp_path)["contracts"]
    fails = {r["code"] for r in contract["reasons"] if r["verdict"] == "fail"}
    assert (code, fails) == wanted
    assert [slo["default"] for slo in contract["slo"]] == [True]
    assert contract["error_budgets"] == []


def test_the_policy_that_sets_the_rate_of_a_new_contract_is_named(check_of) -> None:
    policy = EMPTY | {".github/gatekeeper.yml": "new_contracts: {success_rate: 0.5}"}
    found = check_of(policy, new(failing=34))
    [reason] = [r for r in found.contract["reasons"] if r["verdict"] == "fail"]
    assert "`new_contracts.success_rate`" in reason["text"]
