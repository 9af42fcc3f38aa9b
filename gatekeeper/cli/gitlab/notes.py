"""The calls to GitLab's API that find, create and update a note on a merge request.

https://docs.gitlab.com/api/notes/#merge-requests describes them. The token is sent to the server
that is given and to no other: redirects are errors.
"""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.client import HTTPException
from typing import Any, NamedTuple, NoReturn
from urllib.parse import quote, urlsplit

from gatekeeper.errors import PublishError

TIMEOUT_S = 15.0
BACKOFF_S = (1.0, 4.0, 10.0)
MAX_BYTES = 20_000_000
_PER_PAGE = 100
_MOST_PAGES = 100
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
        tried = False

        def not_posted() -> bool:
            nonlocal tried
            tried, before = True, tried
            return not (before and self.find_note(marker))

        self._call("POST", "/notes", body, needed=not_posted)

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
        """Return the answer; try again if that can help. An answer of another shape than GitLab's
        is a PublishError too."""
        for wait in (*BACKOFF_S, None):
            if not needed():
                return Answer(None, "")
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
