"""A contract that names a file by the path that it had before the change."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from support.git_repository import GitRepository

from gatekeeper.checks.registry import SHAPES
from gatekeeper.contract.loading.load import load_contract
from gatekeeper.contract.reading.read import UnreadableError, read_text
from gatekeeper.contract.values.change import Change
from gatekeeper.errors import ContractError
from gatekeeper.git import Repository

MakeRepository = Callable[..., GitRepository]
PROMPT = "".join(f"Rule {number}: be kind to {{{{ word }}}}.\n" for number in range(12))
CONTRACT = """\
contract: 1
name: words
prompt: ../prompts/words.txt
model: openai/gpt-4o-mini
fixtures: [{file: words.csv}]
checks: [{type: json_schema, schema: words.json}]
"""
FILES: dict[str, str | bytes] = {
    "contracts/words.yaml": CONTRACT,
    "contracts/words.csv": "word\n" + "".join(f"word {number}\n" for number in range(9)),
    "contracts/words.json": '{"type": "object", "required": ["answer"]}\n',
    "prompts/words.txt": PROMPT,
    # The nearest name, by letters and by folder, with another text.
    "old/words.txt": "Nothing alike.\n",
    "contracts/old/words.csv": "word\nx\n",
    "contracts/old/words.json": "{}\n",
}


@pytest.fixture
def made(git_repository: MakeRepository) -> GitRepository:
    repository = git_repository("words")
    repository.commit("start", dict(FILES))
    repository.branch("pr")
    return repository


def change_of(made: GitRepository, *, worktree: bool = False) -> Change:
    with Repository.open(made.path) as repository:
        return repository.worktree_change("main") if worktree else repository.change("main", "pr")


def told(made: GitRepository, contract: str = "contracts/words.yaml", **how: bool) -> str:
    with pytest.raises(ContractError) as caught:
        load_contract(change_of(made, **how).head, contract, SHAPES)
    return str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "place"),
    [
        ("prompts/words.txt", "prompts/polite.txt", "contracts/words.yaml:3:9: prompt"),
        ("prompts/words.txt", "other/folder/words.txt", "contracts/words.yaml:3:9: prompt"),
        ("contracts/words.csv", "data/inputs.csv", "contracts/words.yaml:5:19: fixtures[0].file"),
        ("contracts/words.json", "schemas/a.json", "contracts/words.yaml:6:38: checks[0].schema"),
    ],
)
def test_the_new_name_of_a_renamed_file_is_told(made, old, new, place):
    made.rename(old, new)
    made.commit("rename")
    expected = f"{place}: there is no file `{old}`; name `{new}`, as this change renamed the file"
    assert expected in told(made)


def test_a_file_that_was_edited_and_renamed_is_followed(made):
    made.rename("prompts/words.txt", "prompts/kind.txt")
    made.commit("rename", {"prompts/kind.txt": f"{PROMPT}One more rule.\n"})
    assert "name `prompts/kind.txt`" in told(made)


def test_a_rename_on_the_branch_to_merge_into_is_followed(made):
    """The pull request brings a contract with the path that it had where it began."""
    made.commit("contract", {"contracts/more.yaml": CONTRACT})
    made.switch("main")
    made.rename("prompts/words.txt", "prompts/kind.txt")
    made.commit("rename")
    made.switch("pr")
    assert "name `prompts/kind.txt`" in told(made, "contracts/more.yaml")


def test_renames_on_both_sides_lead_to_the_last_name(made):
    made.rename("prompts/words.txt", "prompts/ours.txt")
    made.commit("rename")
    made.switch("main")
    made.rename("prompts/words.txt", "prompts/theirs.txt")
    made.commit("rename")
    made.switch("pr")
    assert "name `prompts/ours.txt`" in told(made)


@pytest.mark.parametrize("add", [True, False])
def test_a_rename_in_the_work_tree_is_followed(made, add):
    made.rename("prompts/words.txt", "prompts/kind.txt")
    made.git("add", "-A") if add else made.git("reset", "-q")
    assert "name `prompts/kind.txt`" in told(made, worktree=True)


@pytest.mark.parametrize("how", ["git mv", "plain move", "committed", "edited and committed"])
@pytest.mark.parametrize(
    ("old", "new"),
    [("prompts/words.txt", "prompts/kind.txt"), ("contracts/words.csv", "data/inputs.csv")],
)
def test_the_work_tree_alone_tells_it_too(made, how, old, new):
    """As `validate` reads it: no base is given."""
    made.rename(old, new)
    if how == "plain move":
        made.git("reset", "-q")
    elif how == "edited and committed":
        made.commit("rename", {new: str(FILES[old]) + "More.\n"})
    elif how == "committed":
        made.commit("rename")
    with Repository.open(made.path) as repository, pytest.raises(ContractError) as caught:
        load_contract(repository.worktree(), "contracts/words.yaml", SHAPES)
    assert f"name `{new}`, as this change renamed the file" in str(caught.value)


def test_a_work_tree_without_a_commit_has_no_renames(git_repository):
    made = git_repository("empty")
    made.write("contracts/words.yaml", CONTRACT)
    with Repository.open(made.path) as repository, pytest.raises(ContractError) as caught:
        load_contract(repository.worktree(), "contracts/words.yaml", SHAPES)
    assert "there is no file `prompts/words.txt`" in str(caught.value)


def test_a_removed_file_has_the_nearest_name_as_before(made):
    made.delete("prompts/words.txt")
    made.commit("remove")
    assert "did you mean `old/words.txt`?" in told(made)


def test_names_that_were_exchanged_lead_nowhere(made):
    """A file that is there under its name is read, and a circle of renames ends."""
    made.rename("prompts/words.txt", "a.txt")
    made.rename("old/words.txt", "prompts/words.txt")
    made.rename("a.txt", "old/words.txt")
    made.commit("exchange")
    head = change_of(made).head
    assert read_text(head, "prompts/words.txt") == "Nothing alike.\n"
    with pytest.raises(UnreadableError):
        read_text(head, "prompts/none.txt")


def test_files_of_other_tools_tell_it_too(made):
    made.commit(
        "suite",
        {
            "promptfooconfig.yaml": "prompts: [file://prompts/words.txt]\n"
            "providers: [openai:gpt-4o]\n"
            "tests: [{vars: {word: a}, assert: [{type: contains, value: a}]}]\n"
        },
    )
    made.rename("prompts/words.txt", "prompts/kind.txt")
    made.commit("rename")
    assert "prompts/kind.txt" in told(made, "promptfooconfig.yaml")
