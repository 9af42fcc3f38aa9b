"""A small GitHub on 127.0.0.1 that remembers: pull requests, comments, commit statuses.

    with FakeGithub() as github:
        github.pull_request(7, head_sha="a" * 40)
        ...  # GITHUB_API_URL=github.url
        assert github.comments[7][0].body == "..."

Answers carry every field that GitHub's description requires, so that a checking proxy can
stand in between; `public_url` is then the proxy's address. Every absolute address in an
answer begins with it, because clients refuse to be sent to another host.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Literal, Self
from urllib.parse import parse_qs, urlsplit

REPOSITORY = "octo/prompts"
BOT = "github-actions[bot]"
_TIME = "2026-01-02T03:04:05Z"
_NO_ANSWER = (0, {}, {})
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
    """A comment as it stands; `edits` counts how often it was changed."""

    id: int
    author: str | None
    body: str
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


class FakeGithub:
    """The server and its state; every request is kept in `requests` as `METHOD path`."""

    def __init__(self, *, login: str | None = None, viewer: str | None = BOT) -> None:
        self.login = login
        """Who the token is; None for a job's token, which may not ask."""
        self.viewer = viewer
        self.comments: dict[int, list[FakeComment]] = {}
        self.statuses: list[FakeStatus] = []
        self.heads: dict[int, str] = {}
        self.faults: list[Fault] = []
        self.requests: list[str] = []
        self.read_only = False
        self._next_id = 1000
        self._lock = threading.Lock()
        fake = self

        class Handler(_Handler):
            github = fake

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.01,), daemon=True
        )
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self.public_url = self.url

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def pull_request(self, number: int, head_sha: str) -> None:
        """Open a pull request, or push to it."""
        self.heads[number] = head_sha
        self.comments.setdefault(number, [])

    def comment(self, number: int, body: str, author: str | None = "octocat") -> FakeComment:
        """Somebody comments."""
        self._next_id += 1
        comment = FakeComment(self._next_id, author, body)
        self.comments.setdefault(number, []).append(comment)
        return comment

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
        if method in ("POST", "PATCH") and self.read_only and path != "/graphql":
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
            ("GET", rf"{repository}/issues/(\d+)/comments", self._list_comments),
            ("POST", rf"{repository}/issues/(\d+)/comments", self._create_comment),
            ("PATCH", rf"{repository}/issues/comments/(\d+)", self._edit_comment),
            ("POST", rf"{repository}/statuses/([0-9a-f]+)", self._create_status),
            ("GET", "/user", self._get_user),
            ("POST", "(?:/api)?/graphql", self._graphql),
        ]

    def _get_pull(self, number: str, **_: Any) -> Answer:
        sha = self.heads.get(int(number))
        if sha is None:
            return 404, {}, _error("Not Found")
        return 200, {}, self._pull_json(int(number), sha)

    def _list_comments(self, number: str, query: Mapping[str, list[str]], **_: Any) -> Answer:
        comments = self.comments.get(int(number), [])
        size = int(query.get("per_page", ["30"])[0])
        page = int(query.get("page", ["1"])[0])
        shown = comments[(page - 1) * size : page * size]
        headers = {}
        if page * size < len(comments):
            path = f"{self.public_url}/repos/{REPOSITORY}/issues/{number}/comments"
            last = -(-len(comments) // size)
            headers["Link"] = (
                f'<{path}?per_page={size}&page={page + 1}>; rel="next", '
                f'<{path}?per_page={size}&page={last}>; rel="last"'
            )
        return 200, headers, [self._comment_json(comment) for comment in shown]

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

    def _graphql(self, **_: Any) -> Answer:
        if self.viewer is None:
            return 404, {}, _error("Not Found")
        return 200, {}, {"data": {"viewer": {"login": self.viewer}}}

    def _author(self) -> str:
        return self.login or self.viewer or BOT

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
            "created_at": _TIME,
            "updated_at": _TIME,
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
            "created_at": _TIME,
            "updated_at": _TIME,
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
            | {"created_at": _TIME, "updated_at": _TIME}
        )

    def _pull_json(self, number: int, sha: str) -> dict[str, Any]:
        def side(label: str, commit: str) -> dict[str, Any]:
            user, repository = self._user_json("octo"), self._repository_json()
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
            | {"id": number, "node_id": f"PR_{number}", "number": number, "labels": []}
            | {"state": "open", "title": "A change", "mergeable_state": "clean"}
            | {"locked": False, "merged": False, "maintainer_can_modify": False}
            | {"created_at": _TIME, "updated_at": _TIME, "author_association": "OWNER"}
            | {"user": self._user_json("octocat"), "_links": dict.fromkeys(_LINKS, link)}
            | {"url": f"{self.public_url}/repos/{REPOSITORY}/pulls/{number}"}
            | {"base": side("main", "0" * 40), "head": side("change", sha)}
        )


def _error(message: str) -> dict[str, str]:
    return {"message": message, "documentation_url": "https://docs.example.invalid"}


class _Handler(BaseHTTPRequestHandler):
    github: FakeGithub
    protocol_version = "HTTP/1.1"

    def _serve(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        raw = self.rfile.read(length)
        status, headers, body = self.github.answer(
            self.command, self.path, json.loads(raw) if raw else None
        )
        if not status:
            self.close_connection = True
            return
        content = json.dumps(body).encode()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Type", "application/json; charset=utf-8")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST = do_PATCH = _serve  # noqa: N815

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Nothing on the terminal."""
