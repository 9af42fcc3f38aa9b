"""A small GitHub on 127.0.0.1 that remembers: pull requests, comments, commit statuses.

    with FakeGithub() as github:
        github.pull_request(7, head_sha="a" * 40)
        ...  # GITHUB_API_URL=github.url
        assert github.comments[7][0].body == "..."

Answers have the shapes of `github_shapes`, so that a checking proxy can
stand in between; `public_url` is then the proxy's address. Every absolute address in an
answer begins with it, because clients refuse to be sent to another host.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar
from urllib.parse import parse_qs, unquote, urlsplit

from support.github_branches import Branches
from support.github_checks import Checks
from support.github_objects import (
    BOT,
    LATER,
    REPOSITORY,
    FakeComment,
    FakeIssue,
    FakePull,
    FakeRun,
    FakeStatus,
)
from support.github_reviews import Reviews
from support.local_server import JsonHandler, LocalServer

_NO_ANSWER = (0, {}, {})
T = TypeVar("T")


@dataclass
class Fault:
    """What goes wrong with the next `times` requests that match.

    `lost` carries a request out and closes the connection without an answer, `close`
    does not carry it out, `status` answers with the status, headers and message.
    """

    method: str
    path: str
    kind: Literal["status", "lost", "close"] = "status"
    status: int = 500
    headers: Mapping[str, str] = field(default_factory=dict)
    message: str = "Server Error"
    times: int = 1


Answer = tuple[int, Mapping[str, str], Any]


class FakeGithub(LocalServer, Reviews, Branches, Checks):
    """The server and its state; every request is kept in `requests` as `METHOD path`."""

    def __init__(self, *, login: str | None = None, viewer: str | None = BOT) -> None:
        self.login = login
        """Who the token is; None for a job's token, which may not ask."""
        self.viewer = viewer
        self._lock = threading.Lock()
        self.forget()
        fake = self

        class Handler(_Handler):
            github = fake

        super().__init__(self.http(Handler))
        self.public_url = self.url

    def forget(self) -> None:
        """Nothing has happened yet."""
        self.forget_reviews()
        self.forget_branches()
        self.forget_checks()
        self.comments: dict[int, list[FakeComment]] = {}
        self.statuses: list[FakeStatus] = []
        self.issues: list[FakeIssue] = []
        self.pulls: dict[int, FakePull] = {}
        self.runs: list[FakeRun] = []
        self.roles: dict[str, str] = {}
        """What people may do here; a custom role is written `name:permission`."""
        self.reactions: dict[int, list[str]] = {}
        self.refs: dict[str, str] = {}
        """What `GET /commits/REF` finds, beside full names."""
        self.faults: list[Fault] = []
        self.requests: list[str] = []
        self.read_only = False
        self._next_id = 1000

    @property
    def verdicts(self) -> list[FakeStatus]:
        """The commit statuses that end a run."""
        return [status for status in self.statuses if status.state != "pending"]

    def pull_request(self, number: int, head_sha: str, **fields: Any) -> FakePull:
        """Open a pull request, or push to it."""
        self.pulls[number] = FakePull(number, head_sha, **fields)
        self.comments.setdefault(number, [])
        return self.pulls[number]

    def comment(self, number: int, body: str, author: str | None = "octocat") -> FakeComment:
        """Somebody comments."""
        self._next_id += 1
        comment = FakeComment(self._next_id, author, body)
        self.comments.setdefault(number, []).append(comment)
        return comment

    def edit(self, comment: FakeComment, body: str) -> None:
        """Somebody edits a comment: its author, or whoever may write to the repository."""
        comment.body, comment.edits = body, comment.edits + 1

    def issue(self, title: str, body: str, author: str | None = "octocat") -> FakeIssue:
        """Somebody opens an issue."""
        self._next_id += 1
        issue = FakeIssue(self._next_id, author, title, body)
        self.issues.append(issue)
        return issue

    def answer(self, method: str, target: str, body: Any) -> Answer:
        """Carry out one request."""
        url = urlsplit(target)
        with self._lock:
            self.requests.append(f"{method} {url.path}")
            fault = self._fault(method, url.path)
            if fault is not None and fault.kind == "close":
                return _NO_ANSWER
            if fault is not None and fault.kind == "status":
                return fault.status, fault.headers, _error(fault.message)
            answer = self._route(method, url.path, parse_qs(url.query), body)
            return _NO_ANSWER if fault is not None else answer

    def _fault(self, method: str, path: str) -> Fault | None:
        for fault in self.faults:
            if fault.times and fault.method == method and re.search(fault.path, path):
                fault.times -= 1
                return fault
        return None

    def _route(self, method: str, path: str, query: Mapping[str, list[str]], body: Any) -> Answer:
        if method in ("POST", "PATCH", "DELETE") and self.read_only and path != "/graphql":
            return 403, {}, _error("Resource not accessible by integration")
        for verb, pattern, serve in self._routes():
            found = re.fullmatch(pattern, path)
            if verb == method and found:
                return serve(*found.groups(), query=query, body=body)
        return 404, {}, _error("Not Found")

    def _routes(self) -> list[tuple[str, str, Callable[..., Answer]]]:
        repository = f"/repos/{REPOSITORY}"
        return [
            ("GET", rf"{repository}/pulls/(\d+)", self._get_pull),
            ("GET", rf"{repository}/pulls", self._list_pulls),
            ("GET", rf"{repository}/commits/([0-9a-f]+)/pulls", self._pulls_of_commit),
            ("GET", rf"{repository}/commits/([0-9a-f]+)/statuses", self._list_statuses),
            *self.check_routes(),
            ("GET", rf"{repository}/commits/(.+)", self._get_commit),
            ("GET", rf"{repository}/collaborators/([^/]+)/permission", self._permission),
            ("POST", rf"{repository}/issues/comments/(\d+)/reactions", self._react),
            ("GET", rf"{repository}/actions/runs", self._list_runs),
            ("GET", rf"{repository}/actions/runs/(\d+)", self._get_run),
            ("POST", rf"{repository}/actions/runs/(\d+)/(rerun|rerun-failed-jobs)", self._rerun),
            ("GET", rf"{repository}/issues/(\d+)/comments", self._list_comments),
            ("POST", rf"{repository}/issues/(\d+)/comments", self._create_comment),
            ("PATCH", rf"{repository}/issues/comments/(\d+)", self._edit_comment),
            ("POST", rf"{repository}/statuses/([0-9a-f]+)", self._create_status),
            ("GET", rf"{repository}/issues", self._list_issues),
            ("POST", rf"{repository}/issues", self._create_issue),
            ("GET", rf"{repository}/issues/(\d+)", self._get_issue),
            ("PATCH", rf"{repository}/issues/(\d+)", self._edit_issue),
            *self.review_routes(),
            *self.branch_routes(),
            ("GET", "/user", self._get_user),
            ("POST", "(?:/api)?/graphql", self._graphql),
        ]

    def _get_pull(self, number: str, **_: Any) -> Answer:
        pull = self.pulls.get(int(number))
        if pull is None:
            return 404, {}, _error("Not Found")
        return 200, {}, self._pull_json(pull)

    def _list_pulls(self, query: Mapping[str, list[str]], **_: Any) -> Answer:
        (head,), (state,) = query.get("head", [""]), query.get("state", ["open"])
        found = [
            pull
            for pull in self.pulls.values()
            if pull.state == state and head in ("", f"{_owner(pull)}:{pull.head_ref}")
        ]
        return 200, {}, [self._pull_json(pull) for pull in found]

    def _pulls_of_commit(self, sha: str, **_: Any) -> Answer:
        found = [pull for pull in self.pulls.values() if sha in (pull.merge_sha, pull.head_sha)]
        return 200, {}, [self._pull_json(pull) for pull in found]

    def _get_commit(self, ref: str, **_: Any) -> Answer:
        known = self.refs.get(unquote(ref))
        if known is None and not re.fullmatch("[0-9a-f]{40}", ref):
            return 422, {}, _error(f"No commit found for SHA: {ref}")
        return 200, {}, self._commit_json(known or ref) | self.made_commit(known or ref)

    def _list_statuses(self, sha: str, **_: Any) -> Answer:
        found = [status for status in reversed(self.statuses) if status.sha == sha]
        return 200, {}, [self._status_json(status) for status in found]

    def _permission(self, login: str, **_: Any) -> Answer:
        known = self.roles.get(unquote(login))
        if known is None:
            return 404, {}, _error(f"{login} is not a user")
        role, _, permission = known.partition(":")
        plain = {"maintain": "write", "triage": "read"}.get(role, role)
        user = self._user_json(login) | {"role_name": role}
        return 200, {}, {"permission": permission or plain, "role_name": role, "user": user}

    def _react(self, comment: str, body: Any, **_: Any) -> Answer:
        self.reactions.setdefault(int(comment), []).append(body["content"])
        return 201, {}, self._reaction_json(body["content"])

    def _list_runs(self, query: Mapping[str, list[str]], **_: Any) -> Answer:
        (sha,) = query.get("head_sha", [""])
        found = [self._run_json(run) for run in self.runs if sha in ("", run.head_sha)]
        return 200, {}, {"total_count": len(found), "workflow_runs": found}

    def _get_run(self, run: str, **_: Any) -> Answer:
        known = next((r for r in self.runs if r.id == int(run)), None)
        return (200, {}, self._run_json(known)) if known else (404, {}, _error("Not Found"))

    def _rerun(self, run: str, how: str, **_: Any) -> Answer:
        known = next(r for r in self.runs if r.id == int(run))
        if known.conclusion is None:
            return 403, {}, _error("This workflow is already running")
        known.reruns.append(how)
        known.conclusion = None
        return 201, {}, {}

    def _list_comments(self, number: str, query: Mapping[str, list[str]], **_: Any) -> Answer:
        comments = self.comments.get(int(number), [])
        shown, headers = self._paged(comments, f"issues/{number}/comments", query)
        return 200, headers, [self._comment_json(comment) for comment in shown]

    def _paged(
        self, items: Sequence[T], path: str, query: Mapping[str, list[str]]
    ) -> tuple[Sequence[T], Mapping[str, str]]:
        size = int(query.get("per_page", ["30"])[0])
        page = int(query.get("page", ["1"])[0])
        headers = {}
        if page * size < len(items):
            address = f"{self.public_url}/repos/{REPOSITORY}/{path}"
            last = -(-len(items) // size)
            headers["Link"] = (
                f'<{address}?per_page={size}&page={page + 1}>; rel="next", '
                f'<{address}?per_page={size}&page={last}>; rel="last"'
            )
        return items[(page - 1) * size : page * size], headers

    def _list_issues(self, query: Mapping[str, list[str]], **_: Any) -> Answer:
        (state,) = query.get("state", ["open"])
        found = [issue for issue in reversed(self.issues) if state in ("all", issue.state)]
        shown, headers = self._paged(found, "issues", query)
        return 200, headers, [self._issue_json(issue) for issue in shown]

    def _create_issue(self, body: Any, **_: Any) -> Answer:
        if len(body["body"]) > 65_536:
            return 422, {}, _error("body is too long (maximum is 65536 characters)")
        return 201, {}, self._issue_json(self.issue(body["title"], body["body"], self._author()))

    def _get_issue(self, number: str, **_: Any) -> Answer:
        known = next((issue for issue in self.issues if issue.number == int(number)), None)
        return (200, {}, self._issue_json(known)) if known else (404, {}, _error("Not Found"))

    def _edit_issue(self, number: str, body: Any, **_: Any) -> Answer:
        known = next((issue for issue in self.issues if issue.number == int(number)), None)
        if known is None:
            return 404, {}, _error("Not Found")
        known.title, known.body, known.state = body["title"], body["body"], body["state"]
        known.edits += 1
        return 200, {}, self._issue_json(known)

    def _create_comment(self, number: str, body: Any, **_: Any) -> Answer:
        if len(body["body"]) > 65_536:
            return 422, {}, _error("body is too long (maximum is 65536 characters)")
        return 201, {}, self._comment_json(self.comment(int(number), body["body"], self._author()))

    def _edit_comment(self, number: str, body: Any, **_: Any) -> Answer:
        for comments in self.comments.values():
            for comment in comments:
                if comment.id == int(number):
                    comment.body, comment.edits = body["body"], comment.edits + 1
                    return 200, {}, self._comment_json(comment)
        return 404, {}, _error("Not Found")

    def _create_status(self, sha: str, body: Any, **_: Any) -> Answer:
        description = body.get("description") or ""
        if len(description) > 140 or any(ord(c) > 0xFFFF for c in description):
            return 422, {}, _error("Validation Failed: description")
        status = FakeStatus(
            sha, body["state"], body["context"], description, body.get("target_url")
        )
        self.statuses.append(status)
        return 201, {}, self._status_json(status)

    def _get_user(self, **_: Any) -> Answer:
        if self.login is None:
            return 403, {}, _error("Resource not accessible by integration")
        return 200, {}, self._user_json(self.login)

    def _graphql(self, body: Any, **_: Any) -> Answer:
        if node := body["variables"].get("id"):
            return self._edit_of(node)
        if self.viewer is None:
            return 404, {}, _error("Not Found")
        return 200, {}, {"data": {"viewer": {"login": self.viewer}}}

    def _edit_of(self, node: str) -> Answer:
        every = [comment for comments in self.comments.values() for comment in comments]
        known = next((c for c in every if f"IC_{c.id}" == node), None)
        if known is None:
            return 200, {}, {"data": {"node": None}}
        return 200, {}, {"data": {"node": {"lastEditedAt": LATER if known.edits else None}}}

    def _author(self) -> str:
        return self.login or self.viewer or BOT


def _owner(pull: FakePull) -> str:
    return (pull.head_repository or "").partition("/")[0]


def _error(message: str) -> dict[str, str]:
    return {"message": message, "documentation_url": "https://docs.example.invalid"}


class _Handler(JsonHandler):
    github: FakeGithub

    def _serve(self) -> None:
        status, headers, body = self.github.answer(self.command, self.path, self.read_json())
        if not status:
            self.close_connection = True
            return
        if status == 204:
            self.send(status, b"", headers)
            return
        self.send_json(status, json.dumps(body), headers)

    do_GET = do_POST = do_PATCH = do_DELETE = _serve  # noqa: N815
