"""The other calls to GitHub: pull requests, roles, reactions, workflow runs.

The client and the retries are those of `client`; every call here can be repeated without harm.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import quote

from gatekeeper.action.events import PREFIX
from gatekeeper.action.github.check_runs import CheckRunApi
from gatekeeper.action.github.client import tried_again
from gatekeeper.action.github.review_comments import ReviewApi

if TYPE_CHECKING:
    from github.CommitStatus import CommitStatus
    from github.IssueComment import IssueComment
    from github.PullRequest import PullRequest

Reaction = Literal["eyes", "rocket", "confused", "-1"]

ROLES = ("none", "read", "triage", "write", "maintain", "admin")
"""A person's role in a repository; each role includes the rights of the ones before it.
https://docs.github.com/en/organizations/managing-user-access-to-your-organizations-repositories"""

_RUN_ADDRESS = re.compile(r"/actions/runs/(\d+)")


@dataclass(frozen=True, slots=True)
class PullRequestState:
    """The present state of a pull request. `head_repository` is None if the fork was deleted.
    Whoever opened it chose `head_ref`, the name of its branch."""

    number: int
    is_open: bool
    base_ref: str
    base_sha: str
    head_sha: str
    merge_sha: str | None
    base_repository: str
    head_repository: str | None
    head_ref: str
    is_draft: bool = False
    labels: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Remark:
    """A comment on a pull request. `author` is None if the account was deleted.

    `own` says that the gate's account wrote it, `by_person` that no bot and no app did. Both are
    only checked if the body gives a reason to. `touched` says that something of the comment changed
    after `created`, which need not be its text.
    """

    id: int
    author: str | None
    body: str
    own: bool
    by_person: bool
    created: datetime
    touched: bool
    node: str


@dataclass(frozen=True, slots=True)
class WorkflowRun:
    """One run of a workflow. `path` is the workflow's file, `conclusion` None until it ends."""

    id: int
    path: str
    event: str
    created: datetime
    conclusion: str | None
    url: str


class RepositoryApi(ReviewApi, CheckRunApi):
    """The calls to GitHub that events and commands need. Every method raises PublishError with
    advice."""

    @tried_again("read the pull request", "pull-requests: read")
    def pull_request(self, number: int) -> PullRequestState:
        """Return the pull request's present state."""
        return _state(self._repo().get_pull(number))

    @tried_again("look for the pull request", "pull-requests: read")
    def open_pull_requests(self, repository: str, branch: str) -> tuple[PullRequestState, ...]:
        """Return the open pull requests from that branch of that repository, which may be a
        fork."""
        owner = repository.partition("/")[0]
        found = self._repo().get_pulls(state="open", head=f"{owner}:{branch}")
        states = (_state(pull) for pull in found)
        # GitHub ignores a filter that it cannot make sense of.
        return tuple(s for s in states if s.is_open and s.head_repository == repository)

    @tried_again("look for the merged pull request", "pull-requests: read")
    def merged_as(self, sha: str) -> tuple[PullRequestState, ...]:
        """Return the pull requests whose merge made the commit."""
        states = (_state(pull) for pull in self._repo().get_commit(sha).get_pulls())
        return tuple(s for s in states if not s.is_open and s.merge_sha == sha)

    @tried_again("find the commit {ref}", "contents: read")
    def commit_sha(self, ref: str) -> str:
        """Return the full SHA of the commit that a branch, tag or commit name stands for."""
        # PyGithub's own lazy commit would give back the name that it was asked by.
        return str(self._ask("GET", f"commits/{quote(ref, safe='')}")["sha"])

    @tried_again("read the role of {login}", "contents: read")
    def role(self, login: str) -> str:
        """Return a person's role in the repository: one of ROLES."""
        from github import GithubException

        try:
            answer = self._ask("GET", f"collaborators/{quote(login)}/permission")
        except GithubException as refused:
            if refused.status == 404:
                return "none"
            raise
        # An organisation's own role has a name of its own, and stands on one of these.
        named = [str(answer.get("role_name")), str(answer.get("permission"))]
        return next((role for role in named if role in ROLES), "none")

    @tried_again("read the comments", "pull-requests: read")
    def comments(self, number: int, marker: str) -> tuple[Remark, ...]:
        """Return all comments. Whether the gate wrote a comment is only checked if it has the
        marker."""
        comments = self._repo().get_issue(number).get_comments()
        return tuple(self._remark(comment, marker) for comment in comments)

    def _remark(self, comment: IssueComment, marker: str) -> Remark:
        body = comment.body or ""
        return Remark(
            id=comment.id,
            author=getattr(comment.user, "login", None),
            body=body,
            own=marker in body and self._is_own(comment),
            by_person=PREFIX in body and _is_by_person(comment),
            created=comment.created_at,
            touched=comment.updated_at != comment.created_at,
            node=comment.node_id,
        )

    @tried_again("find out whether a comment was edited", "pull-requests: read")
    def is_edited(self, remark: Remark) -> bool:
        """Return whether anybody edited the comment's text since it was posted."""
        if not remark.touched:
            return False
        # Reactions and hiding may touch a comment as well, so REST's times alone do not tell.
        query = "query($id: ID!) { node(id: $id) { ... on IssueComment { lastEditedAt } } }"
        _, answer = self._github().requester.graphql_query(query, {"id": remark.node})
        node = answer["data"]["node"]
        if not isinstance(node, dict):
            raise LookupError("node")
        return node["lastEditedAt"] is not None

    @tried_again("react to the comment", "pull-requests: write")
    def react(self, number: int, comment_id: int, reaction: Reaction) -> None:
        """Put a reaction on a comment."""
        self._repo().get_issue(number).get_comment(comment_id).create_reaction(reaction)

    @tried_again("read the workflow runs", "actions: read")
    def workflow_runs(self, sha: str) -> tuple[WorkflowRun, ...]:
        """Return the runs whose head is the commit, the latest first."""
        found = [_run(run) for run in self._repo().get_workflow_runs(head_sha=sha)]
        return tuple(sorted(found, key=lambda run: run.created, reverse=True))

    @tried_again("read the commit statuses", "statuses: read")
    def latest_status(self, sha: str, context: str) -> CommitStatus | None:
        """Return the gate's own latest status of the commit with that name."""
        from github.CommitStatus import CommitStatus
        from github.PaginatedList import PaginatedList

        # PyGithub asks by an address that GitHub no longer describes.
        address = f"{self._repo().url}/commits/{sha}/statuses"
        found = PaginatedList(CommitStatus, self._github().requester, address, None)
        own = (s for s in found if s.context == context and self._is_own_account(s.creator))
        return next(own, None)

    def run_of_status(self, sha: str, context: str) -> int | None:
        """Return the workflow run that the gate's latest status with that name links to."""
        status = self.latest_status(sha, context)
        found = _RUN_ADDRESS.search(status.target_url or "") if status else None
        return int(found[1]) if found else None

    @tried_again("read the workflow run", "actions: read")
    def workflow_run(self, run: int) -> WorkflowRun:
        """Return the present state of one workflow run."""
        return _run(self._repo().get_workflow_run(run))

    def rerun(self, run: WorkflowRun) -> None:
        """Run the run's failed jobs again, or all of them if none failed."""
        what = "rerun" if run.conclusion == "success" else "rerun-failed-jobs"
        place = f"actions/runs/{run.id}/{what}"
        # A run that is under way needs no more.
        self._once(
            "run the gate's job again",
            "actions: write",
            lambda: self._ask("POST", place),
            lambda: self._repo().get_workflow_run(run.id).conclusion is None or None,
        )


def _state(pull: PullRequest) -> PullRequestState:
    head = getattr(pull.head.repo, "full_name", None)
    return PullRequestState(
        number=pull.number,
        is_open=pull.state == "open",
        base_ref=pull.base.ref,
        base_sha=pull.base.sha,
        head_sha=pull.head.sha,
        merge_sha=pull.merge_commit_sha,
        base_repository=pull.base.repo.full_name,
        head_repository=head,
        head_ref=pull.head.ref,
        is_draft=bool(pull.draft),
        labels=tuple(label.name for label in pull.labels),
    )


def _is_by_person(comment: IssueComment) -> bool:
    """Return whether a person wrote the comment: bots and apps repeat texts of others."""
    # PyGithub's types know neither accounts that are gone nor comments without an app.
    kind = getattr(comment.user, "type", None)
    app: object = comment.performed_via_github_app
    return kind == "User" and app is None


def _run(run: Any) -> WorkflowRun:
    return WorkflowRun(run.id, run.path, run.event, run.created_at, run.conclusion, run.html_url)


def enough(role: str, wanted: str) -> bool:
    """Return whether a role is at least another one."""
    return role in ROLES and ROLES.index(role) >= ROLES.index(wanted)
