"""The hooks of .pre-commit-hooks.yaml, installed and run by pre-commit itself."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from support.edited_text import edited
from support.git_repository import GitRepository, isolated_environment
from support.recorded_repository import contract_files
from support.release_sources import write_release

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/other-systems.md").read_text("utf-8").split("\n## pre-commit\n")[1]

pytestmark = pytest.mark.long


@pytest.fixture
def repository(tmp_path: Path) -> GitRepository:
    """A repository with the configuration of the page, and a prompt that a change broke."""
    sources = write_release(tmp_path / "gatekeeper")
    config = PAGE.split("```yaml\n")[1].split("```")[0]
    config = edited(config, "https://github.com/OWNER/gatekeeper", sources.path.as_uri())
    made = GitRepository.create(tmp_path / "words")
    made.write_all(contract_files())
    made.write(".pre-commit-config.yaml", edited(config, "v1.2.3", "v0.1.0"))
    made.commit("base")
    return made


def run_hooks(repository: GitRepository, home: Path) -> tuple[int, str]:
    """The exit code and output of pre-commit. Its environments take the dependencies from this
    one, so that nothing is downloaded."""
    environment = isolated_environment() | {
        "PRE_COMMIT_HOME": str(home),
        "PYTHONPATH": sysconfig.get_path("purelib"),
        "PIP_NO_DEPS": "1",
        "PIP_NO_BUILD_ISOLATION": "0",
        "PIP_NO_INDEX": "1",
        "NO_COLOR": "1",
    }
    command = [
        sys.executable,
        "-m",
        "pre_commit",
        "run",
        "--all-files",
        "--verbose",
        "--color=never",
    ]
    done = subprocess.run(
        command, cwd=repository.path, env=environment, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout + done.stderr


def test_pre_commit_installs_and_runs_the_hooks(repository, tmp_path):
    home = tmp_path / "home"
    code, said = run_hooks(repository, home)
    assert code == 0, said
    assert "contracts/words.yaml" in said

    repository.write("prompts/words.txt", "Say {{ wrod }}.\n")
    repository.git("add", "--all")
    code, said = run_hooks(repository, home)

    assert code == 1
    assert "wrod" in said
