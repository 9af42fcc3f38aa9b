"""A watched prompt turns into something else, while the contract is pointed at a harmless copy."""

from __future__ import annotations

import shutil

import pytest
from support.edited_text import edited
from support.git_repository import GitRepository
from support.proposals import CONTRACT, NO_SLO, OTHER, POLICY, PROMPT_FILE, Proposal, reasons
from support.recorded_repository import PROMPT, check, result_of

COPY = "copies/words.txt"
POINTED_AWAY = edited(NO_SLO, "../prompts/words.txt", f"/{COPY}")
BAD = "elsewhere/bad.txt"


def point_away(made: GitRepository) -> None:
    """Head's contract watches a copy; what a program reads is the bad prompt."""
    made.write(CONTRACT, POINTED_AWAY)
    made.write(COPY, PROMPT)
    made.write(BAD, OTHER)
    made.write("elsewhere/prompts/words.txt", OTHER)
    made.delete(PROMPT_FILE)


def a_link(made: GitRepository) -> None:
    point_away(made)
    made.symlink(PROMPT_FILE, f"../{BAD}")


def a_chain_of_links(made: GitRepository) -> None:
    point_away(made)
    made.symlink(PROMPT_FILE, "next.txt")
    made.symlink("prompts/next.txt", f"../{BAD}")


def a_link_in_place_of_the_folder(made: GitRepository) -> None:
    point_away(made)
    shutil.rmtree(made.path / "prompts")
    made.symlink("prompts", "elsewhere/prompts")


def a_link_in_another_letter_case(made: GitRepository) -> None:
    point_away(made)
    shutil.rmtree(made.path / "prompts")
    made.symlink("Prompts", "elsewhere/prompts")


def a_file_in_another_letter_case(made: GitRepository) -> None:
    point_away(made)
    made.write("prompts/Words.txt", OTHER)


def a_submodule(made: GitRepository) -> None:
    point_away(made)
    shutil.rmtree(made.path / "prompts")
    made.commit("away")
    made.git("update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},prompts")
    (made.path / "prompts").mkdir()  # as git leaves a submodule that is not checked out


def a_folder(made: GitRepository) -> None:
    point_away(made)
    made.write(f"{PROMPT_FILE}/default.txt", OTHER)


def a_link_and_no_contract(made: GitRepository) -> None:
    point_away(made)
    made.delete(CONTRACT)
    shutil.rmtree(made.path / "prompts")
    made.symlink("prompts", "elsewhere/prompts")


def a_link_and_a_contract_of_another_name(made: GitRepository) -> None:
    a_link(made)
    made.delete(CONTRACT)
    made.write("contracts/texts.yaml", edited(POINTED_AWAY, "name: words", "name: texts"))


ATTACKS = {
    a_link: "now a symbolic link",
    a_chain_of_links: "now a symbolic link",
    a_link_in_place_of_the_folder: "reached through `prompts`, now a symbolic link",
    a_link_in_another_letter_case: "reached through `Prompts`, now a symbolic link",
    a_file_in_another_letter_case: "now `prompts/Words.txt`, which differs only",
    a_submodule: "reached through `prompts`, now a submodule",
    a_folder: "now a folder",
    a_link_and_no_contract: "reached through `prompts`, now a symbolic link",
    a_link_and_a_contract_of_another_name: "now a symbolic link",
}
"""What the change does, and what is said to stand in the prompt's place."""


BASE = Proposal("path", "", {}).base
ALLOWED = "allow: {contract_removal: true}\n"


@pytest.mark.parametrize(
    ("attack", "place"), ATTACKS.items(), ids=[attack.__name__ for attack in ATTACKS]
)
def test_a_watched_prompt_that_becomes_something_else_is_removed(run_gate, attack, place):
    """git calls the copy the prompt's new name, because its bytes are the same."""
    answered = run_gate(BASE, {}, work=attack)
    assert (answered.exit_code, answered.verdict) == (1, "fail")
    reasons = [r for c in answered.result["contracts"] for r in c["reasons"]]
    (text,) = [reason["text"] for reason in reasons if reason["code"] == "removed"]
    assert f" is {place}" in text


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.__name__)
def test_the_policy_can_allow_it(git_repository, tmp_path, attack):
    made = Proposal("path", "", {}, before={POLICY: ALLOWED}).propose(git_repository)
    attack(made)
    made.commit("change")
    assert check(made, tmp_path) == 0
    assert "removed" in reasons(result_of(tmp_path), "pass")


def a_linked_contract(made: GitRepository) -> None:
    made.rename(CONTRACT, "specs/words.yaml")
    made.symlink(CONTRACT, "../specs/words.yaml")


def a_linked_include(made: GitRepository) -> None:
    made.write(PROMPT_FILE, "{% include 'tone.txt' %} Say {{ word }}.\n")
    made.symlink("prompts/tone.txt", "../elsewhere/tone.txt")


@pytest.mark.parametrize("change", [a_linked_contract, a_linked_include])
def test_what_is_still_referred_to_must_not_be_a_link(run_gate, change):
    assert run_gate(BASE, {}, work=change).exit_code == 2


def test_a_prompt_that_moves_with_its_contract_may_merge(run_gate):
    def move(made: GitRepository) -> None:
        point_away(made)
        made.symlink("prompts/latest", "../elsewhere")

    assert run_gate(BASE, {}, work=move).exit_code == 0
