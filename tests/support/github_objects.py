"""What GitHub's answers look like: every field that its description requires.

`public_url` begins every absolute address, because clients refuse to be sent to another host.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

REPOSITORY = "octo/prompts"
BOT = "github-actions[bot]"
TIME = "2026-01-02T03:04:05Z"
LATER = "2026-01-02T05:00:00Z"
_USER_URLS = re.findall(
    r"\w+",
    """avatar events followers following gists html organizations received_events repos starred
    subscriptions""",
)
_REPOSITORY_URLS = re.findall(
    r"\w+",
    """archive assignees blobs branches collaborators comments commits compare contents contributors
    deployments downloads events forks git_commits git_refs git_tags hooks html issue_comment
    issue_events issues keys labels languages merges milestones notifications pulls releases
    stargazers statuses subscribers subscription tags teams trees clone git mirror ssh svn""",
)
_REPOSITORY_FLAGS = re.findall(
    r"\w+",
    """fork private has_downloads has_issues has_projects has_wiki has_pages archived disabled""",
)
_REPOSITORY_COUNTS = re.findall(
    r"\w+",
    """forks forks_count open_issues open_issues_count size stargazers_count watchers
    watchers_count""",
)
_PULL_URLS = re.findall(
    r"\w+",
    "comments commits diff html issue patch review_comment review_comments statuses",
)
_LINKS = re.findall(
    r"\w+", "comments commits statuses html issue review_comments review_comment self"
)


@dataclass
class FakeComment:
    """A comment as it stands; `edits` counts how often its text was changed.

    `touched` says that it was changed in another way, `app` names the app it was posted by.
    """

    id: int
    author: str | None
    body: str
    edits: int = 0
    touched: bool = False
    app: str | None = None
    created_at: str = TIME


@dataclass
class FakeIssue:
    """An issue as it stands; `edits` counts how often it was changed."""

    number: int
    author: str | None
    title: str
    body: str
    state: str = "open"
    edits: int = 0


@dataclass(frozen=True)
class FakeStatus:
    """A commit status as it was posted."""

    sha: str
    state: str
    context: str
    description: str | None
    target_url: str | None


@dataclass
class FakePull:
    """A pull request as it stands."""

    number: int
    head_sha: str
    head_repository: str | None = REPOSITORY
    head_ref: str = "change"
    base_sha: str = "0" * 40
    base_ref: str = "main"
    merge_sha: str | None = None
    state: str = "open"
    draft: bool = False
    labels: tuple[str, ...] = ()


@dataclass
class FakeRun:
    """A workflow run; `reruns` holds how it was asked to run again."""

    id: int
    head_sha: str
    event: str = "pull_request"
    path: str = ".github/workflows/prompts.yml"
    created_at: str = TIME
    conclusion: str | None = "failure"
    reruns: list[str] = field(default_factory=list)


class Shapes:
    """The answers' bodies, as whoever the token is sees them."""

    public_url = ""

    def _author(self) -> str:
        raise NotImplementedError

    def _user_json(self, login: str) -> dict[str, Any]:
        kind = "Bot" if login.endswith("[bot]") else "User"
        urls = {f"{name}_url": f"{self.public_url}/{name}" for name in _USER_URLS}
        return {"id": 1, "node_id": "U_1", "login": login, "type": kind, "site_admin": False} | (
            urls | {"gravatar_id": "", "url": f"{self.public_url}/users/1"}
        )

    def _comment_json(self, comment: FakeComment) -> dict[str, Any]:
        address = f"{self.public_url}/repos/{REPOSITORY}/issues/comments/{comment.id}"
        return {
            "id": comment.id,
            "node_id": f"IC_{comment.id}",
            "url": address,
            "html_url": f"{self.public_url}/{REPOSITORY}/pull/1#issuecomment-{comment.id}",
            "issue_url": f"{self.public_url}/repos/{REPOSITORY}/issues/1",
            "body": comment.body,
            "user": self._user_json(comment.author) if comment.author else None,
            "created_at": comment.created_at,
            "updated_at": LATER if comment.edits or comment.touched else comment.created_at,
            "author_association": "NONE",
            "performed_via_github_app": self._app_json(comment.app) if comment.app else None,
        }

    def _app_json(self, name: str) -> dict[str, Any]:
        return {
            "id": 1,
            "node_id": "A_1",
            "slug": name,
            "name": name,
            "owner": self._user_json("octo"),
            "description": None,
            "external_url": f"{self.public_url}/{name}",
            "html_url": f"{self.public_url}/apps/{name}",
            "created_at": TIME,
            "updated_at": TIME,
            "permissions": {},
            "events": [],
        }

    def _issue_json(self, issue: FakeIssue) -> dict[str, Any]:
        address = f"{self.public_url}/repos/{REPOSITORY}/issues/{issue.number}"
        return {
            "id": issue.number,
            "node_id": f"I_{issue.number}",
            "url": address,
            "repository_url": f"{self.public_url}/repos/{REPOSITORY}",
            "labels_url": f"{address}/labels{{/name}}",
            "comments_url": f"{address}/comments",
            "events_url": f"{address}/events",
            "html_url": f"{self.public_url}/{REPOSITORY}/issues/{issue.number}",
            "number": issue.number,
            "state": issue.state,
            "title": issue.title,
            "body": issue.body,
            "user": self._user_json(issue.author) if issue.author else None,
            "labels": [],
            "assignee": None,
            "assignees": [],
            "milestone": None,
            "locked": False,
            "comments": 0,
            "created_at": TIME,
            "updated_at": TIME,
            "closed_at": TIME if issue.state == "closed" else None,
            "author_association": "NONE",
        }

    def _status_json(self, status: FakeStatus) -> dict[str, Any]:
        return {
            "id": 1,
            "node_id": "SC_1",
            "url": f"{self.public_url}/repos/{REPOSITORY}/statuses/{status.sha}",
            "avatar_url": None,
            "state": status.state,
            "description": status.description,
            "target_url": status.target_url,
            "context": status.context,
            "created_at": TIME,
            "updated_at": TIME,
            "creator": self._user_json(self._author()),
        }

    def _repository_json(self) -> dict[str, Any]:
        return (
            {f"{name}_url": f"{self.public_url}/{name}" for name in _REPOSITORY_URLS}
            | dict.fromkeys(_REPOSITORY_FLAGS, False)
            | dict.fromkeys(_REPOSITORY_COUNTS, 0)
            | dict.fromkeys(["description", "homepage", "language", "license", "pushed_at"])
            | {"id": 1, "node_id": "R_1", "name": REPOSITORY.split("/")[1], "full_name": REPOSITORY}
            | {"owner": self._user_json("octo"), "default_branch": "main"}
            | {"url": f"{self.public_url}/repos/{REPOSITORY}"}
            | {"created_at": TIME, "updated_at": TIME}
        )

    def _pull_json(self, pull: FakePull) -> dict[str, Any]:
        number = pull.number

        def side(label: str, commit: str, name: str | None) -> dict[str, Any]:
            user = self._user_json("octo")
            repository = self._repository_json() | {"full_name": name} if name else None
            return {"label": label, "ref": label, "sha": commit, "user": user, "repo": repository}

        counts = "additions changed_files comments commits deletions review_comments"
        nothing = (
            "assignee body closed_at merge_commit_sha merged_at milestone auto_merge mergeable"
        )
        link = {"href": f"{self.public_url}/link"}
        return (
            {f"{name}_url": f"{self.public_url}/{name}" for name in _PULL_URLS}
            | dict.fromkeys(counts.split(), 0)
            | dict.fromkeys([*nothing.split(), "merged_by"])
            | {"id": number, "node_id": f"PR_{number}", "number": number, "draft": pull.draft}
            | {"labels": [self._label_json(name) for name in pull.labels]}
            | {"state": "open", "title": "A change", "mergeable_state": "clean"}
            | {"locked": False, "merged": False, "maintainer_can_modify": False}
            | {"created_at": TIME, "updated_at": TIME, "author_association": "OWNER"}
            | {"user": self._user_json("octocat"), "_links": dict.fromkeys(_LINKS, link)}
            | {"url": f"{self.public_url}/repos/{REPOSITORY}/pulls/{number}"}
            | {"base": side(pull.base_ref, pull.base_sha, REPOSITORY)}
            | {"head": side(pull.head_ref, pull.head_sha, pull.head_repository)}
            | {"merge_commit_sha": pull.merge_sha, "state": pull.state}
        )

    def _label_json(self, name: str) -> dict[str, Any]:
        address = f"{self.public_url}/repos/{REPOSITORY}/labels/{name}"
        shown = {"id": 1, "node_id": "LA_1", "name": name, "url": address}
        return shown | {"color": "ededed", "default": False, "description": None}

    def _run_json(self, run: FakeRun) -> dict[str, Any]:
        address = f"{self.public_url}/repos/{REPOSITORY}/actions/runs/{run.id}"
        links = ["jobs", "logs", "check_suite", "artifacts", "cancel", "rerun", "workflow"]
        return (
            {f"{name}_url": f"{address}/{name}" for name in links}
            | {"id": run.id, "node_id": f"WFR_{run.id}", "name": "Prompts", "path": run.path}
            | {"head_sha": run.head_sha, "head_branch": "change", "event": run.event}
            | {"status": "completed" if run.conclusion else "in_progress"}
            | {"conclusion": run.conclusion, "run_number": 1, "workflow_id": 1}
            | {"created_at": run.created_at, "updated_at": run.created_at, "url": address}
            | {"html_url": f"{self.public_url}/{REPOSITORY}/actions/runs/{run.id}"}
            | {"display_title": "A change", "pull_requests": [], "head_commit": None}
            | {"repository": self._repository_json(), "head_repository": self._repository_json()}
        )

    def _commit_json(self, sha: str) -> dict[str, Any]:
        address = f"{self.public_url}/repos/{REPOSITORY}/commits/{sha}"
        verification = {"verified": False, "reason": "unsigned", "signature": None}
        return {
            "sha": sha,
            "node_id": f"C_{sha}",
            "url": address,
            "html_url": address,
            "comments_url": f"{address}/comments",
            "author": None,
            "committer": None,
            "parents": [],
            "commit": {
                "url": address,
                "author": None,
                "committer": None,
                "message": "A commit",
                "comment_count": 0,
                "tree": {"sha": "0" * 40, "url": address},
                "verification": verification | {"payload": None, "verified_at": None},
            },
        }

    def _reaction_json(self, content: str) -> dict[str, Any]:
        user = self._user_json(self._author())
        return {"id": 1, "node_id": "R_1", "user": user, "content": content, "created_at": TIME}
