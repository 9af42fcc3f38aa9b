"""The files that are released, as a repository of their own with the tag v0.1.0."""

from __future__ import annotations

import shutil
from pathlib import Path

from support.git_repository import GitRepository

ROOT = Path(__file__).parents[2]
FILES = ("pyproject.toml", "README.md", "LICENSE", ".pre-commit-hooks.yaml")


def write_release(folder: Path) -> GitRepository:
    """The repository, with what a wheel is built from and the hooks."""
    made = GitRepository.create(folder)
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "gatekeeper", made.path / "gatekeeper", ignore=ignored)
    for name in FILES:
        shutil.copy(ROOT / name, made.path / name)
    made.commit("release")
    made.git("tag", "v0.1.0")
    return made
