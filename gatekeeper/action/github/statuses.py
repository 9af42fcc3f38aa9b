"""The commit status, which shows the verdict next to the commit."""

from __future__ import annotations

from gatekeeper.action.github.client import PullRequestApi, StatusState

STATUS_LIMIT = 140
_STATES: dict[int, StatusState] = {0: "success", 1: "failure"}


def publish_status(
    api: PullRequestApi,
    sha: str,
    exit_code: int,
    text: str,
    *,
    context: str,
    target_url: str | None,
) -> None:
    """Add a commit status, so that lists of commits show the verdict too.

    It corresponds to the job's exit code. Raises PublishError.
    """
    state = _STATES.get(exit_code, "error")
    api.set_status(sha, state, context, status_description(text), target_url)


def status_description(text: str) -> str:
    """Return one line that GitHub accepts as a status: 140 characters, none of them of four
    bytes."""
    plain = "".join(c if ord(c) <= 0xFFFF else "?" for c in " ".join(text.split()))
    return plain if len(plain) <= STATUS_LIMIT else plain[: STATUS_LIMIT - 1] + "…"
