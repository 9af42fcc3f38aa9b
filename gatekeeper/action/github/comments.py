"""The comment on a pull request: found by its marker, created or updated.

Texts are already escaped. If a comment cannot be published, the log has a warning and the verdict
stays the same: a branch rule requires the job's own exit code.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gatekeeper.action.github.client import Comment, PullRequestApi
from gatekeeper.action.inputs import CommentMode
from gatekeeper.reports.markdown.page import alert
from gatekeeper.reports.markdown.since import since_last_push
from gatekeeper.reports.markers import PROGRESS, head_marker

# Shortens a text to the length that GitHub accepts.


CUT_NOTE = "\n\n… This text was cut. For the whole text, see the job's summary and artifact.\n"


def cut(text: str, limit: int, end: str) -> str:
    """Return the text, or as much of it as fits with `end` after it."""
    return text if len(text) <= limit else text[: max(0, limit - len(end))] + end


COMMENT_LIMIT = 65_536


@dataclass(frozen=True, slots=True)
class CheckedCommit:
    """The pull request and the commit that the verdict is about.

    `newsworthy` is False if no prompt was changed, so that no comment is needed.
    """

    number: int
    head_sha: str
    verdict: str
    newsworthy: bool


@dataclass(frozen=True, slots=True)
class CommentPlace:
    """The comment that is updated, if there is one, and the present head of the pull request."""

    existing: Comment | None
    current_sha: str


def publish_comment(
    api: PullRequestApi,
    checked: CheckedCommit,
    text: str | Callable[[CommentPlace], str],
    *,
    mode: CommentMode,
    marker: str,
) -> tuple[Comment | None, str]:
    """Post the comment or update it. Returns it, and a line for the log.

    An existing comment is updated in every mode but `off`, so that an old "fail" does not remain
    after the fix. Raises PublishError.

    Args:
        text: What to write, or a function that returns it and is called only if it is written.
        marker: The hidden text that identifies the comment.
    """
    if mode == "off":
        return None, "comments are off"
    existing = api.find_comment(checked.number, marker)
    if existing is None and not _wanted(checked, mode):
        return None, f"no comment posted, because the input `comment` is {mode!r}"
    current = api.head_sha(checked.number)
    if (
        existing is not None
        and current != checked.head_sha
        and head_marker(current) in existing.body
    ):
        text = "the existing comment is about a newer push, so gatekeeper keeps this comment"
        return existing, text
    written = text if isinstance(text, str) else text(CommentPlace(existing, current))
    body = comment_body(written, checked.head_sha, current, marker)
    return _put(api, checked.number, marker, body, existing)


def publish_progress(
    api: PullRequestApi, number: int, head_sha: str, text: str, *, mode: CommentMode, marker: str
) -> None:
    """Show how far a run is above the comment's last result, or in a new comment if the mode does
    not wait for the verdict. A newer push is not disturbed. Raises PublishError."""
    if mode == "off" or api.head_sha(number) != head_sha:
        return
    existing = api.find_comment(number, marker)
    if existing is None and mode == "failures":
        return
    box = alert("NOTE", text.split("\n\n"))
    shown = f"{PROGRESS}{box}\n{PROGRESS}"
    before = existing.body if existing else f"{marker}\n{head_marker(head_sha)}\n"
    first, *rest = _SHOWN_PROGRESS.sub("", before).splitlines(keepends=True)
    top = first + shown
    body = top + cut("".join(rest), COMMENT_LIMIT - len(top), CUT_NOTE)
    _put(api, number, marker, body, existing)


_SHOWN_PROGRESS = re.compile(f"{PROGRESS}.*?{PROGRESS}", re.DOTALL)


def post_or_update(api: PullRequestApi, number: int, marker: str, body: str) -> Comment:
    """Create or update the comment with the marker, which `body` holds too, and return it. Raises
    PublishError."""
    return _put(api, number, marker, body, api.find_comment(number, marker))[0]


def _put(
    api: PullRequestApi, number: int, marker: str, body: str, existing: Comment | None
) -> tuple[Comment, str]:
    """Create the comment or update the existing one; return it and a line for the log."""
    if existing is None:
        return api.create_comment(number, marker, body), "comment posted"
    body = since_last_push(body, existing.body, COMMENT_LIMIT)
    if existing.body == body:
        return existing, "comment is up to date"
    return api.update_comment(existing, body), "comment updated"


def marked_body(lines: Sequence[str], text: str, note: str = CUT_NOTE) -> str:
    """Return a comment's body: hidden lines, then the text within GitHub's limit. The note replaces
    the part that is cut."""
    head = "".join(f"{line}\n" for line in lines)
    return head + cut(text, COMMENT_LIMIT - len(head), note)


def comment_body(text: str, checked_sha: str, current_sha: str, marker: str) -> str:
    """Return the comment's body: marker, a warning if outdated, text within GitHub's limit."""
    lines = [marker, head_marker(checked_sha)]
    if current_sha != checked_sha:
        newer = f"not about the newer push {current_sha[:12]}"
        about = f"This comment is about {checked_sha[:12]}, {newer}."
        lines += [alert("WARNING", [about]), ""]
    return marked_body(lines, text)


def _wanted(checked: CheckedCommit, mode: CommentMode) -> bool:
    if mode == "always":
        return True
    if mode == "failures":
        return checked.verdict in ("fail", "error")
    return checked.newsworthy
