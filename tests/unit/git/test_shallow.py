"""Shallow clones of a pull request's merge commit, fetched as on GitHub."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from support.git_repository import GitRepository

from gatekeeper.errors import MeasurementError, UsageError
from gatekeeper.git import Repository

MakeRepository = Callable[..., GitRepository]
MERGE = "refs/remotes/pull/7/merge"


@dataclass
class PullRequest:
    """A remote, and a clone as actions/checkout makes it of refs/pull/7/merge."""

    remote: GitRepository
    clone: GitRepository
    start: str
    base: str
    head: str
    merge: str


@pytest.fixture
def pull_request(git_repository: MakeRepository, tmp_path: Path) -> PullRequest:
    remote = git_repository("remote")
    # GitHub serves every object of a repository by its name.
    remote.config("uploadpack.allowAnySHA1InWant", "true")
    start = remote.commit("start", {"prompt.md": "one", "other": "1"})
    remote.branch("pr")
    head = remote.commit("change", {"prompt.md": "two"})
    remote.switch("main")
    base = remote.commit("main moves on", {"other": "2"})
    remote.git("checkout", "--quiet", "--detach")
    merge = remote.merge("pr")
    remote.git("update-ref", "refs/pull/7/merge", merge)
    remote.switch("main")
    clone = git_repository("clone")
    clone.git("remote", "add", "origin", remote.path.as_uri())
    clone.git("fetch", "-q", "--no-tags", "--depth=1", "origin", f"+{merge}:{MERGE}")
    clone.git("checkout", "-q", "--detach", MERGE)
    return PullRequest(remote, clone, start, base, head, merge)


@pytest.fixture
def repository(pull_request: PullRequest) -> Iterator[Repository]:
    with Repository.open(pull_request.clone.path) as opened:
        yield opened


def test_the_base_is_fetched_without_history(
    pull_request: PullRequest, repository: Repository
) -> None:
    refs = pull_request.clone.git("for-each-ref")
    missing, _ = repository.parents("HEAD")
    assert missing == pull_request.base
    assert not repository.has_commit(missing)
    with pytest.raises(UsageError, match=r"is not in this clone.*fetch-depth: 0"):
        repository.pull_request_change("HEAD")
    repository.fetch_commit(missing)
    assert repository.has_commit(missing)
    change = repository.pull_request_change("HEAD")
    assert (change.base.sha, change.head.sha) == (pull_request.base, pull_request.merge)
    differing = {
        path
        for path in change.head.entries
        if change.head.entries[path] != change.base.entries[path]
    }
    assert differing == {"prompt.md"}
    assert change.base.read("prompt.md") == b"one"
    assert repository.is_shallow()
    assert not repository.has_commit(pull_request.start)
    assert pull_request.clone.git("for-each-ref") == refs
    assert not (pull_request.clone.path / ".git/FETCH_HEAD").read_text().count(missing)


def test_deepening_brings_the_parents(pull_request: PullRequest, repository: Repository) -> None:
    repository.deepen(pull_request.merge, by=1)
    assert repository.has_commit(pull_request.base)
    assert repository.has_commit(pull_request.head)
    assert not repository.has_commit(pull_request.start)
    assert repository.pull_request_change("HEAD").base.sha == pull_request.base
    repository.deepen(pull_request.merge)
    assert not repository.is_shallow()
    assert repository.merge_base(pull_request.base, pull_request.head) == pull_request.start
    repository.deepen(pull_request.merge)


def test_merge_base_beyond_the_cut(pull_request: PullRequest, repository: Repository) -> None:
    repository.fetch_commit(pull_request.base)
    repository.fetch_commit(pull_request.head)
    with pytest.raises(UsageError, match=r"shallow clone does not reach.*fetch-depth: 0"):
        repository.change(pull_request.base, pull_request.head)


def test_merge_commit_of_github_against_its_first_parent(
    pull_request: PullRequest, repository: Repository
) -> None:
    repository.fetch_commit(pull_request.base)
    change = repository.change(pull_request.base, "HEAD")
    assert change.base.sha == pull_request.base
    assert change.head.sha != change.base.sha


def test_merge_commit_against_a_base_that_moved_on(
    pull_request: PullRequest, repository: Repository
) -> None:
    later = pull_request.remote.commit("main moves on again", {"other": "3"})
    repository.fetch_commit(pull_request.base)
    repository.fetch_commit(later)
    with pytest.raises(UsageError, match=r"shallow clone does not reach.*fetch-depth: 0"):
        repository.change(later, "HEAD")


def test_an_authors_own_merge_does_not_carry_the_base(
    git_repository: MakeRepository, tmp_path: Path
) -> None:
    """Its first parent is the author's own commit: against that one nothing would be new."""
    made = git_repository("author")
    made.commit("start", {"prompt.md": "one"})
    made.branch("pr")
    made.commit("change", {"prompt.md": "two"})
    made.switch("main")
    made.commit("main moves on", {"other": "2"})
    made.switch("pr")
    made.merge("main")
    made.switch("main")
    for text in "34":
        made.commit("main moves on again", {"other": text})
    clone = GitRepository.clone(made, tmp_path / "clone", depth=2, branch="pr")
    clone.git("fetch", "-q", "--depth=1", "origin", "main:refs/remotes/origin/main")
    with (
        Repository.open(clone.path) as repository,
        pytest.raises(UsageError, match=r"shallow clone does not reach.*fetch-depth: 0"),
    ):
        repository.change("origin/main", "HEAD")


def test_unknown_base_in_a_shallow_clone_says_what_to_set(repository: Repository) -> None:
    with pytest.raises(UsageError, match="fetch-depth: 0"):
        repository.change("main", "HEAD")
    with pytest.raises(UsageError, match="fetch-depth: 0"):
        repository.change()


def test_fetch_into_a_complete_clone_keeps_it_complete(
    pull_request: PullRequest, tmp_path: Path
) -> None:
    clone = GitRepository.clone(pull_request.remote, tmp_path / "complete", branch="main")
    later = pull_request.remote.commit("later", {"other": "3"})
    with Repository.open(clone.path) as repository:
        repository.fetch_commit(later)
        assert repository.has_commit(later)
        assert not repository.is_shallow()
        repository.fetch_commit(later)


def test_settings_for_reaching_the_remote_are_respected(
    pull_request: PullRequest, repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    pull_request.clone.git("remote", "set-url", "origin", "https://nowhere.invalid/repository")
    settings = {
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": f"url.{pull_request.remote.path.as_uri()}.insteadOf",
        "GIT_CONFIG_VALUE_0": "https://nowhere.invalid/repository",
    }
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    repository.fetch_commit(pull_request.base)
    assert repository.has_commit(pull_request.base)


def test_what_the_remote_does_not_have(repository: Repository) -> None:
    with pytest.raises(
        MeasurementError, match=r"could not fetch 0{40} from origin.*fetch-depth: 0"
    ):
        repository.fetch_commit("0" * 40)


def test_password_of_a_remote_is_not_shown(
    pull_request: PullRequest, repository: Repository
) -> None:
    pull_request.clone.git("remote", "set-url", "origin", "http://user:pa55word@127.0.0.1:9/x.git")
    with pytest.raises(MeasurementError) as caught:
        repository.fetch_commit("1" * 40)
    assert "pa55word" not in str(caught.value)


@pytest.mark.parametrize("name", ["main", "--upload-pack=x", "HEAD:refs/heads/x", "ABC"])
def test_only_full_names_are_fetched(repository: Repository, name: str) -> None:
    with pytest.raises(UsageError, match="not the full SHA"):
        repository.fetch_commit(name)


def test_only_merge_commits_carry_their_base(
    pull_request: PullRequest, repository: Repository
) -> None:
    repository.fetch_commit(pull_request.head)
    with pytest.raises(UsageError, match=r"is not a merge commit.*--base"):
        repository.pull_request_change(pull_request.head)


def test_a_first_commit_has_no_parent(git_repository: MakeRepository) -> None:
    made = git_repository("single")
    made.commit("start", {"a": "a"})
    with Repository.open(made.path) as repository:
        assert repository.parents("HEAD") == ()


def only_tips(pull_request: PullRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that gives what its refs point to. Protocol 2 would not ask for permission."""
    pull_request.remote.config("uploadpack.allowAnySHA1InWant", "false")
    settings = {"COUNT": "1", "KEY_0": "protocol.version", "VALUE_0": "0"}
    for name, value in settings.items():
        monkeypatch.setenv(f"GIT_CONFIG_{name}", value)


def test_a_commit_no_ref_points_to_is_reached_by_the_refs_after_it(
    pull_request: PullRequest, repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    only_tips(pull_request, monkeypatch)
    pull_request.remote.commit("main moves on again", {"other": "3"})
    with pytest.raises(MeasurementError, match=r"unadvertised object.*fetch-depth: 0"):
        repository.fetch_commit(pull_request.base)
    refs = ("refs/pull/8/merge", "refs/pull/7/merge")
    repository.fetch_commit(pull_request.base, refs=refs)
    assert repository.has_commit(pull_request.base)
    with pytest.raises(MeasurementError, match="unadvertised object"):
        repository.fetch_commit("1" * 40, refs=refs)


def test_history_is_deepened_by_the_refs(
    pull_request: PullRequest, repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository.fetch_commit(pull_request.base)
    repository.fetch_commit(pull_request.head)
    pull_request.remote.commit("main moves on again", {"other": "3"})
    only_tips(pull_request, monkeypatch)
    tips = (pull_request.base, pull_request.head)
    repository.grow(tips, ("refs/pull/7/merge", "refs/heads/pr"))
    assert repository.merge_base(*tips) == pull_request.start
    repository.grow(tips)


def test_a_remote_that_is_gone_deepens_nothing(
    pull_request: PullRequest, repository: Repository
) -> None:
    pull_request.remote.path.rename(pull_request.remote.path.with_name("gone"))
    with pytest.raises(MeasurementError, match=r"could not fetch .*fetch-depth: 0"):
        repository.deepen(pull_request.merge)


def test_a_commit_that_is_missing_is_not_fetched_by_asking_for_it(
    pull_request: PullRequest, tmp_path: Path
) -> None:
    """git would bring it, and all of its history, into a partial clone."""
    pull_request.remote.config("uploadpack.allowFilter", "true")
    clone = GitRepository.create(tmp_path / "partial")
    clone.git("remote", "add", "origin", pull_request.remote.path.as_uri())
    options = ("--depth=1", "--filter=blob:none")
    clone.git("fetch", "-q", "--no-tags", *options, "origin", pull_request.merge)
    with Repository.open(clone.path) as repository:
        assert repository.has_commit(pull_request.merge)
        assert not repository.has_commit(pull_request.base)
        assert not repository.has_commit(pull_request.base)


def test_a_repository_of_our_own_holds_no_more_than_was_asked_for(
    pull_request: PullRequest, tmp_path: Path
) -> None:
    pull_request.remote.config("uploadpack.allowFilter", "true")
    folder = tmp_path / "own"
    folder.mkdir()
    with Repository.create(folder, pull_request.remote.path.as_uri()) as repository:
        repository.fetch_commit(pull_request.merge, depth=2)
        assert repository.has_commit(pull_request.base)
        assert not repository.has_commit(pull_request.start)
        change = repository.pull_request_change(pull_request.merge)
        assert change.head.read("prompt.md") == b"two"
    assert not (folder / "hooks").exists()


def test_options_that_are_secret_come_after_the_callers(
    pull_request: PullRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", f"url.{pull_request.remote.path.as_uri()}.insteadOf")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "secret://repository")
    # Only both together lead to the remote: the caller's rewrites what the secret option names.
    pull_request.clone.git("config", "--unset", "remote.origin.url")
    secret = [("remote.origin.url", "secret://repository")]
    with Repository.open(pull_request.clone.path, secret) as repository:
        repository.fetch_commit(pull_request.base)
        assert repository.has_commit(pull_request.base)
