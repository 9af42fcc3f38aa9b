"""A policy at head that asks less of what comes after it, or keeps the gate from answering."""

from __future__ import annotations

import pytest
from support.proposals import MANY, NO_SLO, all_say
from support.recorded_repository import contract_files
from support.ways_in import POLICY

BASE = contract_files(NO_SLO, MANY, all_say("ok"))
STRICT = "on_weakening: require_waiver\n"


@pytest.mark.parametrize(
    ("narrowed", "keys"),
    [
        ("prompts: [prompts/words.txt]\n", ["prompts"]),
        ("contracts: contracts/words.yaml\n", ["contracts"]),
        ("prompts: ['prompts/*.txt']\ncontracts: '*/words.*'\n", ["contracts", "prompts"]),
        ("prompts: ['prompts/[a-z]*']\n", ["prompts"]),
    ],
)
def test_patterns_narrowed_to_the_files_of_today_need_a_waiver(run_gate, narrowed, keys):
    answered = run_gate(BASE, {POLICY: STRICT + narrowed}, policy=STRICT)

    assert (answered.exit_code, answered.verdict) == (1, "fail")
    assert [found["key"] for found in answered.result["policy_weakened"]] == keys
    assert answered.reasons() == {"policy_weakened"}


def test_wider_patterns_do_not(run_gate):
    wider = "prompts: [prompts/**, docs/*]\ncontracts: ['**/*.yaml', '**/*.yml']\n"

    answered = run_gate(BASE, {POLICY: STRICT + wider}, policy=STRICT)

    assert (answered.exit_code, answered.result["policy_weakened"]) == (0, [])


@pytest.mark.parametrize("key", ["prompts", "contracts"])
@pytest.mark.parametrize("piece", ["*a", "**a", "**/*a", "[a]*"])
def test_a_pattern_cannot_keep_the_gate_busy(run_gate, key, piece):
    pattern = "docs/" + piece * 12 + "b"
    head = {
        POLICY: f'{key}: ["{key}/**", "{pattern}"]\n',
        "docs/" + "a" * 240: "x",
        "docs/" + "a/" * 120 + "a": "x",
    }

    assert run_gate(BASE, head, policy="{}\n").verdict == "pass"
