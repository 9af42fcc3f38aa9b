"""`gatekeeper convert --to`: what it writes and prints."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from support.git_repository import GitRepository

from gatekeeper.cli.main import main

FILES = {
    "contracts/places.yaml": """\
contract: 1
name: places
prompt: ../p.txt
model: openai/gpt-4o-mini
fixtures:
- {id: a, vars: {city: Paris}, expected: France}
checks:
- {type: contains, value: "{{ expected }}"}
- {type: length, name: short, max: 9}
""",
    "p.txt": "Where is {{ city }}?",
}


def test_files_are_written_once_and_all_or_none(
    git_repository: Callable[..., GitRepository],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = git_repository()
    made.commit("start", FILES)
    file = str(made.path / "contracts/places.yaml")
    arms = ["--repo", str(made.path), "--to", "openai-evals"]
    folder = made.path / "exports"

    opened = Path.open

    def full(path: Path, mode: str = "r", **more: object) -> object:
        if path.suffix == ".jsonl" and "x" in mode:
            raise OSError(28, "No space left on device")
        return opened(path, mode, **more)  # type: ignore[call-overload]

    with monkeypatch.context() as patch:
        patch.setattr(Path, "open", full)
        assert main(["convert", file, *arms]) == 3
    assert [path for path in folder.rglob("*") if path.is_file()] == []
    assert main(["convert", file, *arms]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed[0] == "wrote exports/evals/places.yaml: places, 1 fixture, 1 check"
    assert printed[1].startswith("wrote exports/data/places/places-contains")
    assert any("`short` (contracts/places.yaml:9)" in line for line in printed)
    texts = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert len(texts) == 2
    assert main(["convert", file, *arms]) == 2
    assert {path: path.read_bytes() for path in texts} == texts

    into = str(made.path / "contracts")
    assert main(["convert", file, *arms[:2], "--to", "openai-evals", "--out", into]) == 0
    assert "next: contracts/evals/places.yaml" in capsys.readouterr().out


def test_a_file_that_cannot_be_read_and_two_of_one_name(
    git_repository: Callable[..., GitRepository], capsys: pytest.CaptureFixture[str]
) -> None:
    made = git_repository()
    made.commit("start", {**FILES, "broken.yaml": "a: [", "empty.yaml": "a: 1\n"})
    for name in ("broken.yaml", "empty.yaml", "gone.yaml"):
        arms = ["--repo", str(made.path), "--to", "github"]
        assert main(["convert", str(made.path / name), *arms]) == 2
        assert name in capsys.readouterr().err
    assert not (made.path / "exports").exists()
