"""A pull request that brings past runs of its own, by each way in: they are not believed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from support.past_runs import line
from support.proposed_change import Link
from support.pull_request import CONTRACT, FILES, HARMLESS, PROMPT, answer
from support.ways_in import RunGate, by_the_action

BASE = {**FILES, "contracts/sentiment.yaml": CONTRACT + "slo: {success_rate: 0.9, window: 28d}\n"}


def a_run(failed: int) -> str:
    """The same run on each of eight nights."""
    nights = [(datetime.now(UTC) - timedelta(days=d)).isoformat() for d in range(1, 9)]
    counts = {"samples": 1000, "failed": failed, "calls": 1000}
    return "".join(line(time=time, contract="sentiment", **counts) + "\n" for time in nights)


def test_the_budget_of_a_history_in_the_repository_freezes(run_gate: RunGate) -> None:
    """The tests below could not fail if such a history was never read."""
    base = {**BASE, "runs.jsonl": a_run(900)}
    found = run_gate(base, {PROMPT: HARMLESS}, answer=answer, history_path="runs.jsonl")
    assert (found.exit_code, found.reasons()) == (1, {"budget"})


@pytest.mark.parametrize("before", [{"past/runs.jsonl": a_run(900)}, {}], ids=["changed", "added"])
def test_a_pull_request_does_not_write_its_own_past(
    before: dict[str, str], run_gate: RunGate
) -> None:
    head = {PROMPT: HARMLESS, "past/runs.jsonl": a_run(0)}
    found = run_gate({**BASE, **before}, head, answer=answer, history_path="past/runs.jsonl")
    assert (found.exit_code, found.result, found.requests) == (2, None, ())
    assert "past/runs.jsonl" in found.log


def test_a_change_to_the_past_alone_is_for_people_to_review(run_gate: RunGate) -> None:
    """Else a file that should never have been committed could not be taken out again."""
    base = {**BASE, "runs.jsonl": a_run(900)}
    found = run_gate(base, {"runs.jsonl": a_run(0)}, answer=answer, history_path="runs.jsonl")
    assert found.exit_code == 0


def test_a_link_to_the_past_is_no_way_around(run_gate: RunGate) -> None:
    base = {**BASE, "runs.jsonl": a_run(900), "fine.jsonl": a_run(0)}

    def link(repository: object) -> None:
        path = repository.path / "runs.jsonl"  # type: ignore[attr-defined]
        path.unlink()
        path.symlink_to("fine.jsonl")

    found = run_gate(base, {PROMPT: HARMLESS}, answer=answer, history_path="runs.jsonl", work=link)
    assert (found.exit_code, found.result) == (2, None)


@pytest.mark.parametrize("suffix", ["-journal", "-wal", "-shm"])
def test_a_file_that_sqlite_reads_beside_the_history_is_part_of_it(
    suffix: str, run_gate: RunGate
) -> None:
    """A hot journal rewrites the database when it is opened."""
    head = {PROMPT: HARMLESS, f"runs.sqlite{suffix}": "a journal"}
    found = run_gate(BASE, head, answer=answer, history_path="runs.sqlite")
    assert (found.exit_code, found.result) == (2, None)


@pytest.mark.parametrize("location", ["data/../runs.jsonl", "data//../runs.jsonl", "./runs.jsonl"])
def test_another_spelling_of_the_path_is_no_way_around(location: str, run_gate: RunGate) -> None:
    base = {**BASE, "runs.jsonl": a_run(900), "data/x.txt": "x"}
    head = {PROMPT: HARMLESS, "runs.jsonl": a_run(0)}
    found = run_gate(base, head, answer=answer, policy=f"history: {location}\n")
    if found.way == "check":
        found = run_gate(base, head, answer=answer, history_path=location)
    assert (found.exit_code, found.result) == (2, None)


def test_a_colon_makes_a_path_no_address(run_gate: RunGate) -> None:
    base = {**BASE, "runs:main.jsonl": a_run(900)}
    head = {PROMPT: HARMLESS, "runs:main.jsonl": a_run(0)}
    found = run_gate(base, head, answer=answer, history_path="runs:main.jsonl")
    assert (found.exit_code, found.result) == (2, None)


def test_what_a_link_of_base_leads_to_is_part_of_it(run_gate: RunGate) -> None:
    base = {**BASE, "data/real.jsonl": a_run(900), "runs.jsonl": Link("data/real.jsonl")}
    head = {PROMPT: HARMLESS, "data/real.jsonl": a_run(0)}
    found = run_gate(base, head, answer=answer, history_path="runs.jsonl")
    assert (found.exit_code, found.result) == (2, None)


@pytest.mark.long
@by_the_action
def test_a_location_of_another_kind_is_no_file_of_the_repository(run_gate: RunGate) -> None:
    """`off` is a word of the action's input."""
    head = {PROMPT: HARMLESS, "off": "Not a history."}
    assert run_gate(BASE, head, answer=answer, history_path="off").exit_code == 0
