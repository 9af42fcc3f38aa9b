"""After `gatekeeper init`, `gatekeeper validate` passes, whatever the repository holds."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from support.git_repository import GitRepository
from support.miniature_repositories import REPOSITORIES

from gatekeeper.cli.main import main


def test_there_are_as_many_shapes_as_the_documentation_says() -> None:
    assert len(REPOSITORIES) >= 30


@pytest.mark.parametrize("shape", REPOSITORIES)
def test_validate_passes_after_init(
    shape: str, git_repository: Callable[..., GitRepository], capsys: pytest.CaptureFixture[str]
) -> None:
    made = git_repository("miniature")
    made.commit("before", REPOSITORIES[shape])
    where = ["--repo", str(made.path)]

    assert main(["init", *where]) == 0
    first = capsys.readouterr().out
    assert main(["validate", *where]) == 0, capsys.readouterr().err
    assert capsys.readouterr().err == ""
    for path, text in REPOSITORIES[shape].items():
        assert (made.path / path).read_text("utf-8") == text
    policy = made.path / ".github/gatekeeper.yml"
    assert policy.exists() == ("written  .github/gatekeeper.yml" in first)

    # With the files committed, a second run proposes nothing more and changes nothing.
    made.commit("gate")
    assert main(["init", *where]) == 0
    assert "written  " not in capsys.readouterr().out
    assert main(["validate", *where]) == 0


@pytest.mark.parametrize(
    ("shape", "found", "reason"),
    [
        ("a suite and one with an own provider", "b/promptfooconfig.yaml", "file://own.py"),
        ("a prompty whose sample does not render", "chat.prompty", "docs"),
        ("contracts that are none", "contracts/token.yaml", "`contract` is missing"),
        ("a contract with a mistake", "contracts/old.yaml", "`fixtures` is missing"),
        ("a file with a mistake", None, "No prompt and no test suite was found in 1 file."),
        ("no prompt at all", None, "No prompt and no test suite was found in 2 files."),
    ],
)
def test_what_is_left_out_is_named_with_its_cause(
    shape: str,
    found: str | None,
    reason: str,
    git_repository: Callable[..., GitRepository],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "400")
    made = git_repository("miniature")
    made.commit("before", REPOSITORIES[shape])

    assert main(["init", "--repo", str(made.path)]) == 0
    said = capsys.readouterr().out
    if found is None:
        assert reason in said
        assert not (made.path / ".github").exists()
        return
    (row,) = (line for line in said.splitlines() if line.startswith(found))
    assert " none " in row
    assert reason in row


def test_files_that_were_not_read_are_counted(
    git_repository: Callable[..., GitRepository],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("gatekeeper.contract.files.inventory.MOST_CODE_FILES", 5)
    made = git_repository("miniature")
    made.commit("before", REPOSITORIES["many sources"])

    assert main(["init", "--repo", str(made.path)]) == 0
    said = capsys.readouterr().out
    assert "Not read, because the repository has so many: 21 files of code or data." in said
    assert len(list((made.path / "contracts").iterdir())) == 4
