"""Comments on lines of a pull request, which hold suggestions: posted, updated and withdrawn.

GitHub accepts such a comment only on lines that the pull request's diff shows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any

from gatekeeper.action.github.client import PullRequestApi, tried_again
from gatekeeper.reports.markdown.revert import Suggestion

if TYPE_CHECKING:
    from github.PullRequestComment import PullRequestComment

_PERMISSION = "pull-requests: write"
_HUNK = re.compile(r"^@@ -\d+(?:,\d+)? \+(\d+)(?:,(\d+))? @@", re.MULTILINE)
_PAGE = 100
_WITHDRAWN = "This suggestion no longer applies to the latest commit."


@dataclass(frozen=True, slots=True)
class ReviewComment:
    """A comment of the gate's own on the lines `start` to `end` of a file; None if the pull request
    no longer shows them. `answered` says that somebody replied to it."""

    id: int
    path: str
    start: int | None
    end: int | None
    body: str
    answered: bool


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """A file of a pull request at its head. `file_id` is git's name of its content, `patch` its
    diff; None if GitHub does not show it."""

    file_id: str
    patch: str | None


def publish_suggestions(
    api: ReviewApi, number: int, sha: str, marker: str, wanted: Sequence[Suggestion]
) -> bool:
    """Post the suggestions, and withdraw those of earlier runs. Raises PublishError.

    Returns whether they are posted: all of them, or none if the pull request does not show the
    lines of one, or its files are not those that were tested.
    """
    existing = api.review_comments(number, marker)
    if not all(_shows(api.changed_file(number, one.path), one) for one in wanted):
        wanted = ()
    kept = set()
    for one in wanted:
        body = f"{marker}\n{one.text}"
        place = one.path, one.start, one.end
        same = next((c for c in existing if (c.path, c.start, c.end) == place), None)
        if same is None:
            api.create_review_comment(number, sha, marker, one, body)
            continue
        kept.add(same.id)
        if same.body != body:
            api.edit_review_comment(same, body)
    for comment in existing:
        if comment.id not in kept:
            _withdraw(api, comment)
    return bool(wanted)


def _withdraw(api: ReviewApi, comment: ReviewComment) -> None:
    """Delete the comment. If somebody replied, it stays, without the suggestion and the marker."""
    if comment.answered:
        api.edit_review_comment(comment, _WITHDRAWN)
    else:
        api.delete_review_comment(comment)


def _shows(file: ChangedFile | None, wanted: Suggestion) -> bool:
    """Return whether one part of the file's diff shows the lines of the content that was tested."""
    if file is None or file.file_id != wanted.file_id:
        return False
    ranges = _shown_lines(file.patch or "")
    return any(first <= wanted.start and wanted.end <= last for first, last in ranges)


def _shown_lines(patch: str) -> Iterator[tuple[int, int]]:
    """Yield the first and the last line of head that each part of the diff shows."""
    for hunk in _HUNK.finditer(patch):
        first, count = int(hunk[1]), int(hunk[2] or 1)
        yield first, first + count - 1


class ReviewApi(PullRequestApi):
    """The calls to GitHub that suggestions need. Every method raises PublishError with advice."""

    @tried_again("read the review comments", _PERMISSION)
    def review_comments(self, number: int, marker: str) -> tuple[ReviewComment, ...]:
        """Return the comments on lines that begin with the marker and are the gate's own. A person
        whose token the gate uses may quote one, and a quote is never deleted."""
        return self._own_reviews(number, marker)

    @tried_again("read the pull request's files", "pull-requests: read")
    def changed_file(self, number: int, path: str) -> ChangedFile | None:
        """Return a file that the pull request adds or changes; None for any other."""
        for file in self._pages(f"pulls/{number}/files"):
            if file["filename"] == path and file["status"] != "removed":
                return ChangedFile(file["sha"], file.get("patch"))
        return None

    def create_review_comment(
        self, number: int, sha: str, marker: str, place: Suggestion, body: str
    ) -> None:
        """Comment on lines, only once even if an answer of GitHub is lost."""
        sent: dict[str, Any] = {"body": body, "commit_id": sha, "path": place.path}
        sent |= {"line": place.end, "side": "RIGHT"}
        if place.start < place.end:
            sent |= {"start_line": place.start, "start_side": "RIGHT"}
        self._once(
            "post the suggestion",
            _PERMISSION,
            lambda: self._ask("POST", f"pulls/{number}/comments", input=sent),
            lambda: any(c.body == body for c in self._own_reviews(number, marker)) or None,
        )

    @tried_again("update the suggestion", _PERMISSION)
    def edit_review_comment(self, comment: ReviewComment, body: str) -> None:
        """Replace the text of a comment on lines."""
        self._ask("PATCH", f"pulls/comments/{comment.id}", input={"body": body})

    @tried_again("delete the suggestion", _PERMISSION)
    def delete_review_comment(self, comment: ReviewComment) -> None:
        """Delete a comment on lines."""
        from github import GithubException

        try:
            self._ask("DELETE", f"pulls/comments/{comment.id}")
        except GithubException as refused:
            if refused.status != 404:  # somebody deleted it already
                raise

    def _own_reviews(self, number: int, marker: str) -> tuple[ReviewComment, ...]:
        from github.PullRequestComment import PullRequestComment

        requester = self._github().requester
        # Complete, because PyGithub would ask GitHub once more for each field that is left out.
        found = [
            PullRequestComment(requester, {}, item, completed=True)
            for item in self._pages(f"pulls/{number}/comments")
        ]
        answered = {comment.in_reply_to_id for comment in found}
        return tuple(
            _review(comment, answered=comment.id in answered)
            for comment in found
            if (comment.body or "").startswith(marker) and self._is_own_account(comment.user)
        )

    def _pages(self, path: str) -> Iterator[dict[str, Any]]:
        """Yield the items of a list, page by page."""
        for page in count(1):
            items = self._ask("GET", path, parameters={"per_page": _PAGE, "page": page})
            yield from items
            if len(items) < _PAGE:
                return


def _review(comment: PullRequestComment, *, answered: bool) -> ReviewComment:
    # PyGithub's types do not say that the lines of an outdated comment are null.
    end: int | None = comment.line
    start: int | None = comment.start_line or end
    return ReviewComment(comment.id, comment.path, start, end, comment.body, answered)
