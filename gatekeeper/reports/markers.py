"""The hidden lines by which the gate finds its own comments and issues, and the names of its pages.

Anybody can write such a line, so the gate's own account must also be the author.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from datetime import UTC, datetime

DEFAULT_ID = "gatekeeper"
"""One repository may have several gates, each with an id of its own."""
WAIVER_MARKER = "<!-- gatekeeper-waiver "
"""The beginning of the line that records a waiver; the record follows as JSON."""

PROGRESS = "<!-- gatekeeper-progress -->\n"
"""The line before and after the progress of a run in its comment."""

_UNSAFE = re.compile(r"[^A-Za-z0-9_.]+")
_HEAD = re.compile(r"<!-- gatekeeper-head:([0-9a-f]{40,64}) -->")
_STATE = re.compile(r"^<!-- gatekeeper-state:(\{[^\n]{2,13000}\}) -->$", re.MULTILINE)
_FIRST_LINE = re.compile(r"\A<!-- gatekeeper:[^\n]*-->\n")
_CHANGES = re.compile(r"^<!-- drift: ([0-9a-f ]*) -->$", re.MULTILINE)


def comment_marker(marker_id: str = DEFAULT_ID) -> str:
    """Return the marker of the comment with the verdict."""
    return f"<!-- gatekeeper:{_safe(marker_id)} -->"


def suggestion_marker(marker_id: str) -> str:
    """Return the marker of comments with a suggestion, and of the comment that refers to them."""
    return f"<!-- gatekeeper-suggestion:{_safe(marker_id)} -->"


def run_marker(marker_id: str) -> str:
    """Return the marker of the comment with the result of a manual run."""
    return f"<!-- gatekeeper-run:{_safe(marker_id)} -->"


def issue_marker(marker_id: str, kind: str) -> str:
    """Return the marker of an issue of nightly runs, such as that about `drift`."""
    return f"<!-- gatekeeper-{kind}:{_safe(marker_id)} -->"


def reply_marker(marker_id: str, comment_id: int) -> str:
    """Return the marker of the reply to the command in a comment."""
    return f"<!-- gatekeeper-reply:{_safe(marker_id)}:{comment_id} -->"


def head_marker(sha: str) -> str:
    """Return the marker that names the commit that a comment is about."""
    return f"<!-- gatekeeper-head:{sha} -->"


def read_head(body: str) -> str | None:
    """Return the commit that a comment is about; None if it names none."""
    found = _HEAD.search(body)
    return found[1] if found else None


def without_comment_marker(body: str) -> str:
    """Return the comment without the marker in its first line."""
    return _FIRST_LINE.sub("", body)


def state_marker(state: str) -> str:
    """Return the line in which a comment keeps what it found, as JSON without text of others."""
    return f"<!-- gatekeeper-state:{state} -->"


def find_state(body: str) -> re.Match[str] | None:
    """Return the line with what a comment found; its first group is the JSON."""
    return _STATE.search(body)


def page_of(started: datetime, sha: str) -> str:
    """Return the path of a run's page in the dashboard."""
    short = "".join(letter for letter in sha.lower() if letter in "0123456789abcdef")[:12]
    return f"runs/{started.astimezone(UTC):%Y-%m-%dT%H%M%SZ}-{short or 'unknown'}.html"


def changes_marker(changes: Collection[str]) -> str:
    """Return the marker that names the changes in an issue about drift."""
    return f"<!-- drift: {' '.join(sorted(changes))} -->"


def read_changes(body: str) -> frozenset[str]:
    """Read the changes that the text of an issue names."""
    found = _CHANGES.search(body)
    return frozenset(found[1].split()) if found else frozenset()


def _safe(marker_id: str) -> str:
    """Remove from the id what would end the HTML comment, such as two dashes."""
    return _UNSAFE.sub("-", marker_id).strip("-") or DEFAULT_ID
