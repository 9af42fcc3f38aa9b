"""The calls to GitHub that publish a result, and the rules for trying each again.

PyGithub's own retries are off. They leave out PATCH, retry status 429 only with Retry-After, and
repeat a POST whose answer was lost, which would create a second comment. Here every call goes
through `_retry`; creating a comment looks for it again first.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import wraps
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar, cast

from gatekeeper.errors import PublishError

if TYPE_CHECKING:
    from github import Github
    from github.IssueComment import IssueComment
    from github.NamedUser import NamedUser
    from github.Organization import Organization
    from github.Repository import Repository

T = TypeVar("T")
Call = TypeVar("Call", bound=Callable[..., Any])

StatusState = Literal["success", "failure", "error", "pending"]

ACTIONS_BOT = "github-actions[bot]"
"""Who comments with the token of a workflow job."""

TIMEOUT_S = 15
MAX_WAIT_S = 90.0
"""The longest total wait for one call, in seconds. A longer wait would cost more of the
runner than a report is worth."""
SECONDARY_LIMIT_WAIT_S = 60.0
BACKOFF_S = (1.0, 4.0, 10.0)


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment on a pull request that is the gate's own."""

    id: int
    body: str
    url: str


def tried_again(what: str, permission: str) -> Callable[[Call], Call]:
    """Return the decorator of a call to GitHub, which is made again if that can help.

    `what` says for errors what the call does, with the names of its arguments in braces, and
    `permission` what the token needs for it.
    """

    def decorate(call: Call) -> Call:
        names = call.__code__.co_varnames[1 : call.__code__.co_argcount]

        @wraps(call)
        def made(self: PullRequestApi, *args: Any, **more: Any) -> Any:
            said = what.format_map({**dict(zip(names, args, strict=False)), **more})
            return self._retry(said, permission, lambda: call(self, *args, **more))

        return cast(Call, made)

    return decorate


class PullRequestApi:
    """The calls to GitHub that publishing needs. Every method raises PublishError with advice."""

    def __init__(
        self,
        token: str,
        repository: str,
        api_url: str,
        *,
        sleep: Callable[[float], None] = time.sleep,
        seconds_between_writes: float = 1.0,
        timeout: float = TIMEOUT_S,
    ) -> None:
        self._token = token
        self._repository_name = repository
        self._api_url = api_url
        self._sleep = sleep
        self._seconds_between_writes = seconds_between_writes
        self._timeout = timeout
        self._client: Github | None = None
        self._repository: Repository | None = None
        self._comments: dict[int, IssueComment] = {}
        self._login: str | None = None

    def without_waiting(self) -> Self:
        """Return the same calls for another thread, none of which is made again."""
        made = copy(self)
        made._client = made._repository = None
        made._comments = {}
        made._sleep = _give_up
        return made

    @tried_again("read the pull request", "pull-requests: read")
    def head_sha(self, number: int) -> str:
        """Return the pull request's present head commit."""
        return self._repo().get_pull(number).head.sha

    @tried_again("read the comments", "pull-requests: write")
    def find_comment(self, number: int, marker: str) -> Comment | None:
        """Return the oldest comment of the gate's own account that has the marker."""
        return self._search(number, marker)

    def create_comment(self, number: int, marker: str, body: str) -> Comment:
        """Post a comment, only once even if an answer of GitHub is lost."""

        def known() -> Comment | None:
            found = self._search(number, marker)
            return found if found is None or found.body == body else self._edit(found, body)

        return self._once(
            "post the comment",
            "pull-requests: write",
            lambda: self._own(self._repo().get_issue(number).create_comment(body)),
            known,
        )

    @tried_again("update the comment", "pull-requests: write")
    def update_comment(self, comment: Comment, body: str) -> Comment:
        """Replace a comment's text."""
        return self._edit(comment, body)

    @tried_again("set the commit status", "statuses: write")
    def set_status(
        self, sha: str, state: StatusState, context: str, description: str, target_url: str | None
    ) -> None:
        """Add a commit status."""
        extra = {"target_url": target_url} if target_url else {}
        # Setting the same status again changes nothing: the latest of a context counts.
        self._repo().get_commit(sha).create_status(
            state, context=context, description=description, **extra
        )

    def _ask(self, verb: str, path: str, **sent: Any) -> Any:
        """Return GitHub's answer to a request below the repository's address."""
        address = f"{self._repo().url}/{path}"
        return self._github().requester.requestJsonAndCheck(verb, address, **sent)[1]

    def _repo(self) -> Repository:
        if self._repository is None:
            self._repository = self._github().get_repo(self._repository_name)
        return self._repository

    def _github(self) -> Github:
        if self._client is None:
            from github import Auth, Github

            self._client = Github(
                auth=Auth.Token(self._token) if self._token else None,
                base_url=self._api_url,
                timeout=self._timeout,  # type: ignore[arg-type]  # requests takes fractions too
                retry=None,
                per_page=100,
                seconds_between_requests=0,
                seconds_between_writes=self._seconds_between_writes,
                lazy=True,
            )
        return self._client

    def _search(self, number: int, marker: str) -> Comment | None:
        for comment in self._repo().get_issue(number).get_comments():
            if marker in (comment.body or "") and self._is_own(comment):
                return self._own(comment)
        return None

    def _is_own(self, comment: IssueComment) -> bool:
        """Return whether the gate's own account wrote the comment: anybody can write the marker."""
        return self._is_own_account(comment.user)

    def _is_own_account(self, author: NamedUser | Organization) -> bool:
        # The user of a deleted account is null, whatever PyGithub's types say.
        login = getattr(author, "login", None)
        if login is None or login == ACTIONS_BOT:
            return login == ACTIONS_BOT
        # A job's or an app's token never comments as a person: no need to ask who it is.
        if self._token.startswith("ghs_") and author.type != "Bot":
            return False
        return _account(login) == _account(self._own_login())

    def _own_login(self) -> str:
        """Return the token's account. Apps must use GraphQL for this, people the REST API."""
        from github import GithubException

        if self._login is not None:
            return self._login
        try:
            if self._token.startswith("ghs_"):
                query = "query { viewer { login } }"
                _, answer = self._github().requester.graphql_query(query, {})
                self._login = str(answer["data"]["viewer"]["login"])
            else:
                self._login = self._github().get_user().login
        except GithubException as refused:
            if refused.status not in (400, 401, 403, 404):
                raise
            self._login = ACTIONS_BOT
        return self._login

    def _own(self, comment: IssueComment) -> Comment:
        self._comments[comment.id] = comment
        return Comment(comment.id, comment.body or "", comment.html_url)

    def _edit(self, comment: Comment, body: str) -> Comment:
        known = self._comments[comment.id]
        known.edit(body)
        return Comment(comment.id, body, comment.url)

    def _once(
        self, what: str, permission: str, call: Callable[[], T], known: Callable[[], T | None]
    ) -> T:
        """Make a call that must not be carried out twice: a lost answer may have been, so `known`
        looks for what it made before the call is made again."""
        tried = False

        def attempt() -> T:
            nonlocal tried
            if tried and (found := known()) is not None:
                return found
            tried = True
            return call()

        return self._retry(what, permission, attempt)

    def _retry(self, what: str, permission: str, call: Callable[[], T]) -> T:
        """Return the call's answer; try again if that can help, for at most MAX_WAIT_S seconds."""
        from github import GithubException
        from requests import RequestException

        waited = 0.0
        backoffs: list[float | None] = [*BACKOFF_S, None]
        while True:
            wait = backoffs.pop(0)
            try:
                return call()
            except GithubException as refused:
                headers = {name.lower(): value for name, value in (refused.headers or {}).items()}
                message = _message(refused.data)
                why = advice(refused.status, message, permission)
                wait = seconds_to_wait(refused.status, headers, message, wait, datetime.now(UTC))
                cause: Exception = refused
            except RequestException as broken:
                why, cause = f"no answer from {self._api_url} ({type(broken).__name__})", broken
            # PyGithub asserts that an answer points to no other host and has the right types.
            except (AssertionError, RuntimeError, ValueError, LookupError) as strange:
                why, cause = f"{self._api_url} is not GitHub's API", strange
                wait = None
            if wait is None or waited + wait > MAX_WAIT_S:
                raise PublishError(f"could not {what}: {why}") from cause
            self._sleep(wait)
            waited += wait


def _give_up(_: float) -> None:
    raise PublishError("GitHub asks to wait")


def seconds_to_wait(
    status: int, headers: Mapping[str, str], message: str, backoff: float | None, now: datetime
) -> float | None:
    """Return the seconds until the call may be made again, or None if that cannot help.

    `backoff` is the shortest time to wait; None means that there were enough tries.
    https://docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api
    """
    if backoff is None:
        return None
    if status >= 500:
        return backoff
    limited = status == 429 or (status == 403 and _says_rate_limit(headers, message))
    if not limited:
        return None
    if (after := headers.get("retry-after", "")).isdigit():
        return max(float(after), backoff)
    reset = headers.get("x-ratelimit-reset", "")
    if headers.get("x-ratelimit-remaining") == "0" and reset.isdigit():
        # One second more: the header does not say when in its second the limit is lifted.
        return max(float(reset) - now.timestamp() + 1, backoff)
    return max(SECONDARY_LIMIT_WAIT_S, backoff)


def advice(status: int, message: str, permission: str) -> str:
    """Return what GitHub's refusal means and what to do about it."""
    if status == 401:
        return "GitHub does not accept the token; check the input `token`"
    if status == 403 and "rate limit" not in message.lower():
        return (
            f"the token has no permission for this request (403); add `{permission}` to "
            "the job's permissions. "
            "For a pull request from a fork, this error is expected, because the token is read-only"
        )
    if status in (403, 429):
        return f"GitHub's rate limit is reached ({status}); the next run will try again"
    if status == 404:
        return (
            f'GitHub answered "not found" (404); check that the token has `{permission}` for '
            "this repository"
        )
    if status >= 500:
        return f"GitHub has a problem ({status}); the next run will try again"
    return f"GitHub refused the request ({status}): {message}"


def _says_rate_limit(headers: Mapping[str, str], message: str) -> bool:
    return (
        "retry-after" in headers
        or headers.get("x-ratelimit-remaining") == "0"
        or "rate limit" in message.lower()
    )


def _message(data: Any) -> str:
    message = data.get("message") if isinstance(data, Mapping) else data
    return str(message or "")[:200]


def _account(login: str) -> str:
    """Remove an ending that only one of the two APIs writes after an app's login."""
    return login.removesuffix("[bot]")
