"""What a pull request may do to a repository, from a depth-1 checkout and from none at all."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from support.edited_text import edited
from support.git_repository import GitRepository
from support.git_server import GitServer
from support.pull_request import BROKEN, CONTRACT, PROMPT
from support.pull_request_remote import CHECKOUTS, TOKEN, Edit, Remote, break_prompt, causes

from gatekeeper.action.checkout import Checkout
from gatekeeper.action.events import CheckMergeGroup
from gatekeeper.checks.registry import SHAPES
from gatekeeper.contract.changes.affected import find_affected
from gatekeeper.contract.policies.policy import Policy
from gatekeeper.errors import ContractError
from gatekeeper.gate.work import plan_check
from gatekeeper.runs.execute import execute
from gatekeeper.runs.run_plan import RunPlan

POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12345\n"
CONTRACT_PATH = "contracts/sentiment.yaml"
FIXTURES_PATH = "contracts/sentiment.fixtures.jsonl"


@pytest.fixture
def remote(tmp_path: Path) -> Iterator[Remote]:
    with GitServer(tmp_path / "served", TOKEN) as server:
        yield Remote.make(tmp_path, server)


def delete_contract(made: GitRepository) -> None:
    made.delete(CONTRACT_PATH)


def rename_prompt(made: GitRepository) -> None:
    made.rename(PROMPT, "prompts/mood.md")
    made.write(CONTRACT_PATH, edited(CONTRACT, "sentiment.md", "mood.md"))


def change_readme(made: GitRepository) -> None:
    made.write("README.md", "Another product.\n")


CHANGES: Mapping[str, tuple[Edit, dict[str, list[tuple[str, str]]]]] = {
    "prompt": (break_prompt, {"sentiment": [(PROMPT, "modified")]}),
    "deleted contract": (delete_contract, {"sentiment": [(CONTRACT_PATH, "deleted")]}),
    "renamed prompt": (rename_prompt, {}),
    "nothing of a prompt": (change_readme, {}),
}


@pytest.mark.parametrize("found", ["merge, depth 1", "nothing"])
@pytest.mark.parametrize("name", CHANGES)
def test_what_is_affected(remote: Remote, name: str, found: str) -> None:
    edit, expected = CHANGES[name]
    remote.propose(edit)
    CHECKOUTS[found](remote)
    assert causes(remote.affected()) == expected


def test_base_that_has_moved_on_is_no_part_of_the_change(remote: Remote) -> None:
    remote.propose(change_readme)
    remote.base = remote.origin.commit("base changes the prompt", {PROMPT: BROKEN})
    remote.merged()
    remote.checkout(remote.merge, "--depth=1")
    # The event may know an older base than the merge commit has.
    old = remote.origin.git("rev-parse", "main~1")
    assert causes(remote.affected(remote.pull_request(base_sha=old))) == {}


@pytest.mark.parametrize("found", ["merge, depth 1", "nothing"])
def test_a_force_push_leaves_a_stale_merge_behind(remote: Remote, found: str) -> None:
    """The merge commit of the event is of the head before: its second parent tells."""
    remote.propose(break_prompt)
    stale = remote.merge
    CHECKOUTS[found](remote)
    remote.origin.git("branch", "-f", "change", "main~1")
    remote.origin.switch("change")
    remote.head = remote.origin.commit("force-pushed", {"README.md": "Another product.\n"})
    remote.origin.switch("main")
    assert causes(remote.affected(remote.pull_request(merge_sha=stale))) == {}


@pytest.mark.parametrize("found", ["merge, depth 1", "nothing"])
def test_a_merge_group(remote: Remote, found: str) -> None:
    remote.propose(break_prompt)
    CHECKOUTS[found](remote)
    group = CheckMergeGroup(base_sha=remote.base, head_sha=remote.merge)
    assert causes(remote.affected(group)) == {"sentiment": [(PROMPT, "modified")]}


@pytest.mark.parametrize("found", ["merge, depth 1", "nothing"])
def test_a_push(remote: Remote, found: str) -> None:
    remote.propose(break_prompt)
    CHECKOUTS[found](remote)
    with Checkout(remote.settings()) as checkout:
        change = checkout.pushed(remote.base, remote.merge)
        assert change is not None
        assert causes(find_affected(change, Policy(), SHAPES)) == {
            "sentiment": [(PROMPT, "modified")]
        }
        assert checkout.pushed("0" * 40, remote.merge) is None
        assert checkout.pushed("e" * 40, remote.merge) is None
        assert checkout.since(remote.base, remote.merge) == change
        assert [checkout.since(sha, remote.merge) for sha in ("e" * 40, "worktree", "")] == [
            None
        ] * 3
        assert checkout.revision(remote.head).read(PROMPT) == BROKEN.encode()


@pytest.mark.parametrize("found", ["merge, depth 1", "nothing"])
def test_names_of_any_bytes(remote: Remote, found: str) -> None:
    names = ["new\nline.md", 'quo"te.md', "tab\there.md", os.fsdecode(b"\xff\xfe.md"), "-x.md"]

    def edit(made: GitRepository) -> None:
        for name in names:
            made.write(f"prompts/{name}", BROKEN)
        made.write('contracts/odd\n".yaml', edited(CONTRACT, "name: sentiment", "name: odd"))

    remote.propose(edit)
    CHECKOUTS[found](remote)
    affected = remote.affected()
    assert causes(affected) == {"odd": [('contracts/odd\n".yaml', "added")]}
    assert set(affected.uncovered) == {f"prompts/{name}" for name in names}


# What is not checked, and said


def link_out(path: str) -> Edit:
    def edit(made: GitRepository) -> None:
        made.delete(path)
        made.symlink(path, "/etc/passwd")

    return edit


def point_to_lfs(path: str) -> Edit:
    return lambda made: made.write(path, POINTER) and None


@pytest.mark.parametrize("found", ["merge, depth 1", "nothing"])
@pytest.mark.parametrize("path", [PROMPT, CONTRACT_PATH, FIXTURES_PATH])
def test_a_symbolic_link_is_named_and_not_followed(remote: Remote, path: str, found: str) -> None:
    remote.propose(link_out(path))
    CHECKOUTS[found](remote)
    with pytest.raises(ContractError, match=f"`{path}` is a symbolic link"):
        remote.affected()


@pytest.mark.parametrize("path", [PROMPT, CONTRACT_PATH, FIXTURES_PATH])
def test_a_pointer_of_git_lfs_is_named_and_not_checked(remote: Remote, path: str) -> None:
    remote.propose(point_to_lfs(path))
    with pytest.raises(ContractError) as caught:
        remote.affected()
    assert f"`{path}` is a Git LFS pointer" in str(caught.value)
    assert f"git lfs untrack '{path}'" in str(caught.value)


def test_a_recording_in_git_lfs_is_named_and_not_replayed(remote: Remote) -> None:
    recorded = edited(CONTRACT, "openai/gpt-4o-mini", "recorded/answers.jsonl")
    remote.propose(break_prompt, {CONTRACT_PATH: recorded, "answers.jsonl": POINTER})
    with Checkout(remote.settings()) as checkout:
        change = checkout.change(remote.pull_request())
        work = plan_check(change, Policy())
        with pytest.raises(ContractError, match=r"`answers\.jsonl` is a Git LFS pointer"):
            execute(RunPlan(work=work, revisions=(change.base, change.head)))


def test_a_prompt_inside_a_submodule_is_named_and_not_read(remote: Remote) -> None:
    def edit(made: GitRepository) -> None:
        made.write(CONTRACT_PATH, edited(CONTRACT, "../prompts", "../library"))
        entry = f"160000,{'1' * 40},library"
        made.git("update-index", "--add", "--cacheinfo", entry)
        (made.path / "library").mkdir()

    remote.propose(edit)
    with pytest.raises(ContractError, match="inside the submodule `library`"):
        remote.affected()
