"""What a pull request multiplies is refused within seconds, by every way into the gate, and costs
no call."""

from __future__ import annotations

import json

import pytest
from support.edited_text import edited
from support.pull_request import BROKEN, CONTRACT, FILES, FIXTURES, HARMLESS, PROMPT, answer
from support.ways_in import RunGate

from gatekeeper.contract.reading import size_limits as sizes

CONTRACT_PATH = "contracts/sentiment.yaml"
ROWS_PATH = "contracts/sentiment.fixtures.jsonl"
CHECK = '  - {type: equals, value: "{{ expected }}"}\n'


def _rows(count: int) -> str:
    row = {"vars": {"review": "I love it."}, "expected": "positive"}
    return f"{json.dumps(row)}\n" * count


ATTACKS: dict[str, dict[str, str]] = {
    "rows": {ROWS_PATH: _rows(sizes.MOST_FIXTURES + 1)},
    "fixtures x samples": {
        ROWS_PATH: _rows(2_000),
        CONTRACT_PATH: edited(CONTRACT, "samples: 1,", "samples: 1000,"),
    },
    "fixtures x checks": {
        ROWS_PATH: _rows(sizes.MOST_APPLIED // 400 + 1),
        CONTRACT_PATH: CONTRACT.replace(CHECK, "  - {type: contains, value: a}\n" * 400),
    },
    "checks": {CONTRACT_PATH: CONTRACT.replace(CHECK, CHECK * (sizes.MOST_CHECKS + 1))},
    "values": {CONTRACT_PATH: CONTRACT + "#" + "\nx: [" + "1, " * 260_000 + "1]\n"},
    "a large file": {ROWS_PATH: _rows(10) + " " * 20_000_001},
}


@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS)
def test_what_multiplies_is_refused_before_any_call(
    run_gate: RunGate, attack: dict[str, str]
) -> None:
    answered = run_gate(FILES, {PROMPT: BROKEN, **attack}, answer=answer)
    assert (answered.exit_code, answered.result) == (2, None)
    assert "contracts/sentiment" in answered.text
    assert answered.requests == ()


def test_judges_that_multiply_are_refused_before_any_call(
    run_gate: RunGate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sizes, "MOST_QUESTIONS", 2 * FIXTURES * 81 - 1)
    named = ", ".join(f"openai/judge-{number}" for number in range(9))
    judges = f"  - {{judge: rubric, criteria: Good., models: [{named}], repeat: 9}}\n"
    many = {CONTRACT_PATH: CONTRACT.replace(CHECK, CHECK + judges)}
    answered = run_gate(FILES, {PROMPT: BROKEN, **many}, answer=answer)
    assert (answered.exit_code, answered.result) == (2, None)
    assert "questions" in answered.text
    assert answered.requests == ()


def test_contracts_without_number_are_refused(
    run_gate: RunGate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sizes, "MOST_CONTRACTS", 5)
    many = {f"contracts/c{n}.yaml": CONTRACT.replace("sentiment\n", f"c{n}\n", 1) for n in range(6)}
    answered = run_gate(FILES, {PROMPT: BROKEN, **many}, answer=answer)
    assert (answered.exit_code, answered.result) == (2, None)
    assert answered.requests == ()


def test_head_cannot_fill_the_memory_so_that_the_base_contract_is_left_out(
    run_gate: RunGate, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That base could not be read would have the contract evaluated as new."""
    monkeypatch.setattr("gatekeeper.git.objects.MOST_BYTES_HELD", 20_000)
    answered = run_gate(FILES, {PROMPT: BROKEN, ROWS_PATH: _rows(1_000)}, answer=answer)
    assert answered.exit_code == 3
    assert answered.requests == ()


def test_a_change_within_the_bounds_is_checked(
    run_gate: RunGate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sizes, "MOST_FIXTURES", FIXTURES)
    monkeypatch.setattr(sizes, "MOST_TRIALS", 4 * FIXTURES)
    monkeypatch.setattr(sizes, "MOST_APPLIED", FIXTURES)

    assert run_gate(FILES, {PROMPT: HARMLESS}, answer=answer).exit_code == 0
