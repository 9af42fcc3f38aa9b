"""Posts the comment of a check as a note, within a job of GitLab CI."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path

from gatekeeper.cli.gitlab.notes import MergeRequestApi
from gatekeeper.errors import PublishError, UsageError
from gatekeeper.reports.markers import (
    comment_marker,
    head_marker,
    read_head,
    without_comment_marker,
)
from gatekeeper.reports.redact import redactor

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
