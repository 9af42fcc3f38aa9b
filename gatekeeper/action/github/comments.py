"""The comment on a pull request: found by its marker, created or brought up to date.

Texts are already harmless to show. A comment that cannot be published is a warning in the log and
never changes the verdict: the job's own exit code is what a branch rule requires.
"""

from __future__ import annotations

from dataclasses import dataclass

from gatekeeper.action.github.client import Comment, PullRequestApi
from gatekeeper.action.github.cut import CUT_NOTE, cut
from gatekeeper.action.inputs import CommentMode

COMMENT_LIMIT = 65_536


@dataclass(frozen=True, slots=True)
class Judged:
    """The pull request and the commit that the verdict is about.

    `newsworthy` is False where no prompt was touched: nobody wants a comment then.
    """

    number: int
    head_sha: str
    verdict: str
    newsworthy: bool


def publish_comment(
    api: PullRequestApi, judged: Judged, text: str, *, mode: CommentMode, marker: str
) -> tuple[Comment | None, str]:
    """Post the one comment or bring it up to date. Returns it, and a line for the log.

    Raises PublishError. `marker` is what the comment is found by. A comment that exists is
    always brought up to date, whatever the mode: an old "fail" left standing after the fix
    would be a lie.
    """
    if mode == "off":
        return None, "comments are off"
    existing = api.find_comment(judged.number, marker)
    if existing is None and not _wanted(judged, mode):
        return None, f"no comment: nothing to say in mode {mode!r}"
    current = api.head_sha(judged.number)
    if existing is not None and current != judged.head_sha and _sha_line(current) in existing.body:
        return existing, "a newer push is judged already: its comment stays"
    body = comment_body(text, judged.head_sha, current, marker)
    if existing is None:
        return api.create_comment(judged.number, marker, body), "comment posted"
    if existing.body == body:
        return existing, "comment is up to date"
    return api.update_comment(existing, body), "comment updated"


def post_or_update(api: PullRequestApi, number: int, marker: str, text: str) -> Comment:
    """The one comment that carries the marker, with this text. Raises PublishError."""
    body = f"{marker}\n{cut(text.lstrip(), COMMENT_LIMIT - len(marker) - 1, CUT_NOTE)}"
    existing = api.find_comment(number, marker)
    if existing is None:
        return api.create_comment(number, marker, body)
    return existing if existing.body == body else api.update_comment(existing, body)


def comment_body(text: str, judged_sha: str, current_sha: str, marker: str) -> str:
    """The comment as it is sent: marker, warning where it is stale, text within GitHub's limit."""
    head = f"{marker}\n{_sha_line(judged_sha)}\n"
    if current_sha != judged_sha:
        head += (
            "> [!WARNING]\n"
            f"> This is about {judged_sha[:12]}. {current_sha[:12]} has been pushed since "
            "and is not judged here.\n\n"
        )
    content = text.removeprefix(marker).lstrip("\n")
    return head + cut(content, COMMENT_LIMIT - len(head), CUT_NOTE)


def _sha_line(sha: str) -> str:
    return f"<!-- gatekeeper-head:{sha} -->"


def _wanted(judged: Judged, mode: CommentMode) -> bool:
    if mode == "always":
        return True
    if mode == "failures":
        return judged.verdict in ("fail", "error")
    return judged.newsworthy
