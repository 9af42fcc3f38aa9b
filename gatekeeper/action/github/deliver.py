"""Delivers rendered texts to where people look: comment, commit status, summary, outputs, log.

Takes strings that are already harmless to show and knows nothing of results. A delivery
that fails is a warning in the log and never changes the verdict: the job's own exit code
is what a branch rule requires, and everything here is for people. Only the step's outputs are
for programs: a job that passes without them ends with exit code 3.
"""

from __future__ import annotations

import errno
import os
import secrets
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from gatekeeper.action.github.client import Comment, PullRequestApi, StatusState
from gatekeeper.action.inputs import CommentMode
from gatekeeper.errors import WriteError

Level = Literal["error", "warning", "notice"]

COMMENT_LIMIT = 65_536
SUMMARY_LIMIT = 1024 * 1024
"""Bytes. Above it the runner drops the whole summary."""
STATUS_LIMIT = 140
ANNOTATIONS_A_LEVEL = 10
"""What the runner shows of each level; more are dropped without a word."""
ANNOTATION_LIMIT = 4_096

_STATES: dict[int, StatusState] = {0: "success", 1: "failure"}
_CUT = "\n\n… cut here: the rest is in the job's summary and artifact.\n"


@dataclass(frozen=True, slots=True)
class Annotation:
    """A finding shown on a line of a changed file, or on the run where it has no file."""

    level: Level
    title: str
    message: str
    path: str | None = None
    line: int | None = None


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
    body = f"{marker}\n{cut(text.lstrip(), COMMENT_LIMIT - len(marker) - 1, _CUT)}"
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
    return head + cut(content, COMMENT_LIMIT - len(head), _CUT)


def _sha_line(sha: str) -> str:
    return f"<!-- gatekeeper-head:{sha} -->"


def _wanted(judged: Judged, mode: CommentMode) -> bool:
    if mode == "always":
        return True
    if mode == "failures":
        return judged.verdict in ("fail", "error")
    return judged.newsworthy


def publish_status(
    api: PullRequestApi,
    sha: str,
    exit_code: int,
    text: str,
    *,
    context: str,
    target_url: str | None,
) -> None:
    """Add a commit status, so that the verdict is seen in lists of commits too.

    It says what the job says. Raises PublishError.
    """
    state = _STATES.get(exit_code, "error")
    api.set_status(sha, state, context, status_description(text), target_url)


def status_description(text: str) -> str:
    """One line that GitHub takes as a status: 140 characters, none of them of four bytes."""
    plain = "".join(c if ord(c) <= 0xFFFF else "?" for c in " ".join(text.split()))
    return plain if len(plain) <= STATUS_LIMIT else plain[: STATUS_LIMIT - 1] + "…"


def write_outputs(path: Path | None, outputs: Mapping[str, str]) -> None:
    """Append the step's outputs, all of them or none. The delimiter is random, so that no value
    can end itself. Raises WriteError."""
    if path is None:
        return
    lines = []
    for name, value in outputs.items():
        delimiter = f"gatekeeper_{secrets.token_hex(16)}"
        lines.append(f"{name}<<{delimiter}\n{value}\n{delimiter}\n")
    _append(path, "".join(lines).encode(errors="replace"))


def write_summary(path: Path | None, text: str) -> None:
    """Append to the job's summary, within the size above which the runner drops all of it.
    Raises WriteError."""
    if path is None:
        return
    try:
        written = path.stat().st_size if path.exists() else 0
    except OSError as error:
        raise WriteError(path, error) from error
    left = SUMMARY_LIMIT - written - 1
    content = text.encode()
    if len(content) > left:
        end = _CUT.encode()
        content = content[: max(0, left - len(end))].decode(errors="ignore").encode() + end
    if len(content) <= left:
        _append(path, content)


def _append(path: Path, content: bytes) -> None:
    """Add to the end of a file; take back what was added if not all of it fits."""
    try:
        with path.open("ab", buffering=0) as file:
            before = file.seek(0, os.SEEK_END)
            try:
                if file.write(content) != len(content):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            except OSError:
                with suppress(OSError):
                    file.truncate(before)
                raise
    except OSError as error:
        raise WriteError(path, error) from error


def annotation_commands(annotations: Sequence[Annotation]) -> tuple[str, ...]:
    """Workflow commands, the worst first and no more of a level than the runner shows.

    Ranked by level and, within a level, in the order given.
    """
    lines: list[str] = []
    for level in ("error", "warning", "notice"):
        found = [a for a in annotations if a.level == level]
        lines += [_command(a) for a in found[:ANNOTATIONS_A_LEVEL]]
    return tuple(lines)


def warning_command(message: str) -> str:
    """A warning about the delivery itself."""
    return _command(Annotation("warning", "Gatekeeper", message))


def _command(annotation: Annotation) -> str:
    properties = {"title": annotation.title}
    if annotation.path is not None:
        properties = {"file": annotation.path, **properties}
    if annotation.path is not None and annotation.line is not None:
        properties["line"] = str(annotation.line)
    joined = ",".join(f"{name}={_escape_property(value)}" for name, value in properties.items())
    return (
        f"::{annotation.level} {joined}::{_escape(cut(annotation.message, ANNOTATION_LIMIT, '…'))}"
    )


def _escape(text: str) -> str:
    """https://github.com/actions/toolkit/blob/main/packages/core/src/command.ts"""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _escape_property(text: str) -> str:
    return _escape(text).replace(":", "%3A").replace(",", "%2C")


def cut(text: str, limit: int, end: str) -> str:
    """The text, or as much of it as fits with `end` after it."""
    return text if len(text) <= limit else text[: max(0, limit - len(end))] + end
