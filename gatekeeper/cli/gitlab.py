"""Posts the comment of a check as a note, within a job of GitLab CI."""

from __future__ import annotations

import json
import re
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from http.client import HTTPException
from pathlib import Path
from typing import Any, NamedTuple, NoReturn
from urllib.parse import quote, urlsplit

from gatekeeper.errors import PublishError, UsageError
from gatekeeper.reports.markdown.since import since_last_push
from gatekeeper.reports.markers import (
    comment_marker,
    head_marker,
    read_head,
    without_comment_marker,
)
from gatekeeper.reports.redact import redactor

TIMEOUT_S = 15.0
BACKOFF_S = (1.0, 4.0, 10.0)
MAX_BYTES = 20_000_000
_PER_PAGE = 100
_MOST_PAGES = 100
_LONGEST_NOTE = 1_000_000
_RETRIED = {429, 500, 502, 503, 504}


@dataclass(frozen=True, slots=True)
class Note:
    """A note of the token's own account."""

    id: int
    body: str


class Answer(NamedTuple):
    """A JSON document, and the number of the next page; empty on the last one."""

    document: Any
    next_page: str


class _RefuseRedirects(urllib.request.HTTPRedirectHandler):
    """Follows no redirect, which would take the token to another host."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        """Return no request: the redirect is then an HTTP error."""


@dataclass(slots=True)
class MergeRequestApi:
    """The notes of one merge request. Every method raises PublishError with advice."""

    server: str
    """The address of GitLab, without a path of the API."""
    project: str
    """The project's number or full path."""
    merge_request: str
    """The merge request's number within the project."""
    token: str = field(repr=False)
    sleep: Callable[[float], None] = time.sleep

    def __post_init__(self) -> None:
        address = urlsplit(self.server)
        if address.scheme not in ("http", "https") or not address.hostname or address.username:
            raise PublishError(f"CI_SERVER_URL: {self.server!r} is not the address of a server")

    def head_sha(self) -> str:
        """Return the present head commit of the merge request."""
        return str(self._call("GET", "").document["sha"])

    def find_note(self, marker: str) -> Note | None:
        """Return the oldest note of the token's account that begins with the marker. Anybody can
        write a marker, so the author counts."""
        own = self._send("GET", f"{self._api}/user").document["id"]
        for note in self._notes():
            if note["author"]["id"] == own and note["body"].startswith(marker):
                return Note(note["id"], note["body"])
        return None

    def create_note(self, marker: str, body: str) -> None:
        """Post a note, only once even if an answer of GitLab is lost."""
        self._call("POST", "/notes", body, needed=lambda: self.find_note(marker) is None)

    def update_note(self, note: Note, body: str) -> None:
        """Replace a note's text."""
        self._call("PUT", f"/notes/{note.id}", body)

    @property
    def _api(self) -> str:
        return f"{self.server.rstrip('/')}/api/v4"

    def _notes(self) -> Iterator[Any]:
        page = "1"
        for _ in range(_MOST_PAGES):
            query = f"?sort=asc&order_by=created_at&per_page={_PER_PAGE}&page={quote(page)}"
            answer = self._call("GET", f"/notes{query}")
            yield from answer.document
            page = answer.next_page
            if not page:
                return

    def _call(
        self,
        method: str,
        path: str,
        body: str | None = None,
        needed: Callable[[], bool] = lambda: True,
    ) -> Answer:
        project, number = quote(self.project, safe=""), quote(self.merge_request, safe="")
        url = f"{self._api}/projects/{project}/merge_requests/{number}{path}"
        return self._send(method, url, body, needed)

    def _send(
        self,
        method: str,
        url: str,
        body: str | None = None,
        needed: Callable[[], bool] = lambda: True,
    ) -> Answer:
        """Return the answer; try again if that can help and is still `needed`. An answer of another
        shape than GitLab's is a PublishError too."""
        for wait in (*BACKOFF_S, None):
            try:
                return self._send_once(method, url, body)
            except urllib.error.HTTPError as refused:
                refused.close()
                if refused.code not in _RETRIED or wait is None:
                    _refuse(refused.code)
            except (OSError, HTTPException) as broken:
                if wait is None:
                    why = f"no answer from {self.server} ({type(broken).__name__})"
                    raise PublishError(f"could not comment on the merge request: {why}") from broken
            except (ValueError, RecursionError) as strange:
                raise PublishError(f"{self.server} is not GitLab's API") from strange
            self.sleep(wait)
            if not needed():
                return Answer(None, "")
        raise AssertionError("unreachable")

    def _send_once(self, method: str, url: str, body: str | None) -> Answer:
        data = None if body is None else json.dumps({"body": body}).encode()
        headers = {"PRIVATE-TOKEN": self.token, "Content-Type": "application/json"}
        request = urllib.request.Request(url, data, headers, method=method)  # noqa: S310
        opener = urllib.request.build_opener(_RefuseRedirects)
        with opener.open(request, timeout=TIMEOUT_S) as answer:
            document = json.loads(answer.read(MAX_BYTES))
            return Answer(document, answer.headers.get("X-Next-Page") or "")


def _refuse(status: int) -> NoReturn:
    """Raise PublishError with what the status means, and what to do about it."""
    why = {
        401: "GitLab does not accept the token; renew GATEKEEPER_GITLAB_TOKEN",
        403: "the token lacks permission; give it the scope `api` and the role Reporter or higher",
        404: "GitLab cannot find the merge request; give the token access to the project",
        429: "GitLab's rate limit is reached; the next pipeline will try again",
    }
    if 300 <= status < 400:
        text = (
            "CI_SERVER_URL redirects to another address, and gatekeeper does not send the token "
            "to another address"
        )
    else:
        text = why.get(status, f"GitLab answered with the status {status}")
    raise PublishError(f"could not comment on the merge request: {text}")


TOKEN = "GATEKEEPER_GITLAB_TOKEN"  # noqa: S105  # the name of the variable

_QUICK_ACTION = re.compile(r"^([ \t>]*)/(?=\w)", re.MULTILINE)
_WORD_JOINER = "\u2060"


def post_comment(out: Path, marker_id: str, environment: Mapping[str, str]) -> str:
    """Create or update the note with the comment in the folder of reports; return what was done.

    Without a comment, the note says that there is no verdict. A note of a newer commit stays. If
    there is nothing to say, no note is created.
    Raises UsageError outside of a merge request's pipeline, and PublishError.
    """
    job = _variables(environment)
    token = environment.get(TOKEN, "")
    if not token:
        raise PublishError(
            f"{TOKEN} is not set, so no comment was posted; add this variable. Protected variables "
            "exist only in pipelines of protected branches: see gatekeeper's docs/other-systems.md"
        )
    api = MergeRequestApi(
        job["CI_SERVER_URL"], job["CI_PROJECT_ID"], job["CI_MERGE_REQUEST_IID"], token
    )
    marker = comment_marker(marker_id)
    # In a pipeline of the merged result, CI_COMMIT_SHA is the commit of the merge.
    sha = environment.get("CI_MERGE_REQUEST_SOURCE_BRANCH_SHA") or job["CI_COMMIT_SHA"]
    text = redactor((token,)).text(_text(out, environment.get("CI_JOB_URL", "")))
    body = f"{marker}\n{head_marker(sha)}\n{without_quick_actions(text)}"
    try:
        return _publish(api, marker, sha, body, newsworthy=_newsworthy(out))
    except (KeyError, TypeError, AttributeError) as strange:
        raise PublishError(f"{api.server} is not GitLab's API") from strange


def _publish(api: MergeRequestApi, marker: str, sha: str, body: str, *, newsworthy: bool) -> str:
    note = api.find_note(marker)
    if note is None and not newsworthy:
        return "no contract is affected, so there is no comment"
    if note is None:
        api.create_note(marker, body)
        return "comment posted"
    body = since_last_push(body, note.body, _LONGEST_NOTE)
    if note.body == body:
        return "comment is up to date"
    known = read_head(note.body)
    current = api.head_sha()
    if current != sha and known == current:
        return "the comment already shows the result of a newer push"
    api.update_note(note, body)
    return "comment updated"


def without_quick_actions(text: str) -> str:
    """Return the text in which no line begins with a slash.

    GitLab carries out such lines as commands of the note's author (`/merge`, `/close`), and a
    comment quotes what models and pull requests wrote.
    """
    return _QUICK_ACTION.sub(rf"\1{_WORD_JOINER}/", text)


def _variables(environment: Mapping[str, str]) -> dict[str, str]:
    names = ("CI_SERVER_URL", "CI_PROJECT_ID", "CI_MERGE_REQUEST_IID", "CI_COMMIT_SHA")
    missing = [name for name in names if not environment.get(name)]
    if missing:
        raise UsageError(
            f"{', '.join(missing)}: not set; run this command in a merge request pipeline "
            "of GitLab CI"
        )
    return {name: environment[name] for name in names}


def _newsworthy(out: Path) -> bool:
    """Return whether the result says anything: a merge request that changes no prompt gets no
    comment, as in the action."""
    try:
        result = json.loads((out / "result.json").read_text(encoding="utf-8"))
        said = (result["contracts"], result["uncovered"], result["notices"])
        return any(said) or result["verdict"] != "pass"
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return True


def _text(out: Path, job_url: str) -> str:
    """Return the comment that the check wrote, without its marker; a sentence if it wrote none."""
    try:
        text = (out / "comment.md").read_text(encoding="utf-8")
    except FileNotFoundError:
        log = f"[log of the job]({job_url})" if job_url.startswith("http") else "log of the job"
        why = f"`gatekeeper check` ended before it had a verdict. The {log} says why."
        return f"## 🚫 No verdict\n\n{why}\n"
    except OSError as error:
        raise UsageError(f"{out / 'comment.md'}: cannot be read: {error.strerror}") from error
    return without_comment_marker(text)
