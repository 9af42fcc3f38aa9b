"""The workflows for forks use what the action has, and give strangers nothing."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[3]


def workflow(name: str) -> dict[str, Any]:
    text = (ROOT / "docs/workflows" / f"{name}.yml").read_text("utf-8")
    document: dict[str, Any] = yaml.safe_load(text)
    return document


def steps(name: str) -> list[dict[str, Any]]:
    return [step for job in workflow(name)["jobs"].values() for step in job["steps"]]


def test_the_first_stage_has_no_secret_and_writes_nothing() -> None:
    text = (ROOT / "docs/workflows/fork-validate.yml").read_text("utf-8")
    assert "secrets." not in text
    assert "write #" not in text
    # YAML 1.1 reads the bare key `on` as true.
    assert list(workflow("fork-validate")[True]) == ["pull_request"]
    for command in [
        step["run"] for step in steps("fork-validate") if "gatekeeper " in step.get("run", "")
    ]:
        assert " -I -m gatekeeper " in command


def test_the_second_stage_waits_for_reviewers_and_checks_out_the_base() -> None:
    found = workflow("fork-check")
    # In a merge queue it is skipped, so that requiring it blocks no queue.
    assert list(found[True]) == ["pull_request_target", "merge_group"]
    assert "github.event_name == 'pull_request_target'" in found["jobs"]["gate"]["if"]
    (job,) = found["jobs"].values()
    assert job["environment"] == "prompt-gate"
    assert found["permissions"] == {}
    for step in job["steps"]:
        assert "run" not in step
        assert "ref" not in step.get("with", {})
        assert "repository" not in step.get("with", {})


@pytest.mark.parametrize("name", ["fork-check", "bot"])
def test_the_bot_finds_the_run_of_a_fork_by_the_gates_one_name(name: str) -> None:
    (gate,) = [step for step in steps(name) if "gatekeeper@" in step["uses"]]
    assert not gate.get("with", {}).keys() & {"id", "status-context"}


@pytest.mark.parametrize("name", ["fork-validate", "fork-check"])
def test_actions_are_pinned(name: str) -> None:
    for step in steps(name):
        used = step.get("uses", "OWNER/gatekeeper@COMMIT")
        assert used == "OWNER/gatekeeper@COMMIT" or re.fullmatch(r"[\w/-]+@[0-9a-f]{40}", used)
