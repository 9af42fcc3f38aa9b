"""`gatekeeper check` of one change, in this process, for tests of what decides.

    def test_a_worse_prompt_fails(check_of):
        assert check_of(FILES, {"prompts/words.txt": "Bad."}).code == 1

`support.ways_in` runs all three ways in and takes three times as long.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from support.git_repository import GitRepository

from gatekeeper.cli.main import main


class Checked(NamedTuple):
    """The exit code, result.json and the comment; the last two None if nothing was written."""

    code: int
    result: dict[str, Any] | None
    comment: str | None

    @property
    def contract(self) -> dict[str, Any]:
        """The only contract of the result."""
        assert self.result is not None
        [contract] = self.result["contracts"]
        return dict(contract)

    def codes(self, verdict: str = "fail") -> set[str]:
        """The codes of the reasons that call for a verdict."""
        assert self.result is not None
        every = [reason for c in self.result["contracts"] for reason in c["reasons"]]
        return {reason["code"] for reason in every if reason["verdict"] == verdict}


CheckOf = Callable[..., Checked]


@pytest.fixture
def check_of(git_repository: Callable[..., GitRepository], tmp_path: Path) -> CheckOf:
    """Checks `head`, written over `base`; None deletes a file."""

    def run(base: Mapping[str, str], head: Mapping[str, str | None], *more: str) -> Checked:
        made = git_repository("words")
        made.write_all(dict(base))
        made.commit("base")
        made.branch("pr")
        for path, text in head.items():
            if text is None:
                made.delete(path)
            else:
                made.write(path, text)
        made.commit("head")
        arms = ["--repo", str(made.path), "--base", "main", "--head", "pr"]
        code = main(["check", *arms, "--out", str(tmp_path), *more])
        result, comment = tmp_path / "result.json", tmp_path / "comment.md"
        return Checked(
            code,
            json.loads(result.read_text("utf-8")) if result.exists() else None,
            comment.read_text("utf-8") if comment.exists() else None,
        )

    return run
