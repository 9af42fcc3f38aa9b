"""The harness itself: each way in checks the change, with the model and the key it is given."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from support.git_repository import GitRepository
from support.proposed_change import Link, Submodule
from support.pull_request import BROKEN, FILES, FIXTURES, HARMLESS, PROMPT, answer
from support.ways_in import KEY, RunGate


@pytest.fixture
def run_gate(run_gate_each_way: RunGate) -> RunGate:
    """Take every way in, in `make test` too."""
    return run_gate_each_way


def test_a_broken_prompt_fails(run_gate: RunGate) -> None:
    answered = run_gate(FILES, {PROMPT: BROKEN}, answer=answer)
    assert (answered.exit_code, answered.verdict) == (1, "fail")
    assert answered.reasons() == {"regression"}
    assert len(answered.requests) == 2 * FIXTURES
    assert {headers["authorization"] for headers in answered.headers} == {f"Bearer {KEY}"}
    assert "sentiment" in answered.text


def test_a_harmless_prompt_passes(run_gate: RunGate) -> None:
    answered = run_gate(FILES, {PROMPT: HARMLESS}, answer=answer)
    assert (answered.exit_code, answered.verdict) == (0, "pass")
    assert answered.reasons("pass")


def test_a_fork_is_checked_as_a_fork(run_gate: RunGate) -> None:
    """What might cost more than the policy allows is refused to a fork alone, before any call."""
    answered = run_gate(FILES, {PROMPT: HARMLESS}, answer=answer, policy="limits: {calls: 5}\n")
    assert answered.exit_code == 3
    assert len(answered.requests) == (0 if answered.way == "fork_stage" else 5)
    assert (answered.verdict is None) == (answered.way == "fork_stage")


def test_without_an_answer_the_model_refuses(run_gate: RunGate) -> None:
    answered = run_gate(FILES, {PROMPT: HARMLESS})
    assert (answered.exit_code, answered.verdict) == (3, "error")
    assert answered.requests


def test_a_contract_that_does_not_load_leaves_no_result(run_gate: RunGate) -> None:
    answered = run_gate(FILES, {PROMPT: HARMLESS, "contracts/sentiment.yaml": "contract: 1\n"})
    assert (answered.exit_code, answered.verdict, answered.result) == (2, None, None)
    assert "contracts/sentiment.yaml" in answered.text
    assert answered.requests == ()


def test_links_and_submodules_are_written_as_such(run_gate: RunGate) -> None:
    seen: dict[str, str] = {}

    def look(repository: GitRepository) -> None:
        seen.update(line.split()[::3] for line in _tree(repository))

    head = {PROMPT: Link("../other.md"), "kept": Submodule(), 'a "b"\n\tü.txt': b"\x00"}
    answered = run_gate(FILES, head, answer=answer, work=look)
    assert answered.exit_code in (1, 2)
    assert seen["120000"] == PROMPT
    assert seen["160000"] == "kept"


def _tree(repository: GitRepository) -> list[str]:
    return repository.git("ls-tree", "-r", "HEAD").splitlines()


def test_what_is_done_to_the_work_tree_is_part_of_head(run_gate: RunGate) -> None:
    def break_it(repository: GitRepository) -> None:
        repository.write(PROMPT, BROKEN)

    assert run_gate(FILES, {}, answer=answer, work=break_it).verdict == "fail"


def test_what_main_got_since_is_merged(run_gate: RunGate) -> None:
    since = {".github/gatekeeper.yml": "require_contract: true\n"}
    answered = run_gate(FILES, {"prompts/new.md": "New."}, answer=answer, since=since)
    assert (answered.exit_code, answered.verdict) == (1, "fail")


def test_a_history_is_read(run_gate: RunGate) -> None:
    def model(body: Mapping[str, Any]) -> str:
        return answer(body)

    answered = run_gate(FILES, {PROMPT: HARMLESS}, answer=model, history="not JSON\n")
    assert answered.result is not None
    assert any(":1: " in notice for notice in answered.result["notices"])


def test_several_changes_are_checked_one_after_the_other(run_gate: RunGate) -> None:
    codes = [
        run_gate(FILES, {PROMPT: text}, answer=answer).exit_code for text in (BROKEN, HARMLESS)
    ]
    assert codes == [1, 0]
