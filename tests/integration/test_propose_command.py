"""`/gatekeeper propose`, from the comment to the pull request: GitHub and model on 127.0.0.1."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from support.bot_comments import CheckedPull
from support.github_server import BOT, FakeGithub, Fault
from support.propose_fixtures import NEW, POLICY
from support.scripted_author import PROMPT

from gatekeeper.action import bot as propose_command
from gatekeeper.action.github.proposals import GithubProposalApi
from gatekeeper.reports.escape import code

FILES = {"contracts/review.fixtures.jsonl", "contracts/review.yaml", "prompts/review.spec.yaml"}
BRANCH = "gatekeeper/propose-7"
MESSAGE = "Propose contracts for pull request 7"
SAY = "/gatekeeper propose"


@pytest.fixture
def pull(pull, github, monkeypatch):
    """GitHub's pauses between two writes are left out, and the branch has an odd name."""

    def make(*files) -> CheckedPull:
        quick = partial(GithubProposalApi, seconds_between_writes=0, sleep=lambda _: None)
        monkeypatch.setattr(propose_command, "GithubProposalApi", quick)
        made = pull(*files)
        github.pulls[7].head_ref = "my `change`)(x"
        return made

    return make


def wrote(github: FakeGithub) -> list[str]:
    """The requests that write more than comments and reactions."""
    verbs = ("POST", "PATCH", "PUT", "DELETE")
    found = [r for r in github.requests if r.startswith(verbs)]
    return [r for r in found if "/issues/" not in r and r != "POST /graphql"]


def test_the_proposal_becomes_a_pull_request_into_this_one(pull, github, writer):
    made = pull()
    assert made.say(SAY) == 0
    assert made.reactions == ["eyes", "rocket"]
    (opened,) = github.opened
    assert (opened.title, opened.head, opened.base) == (MESSAGE, BRANCH, "my `change`)(x")
    assert set(github.files_on(BRANCH)) == FILES
    commit = github.commits[github.branches[BRANCH]]
    assert (commit.message, commit.parents) == (MESSAGE, [made.change.head])
    assert NEW in opened.body
    assert "Opened [a pull request](" in made.reply
    assert f"({len(writer.requests)} calls" in made.reply

    # Again: the same proposal needs no commit, and no other pull request.
    tip = github.branches[BRANCH]
    assert made.say(SAY) == 0
    assert (github.branches[BRANCH], len(github.opened)) == (tip, 1)
    assert "has this proposal already" in made.reply

    # After a push the branch gets the new head's files, and loses nothing.
    github.trees.files["0" * 40] = {"more.txt": "new"}
    assert made.say(SAY) == 0
    assert "Updated [the pull request](" in made.reply
    assert github.commits[github.branches[BRANCH]].parents == [tip, made.change.head]
    assert set(github.files_on(BRANCH)) == {*FILES, "more.txt"}


@pytest.mark.parametrize(
    ("author_", "message"), [("octocat", MESSAGE), (None, MESSAGE), (BOT, "Another bot's work")]
)
def test_a_branch_with_somebody_elses_work_is_left(pull, github, writer, author_, message):
    made = pull()
    tip = github.push(BRANCH, author_, message)
    assert made.say(SAY) == 0
    assert made.reactions == ["eyes", "confused"]
    assert "is not a commit of gatekeeper" in made.reply
    assert (github.branches, wrote(github), writer.requests) == ({BRANCH: tip}, [], [])


def test_a_push_while_the_model_is_asked_is_not_lost(pull, github, monkeypatch):
    made = pull()
    assert made.say(SAY) == 0
    github.trees.files["0" * 40] = {"more.txt": "new"}
    send = GithubProposalApi._send

    def late(self: GithubProposalApi, verb: str, path: str, **body: Any) -> Any:
        if verb == "PATCH":
            github.push(BRANCH, "octocat")
        return send(self, verb, path, **body)

    monkeypatch.setattr(GithubProposalApi, "_send", late)
    assert made.say(SAY) == 3
    assert github.commits[github.branches[BRANCH]].author == "octocat"
    assert "not a fast forward" in made.reply


def test_a_token_that_may_not_write_is_named(pull, github):
    made = pull()
    github.faults.append(Fault("POST", "/git/trees", status=403, message="Resource", times=9))
    assert made.say(SAY) == 3
    assert "contents: write" in made.reply
    assert github.branches == {}


def test_a_token_that_may_not_open_pull_requests_gets_a_link(pull, github):
    made = pull()
    github.may_open = False
    assert made.say(SAY) == 0
    assert set(github.files_on(BRANCH)) == FILES
    address = "/octo/prompts/compare/my%20%60change%60%29%28x...gatekeeper/propose-7?expand=1)"
    assert address in made.reply
    assert "Allow GitHub Actions to create" in made.reply


@pytest.mark.parametrize("path", ["/git/refs$", "/pulls$", "/git/commits$"])
def test_an_answer_that_was_lost_makes_nothing_twice(pull, github, path):
    made = pull()
    github.faults.append(Fault("POST", path, kind="lost"))
    assert made.say(SAY) == 0
    assert len(github.opened) == 1
    assert set(github.files_on(BRANCH)) == FILES


def test_a_branch_that_somebody_made_meanwhile_is_left(pull, github, monkeypatch):
    made = pull()
    find = GithubProposalApi.find_branch

    def early(self: GithubProposalApi, name: str) -> Any:
        found = find(self, name)
        github.push(BRANCH, "octocat")
        return found

    monkeypatch.setattr(GithubProposalApi, "find_branch", early)
    assert made.say(SAY) == 3
    assert github.commits[github.branches[BRANCH]].author == "octocat"
    assert github.opened == []


@pytest.mark.parametrize(
    ("files", "more", "named"),
    [
        ({NEW: PROMPT, **POLICY}, {}, "does not allow proposals"),
        ({"README.md": "More."}, POLICY, "has a contract"),
        ({NEW: "Say yes.\n"}, POLICY, "no variable"),
        ({NEW: PROMPT, "contracts/review.fixtures.jsonl": ""}, POLICY, "already"),
    ],
)
def test_without_a_proposal_nothing_is_written(pull, github, writer, files, more, named):
    made = pull(files, more)
    assert made.say(SAY) == 0
    assert made.reactions == ["eyes", "confused"]
    assert named in made.reply
    assert (wrote(github), writer.requests) == ([], [])


def test_neither_a_fork_nor_a_stranger_gets_a_proposal(pull, github, writer):
    made = pull()
    github.roles["reader"] = "read"
    made.say(SAY, author="reader")
    assert "Nothing was done" in made.reply
    github.pulls[7].head_repository = "fork/prompts"
    made.say(SAY)
    assert "from forks" in made.reply
    assert (wrote(github), writer.requests) == ([], [])


def test_names_of_files_are_text_in_the_pull_request(pull, github):
    odd = "prompts/a`b @octocat #1 <!-- x -->.txt"
    made = pull({odd: PROMPT})
    assert made.say(SAY) == 0
    (opened,) = github.opened
    assert code(odd) in opened.body
    assert "octocat" not in opened.body.replace(code(odd), "").replace("a-b-octocat-1", "")
    assert all(path.isascii() and "`" not in path for path in github.files_on(BRANCH))
    commit = github.commits[github.branches[BRANCH]]
    assert "octocat" not in f"{commit.message}{opened.title}{opened.head}"
