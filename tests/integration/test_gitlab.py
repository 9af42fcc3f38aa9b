"""GitLab and any other CI in docs/other-systems.md, executed as a job's shell would start them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from support.git_repository import isolated_environment
from support.gitlab_server import TOKEN, FakeGitlab
from support.proposed_change import propose
from support.recorded_repository import PROMPT, WORDS, answers, contract_files

PAGE = Path(__file__).parents[2] / "docs" / "other-systems.md"
BIN = Path(sys.executable).parent
WORSE = "Spell {{ word }}.\n"


def blocks(section: str, language: str) -> list[str]:
    text = PAGE.read_text("utf-8").split(f"\n## {section}\n")[1].split("\n## ")[0]
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A clone at the head of a change that breaks the prompt."""
    known = answers(PROMPT, dict.fromkeys(WORDS, "ok")) | answers(WORSE, dict.fromkeys(WORDS, "no"))
    base = contract_files(recorded=known)
    made = propose(tmp_path / "origin", base, {"prompts/words.txt": WORSE})
    made.origin.git("clone", "--quiet", "--branch", "change", ".", str(tmp_path / "clone"))
    return tmp_path / "clone"


def start(lines: list[str], clone: Path, **variables: str) -> int:
    environment = isolated_environment() | {"PATH": f"{BIN}:{os.environ['PATH']}"} | variables
    script = ["bash", "-eo", "pipefail", "-c", "\n".join(lines)]
    return subprocess.run(script, cwd=clone, env=environment, check=False).returncode


def test_the_job_of_gitlab_fails_and_comments(clone):
    job = yaml.safe_load(blocks("GitLab", "yaml")[0])["prompts"]
    sha = (clone / ".git/refs/heads/change").read_text("utf-8").strip()
    with FakeGitlab(sha) as gitlab:
        variables = {
            "CI_SERVER_URL": gitlab.url,
            "CI_PROJECT_ID": "5",
            "CI_MERGE_REQUEST_IID": "7",
            "CI_COMMIT_SHA": sha,
            "CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "main",
            "GATEKEEPER_GITLAB_TOKEN": TOKEN,
        }
        codes = [start(job[name], clone, **variables) for name in ("script", "after_script")]

    assert codes == [1, 0]
    [note] = gitlab.notes
    assert "words" in note["body"]
    reports = job["artifacts"]["reports"]
    assert (clone / reports["junit"]).is_file()
    [finding] = json.loads((clone / reports["codequality"]).read_text("utf-8"))
    assert finding["location"]["path"] == "prompts/words.txt"


@pytest.mark.long
def test_the_nightly_job_of_gitlab_keeps_a_history(clone):
    job = yaml.safe_load(blocks("GitLab", "yaml")[1])["prompts-nightly"]
    for nights in (1, 2):
        start(job["script"], clone)
        file = clone / "past.jsonl"
        listed = "gatekeeper history --history branch:gatekeeper-data --format jsonl"
        assert start([f"{listed} > {file}"], clone) == 0
        assert len(file.read_text("utf-8").splitlines()) == nights


@pytest.mark.long
def test_the_commands_for_any_system_end_with_the_exit_code(clone):
    [commands] = blocks("Any other CI", "sh")
    lines = [line for line in commands.splitlines() if not line.startswith("pip install")]

    assert start(lines, clone) == 1
    assert (clone / ".gatekeeper/out/junit.xml").is_file()


@pytest.mark.long
def test_the_configuration_is_one_of_gitlab_ci(tmp_path):
    for number, block in enumerate(blocks("GitLab", "yaml")):
        file = tmp_path / f"{number}.yml"
        file.write_text(block, "utf-8")
        command = ["check-jsonschema", "--builtin-schema", "vendor.gitlab-ci", str(file)]
        command[0] = str(BIN / command[0])
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout
