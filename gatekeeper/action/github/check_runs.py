"""The check run: a page with the comment's text, and every annotation on its line.

It is not the required check, which is the job. It ends as the job does all the same, so a branch
rule that names it by mistake lets nothing pass that the job does not.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from gatekeeper.action.github.client import PullRequestApi
from gatekeeper.action.github.comments import CUT_NOTE, cut
from gatekeeper.action.github.workflow_step import Annotation

ANNOTATIONS_A_REQUEST = 50
"""https://docs.github.com/en/rest/checks/runs"""
TITLE_LIMIT = 255
TEXT_LIMIT = 65_535
MESSAGE_LIMIT = 16_000
"""In characters: GitHub takes 64 KB."""
_PERMISSION = "checks: write"
_LEVELS = {"error": "failure", "warning": "warning", "notice": "notice"}


@dataclass(frozen=True, slots=True)
class CheckRun:
    """A finished check run. Texts are escaped."""

    name: str
    sha: str
    passed: bool
    title: str
    text: str
    details_url: str | None
    annotations: Sequence[Annotation]


class CheckRunApi(PullRequestApi):
    """The calls to GitHub that a check run needs."""

    def publish_check_run(self, run: CheckRun) -> None:
        """Create the check run, with its annotations in batches. A repeated call adds nothing
        twice. Raises PublishError."""
        found = [_annotation(a) for a in run.annotations if a.path is not None]
        own, named = secrets.token_hex(16), quote(run.name, safe="")
        body = {
            "name": run.name,
            "head_sha": run.sha,
            "external_id": own,
            "status": "completed",
            "conclusion": "success" if run.passed else "failure",
            "output": _output(run, found[:ANNOTATIONS_A_REQUEST]),
        }
        body |= {"details_url": run.details_url} if run.details_url else {}

        def known() -> Any:
            every = self._ask("GET", f"commits/{run.sha}/check-runs?check_name={named}")
            return next((c for c in every["check_runs"] if c["external_id"] == own), None)

        def create() -> Any:
            return self._ask("POST", "check-runs", input=body)

        made = self._once("create the check run", _PERMISSION, create, known)
        for at in range(ANNOTATIONS_A_REQUEST, len(found), ANNOTATIONS_A_REQUEST):
            self._add(f"check-runs/{made['id']}", run, found, at)

    def _add(self, place: str, run: CheckRun, annotations: Sequence[Any], at: int) -> None:
        sent = {"output": _output(run, annotations[at : at + ANNOTATIONS_A_REQUEST])}
        self._once(
            "add to the check run",
            _PERMISSION,
            lambda: self._ask("PATCH", place, input=sent),
            lambda: self._ask("GET", place)["output"]["annotations_count"] > at or None,
        )


def _output(run: CheckRun, annotations: Sequence[Any]) -> Mapping[str, Any]:
    return {
        "title": cut(run.title, TITLE_LIMIT, "…"),
        "summary": cut(run.text, TEXT_LIMIT, CUT_NOTE),
        "annotations": annotations,
    }


def _annotation(found: Annotation) -> Mapping[str, Any]:
    line = found.line or 1
    return {
        "path": found.path,
        "start_line": line,
        "end_line": found.end_line or line,
        "annotation_level": _LEVELS[found.level],
        "title": cut(found.title, TITLE_LIMIT, "…"),
        "message": cut(found.message, MESSAGE_LIMIT, "…"),
    }
