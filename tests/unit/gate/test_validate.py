"""Where contract files that are named on the command line lie."""

from __future__ import annotations

from pathlib import Path

import pytest

from gatekeeper.errors import UsageError
from gatekeeper.gate.validate import repository_path


def test_paths_are_told_from_the_repository_root(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "contracts").mkdir()
    monkeypatch.chdir(tmp_path / "contracts")
    assert repository_path(Path("a.yaml"), tmp_path) == "contracts/a.yaml"
    assert repository_path(tmp_path / "b.yaml", Path("..")) == "b.yaml"


def test_a_path_outside_is_the_authors_mistake(tmp_path: Path) -> None:
    root = tmp_path / "repository"
    root.mkdir()
    with pytest.raises(UsageError, match=r"x\.yaml is not in the repository.*--repo"):
        repository_path(tmp_path / "x.yaml", root)
