"""Which policy applies to a pull request, and what happens if it cannot be read."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from support.git_repository import GitRepository
from support.recorded_repository import WORDS, answers, check, result_of, write_contract

OTHER = "Please say {{ word }}.\n"


@pytest.fixture
def repository(git_repository: Callable[..., GitRepository]) -> GitRepository:
    """A sound contract, and a pull request that breaks every fixture."""
    made = git_repository("words")
    write_contract(made, recorded=answers(OTHER, dict.fromkeys(WORDS, "no")))
    return made.propose({"prompts/words.txt": OTHER})


def test_a_broken_policy_does_not_merge(repository, tmp_path, capsys):
    repository.commit("policy", {".github/gatekeeper.yml": "limts: {}\n"})

    assert check(repository, tmp_path / "out") == 2
    assert ".github/gatekeeper.yml:1:" in capsys.readouterr().err


def test_a_broken_policy_can_be_repaired(git_repository, tmp_path):
    made = git_repository("policy")
    write_contract(made)
    made.propose(
        {".github/gatekeeper.yml": "limits: {calls: 5}\n"},
        {".github/gatekeeper.yml": "limts: {}\nlimits: {calls: x}\n"},
    )

    assert check(made, tmp_path / "out") == 0
    notice = result_of(tmp_path / "out")["notices"][0]
    assert "repairs these mistakes in the policy of the base branch" in notice
    assert "\n" not in notice
    assert notice.count("; .github/gatekeeper.yml:") == 1, "two mistakes, told apart"

    made.commit("more", {"README.md": "While I am here.\n"})
    assert check(made, tmp_path / "out") == 2, "only the repair alone is accepted"


def test_nothing_merges_over_a_broken_policy(repository, tmp_path, capsys):
    repository.switch("main")
    repository.commit("broken", {".github/gatekeeper.yml": "limits: {calls: x}\n"})

    assert check(repository, tmp_path / "out") == 2
    said = capsys.readouterr().err
    assert (
        ".github/gatekeeper.yml:1:17: limits.calls: the policy on the branch to merge into " in said
    )
    assert "repair the policy in a pull request that changes nothing else" in said


def test_the_policy_of_the_tip_checks_a_branch_that_was_cut_before(repository, tmp_path):
    repository.commit("stray", {"prompts/stray.md": "Hello {{ name }}", "prompts/words.txt": OTHER})
    repository.switch("main")
    repository.commit("stricter", {".github/gatekeeper.yml": "require_contract: true\n"})

    assert check(repository, tmp_path / "out") == 1
    assert result_of(tmp_path / "out")["uncovered"] == ["prompts/stray.md"]
