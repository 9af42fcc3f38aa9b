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
        batches = [
            found[at : at + ANNOTATIONS_A_REQUEST]
            for at in range(0, len(found), ANNOTATIONS_A_REQUEST)
        ]
        number = self._create(run, *batches[:1])
        for already, batch in enumerate(batches[1:], start=1):
            self._add(number, run, batch, already * ANNOTATIONS_A_REQUEST)

    def _create(self, run: CheckRun, annotations: Sequence[Any] = ()) -> int:
        own = secrets.token_hex(16)
        body = {
            "name": run.name,
            "head_sha": run.sha,
            "external_id": own,
            "status": "completed",
            "conclusion": "success" if run.passed else "failure",
            "output": _output(run, annotations),
        }
        body |= {"details_url": run.details_url} if run.details_url else {}
        named = f"commits/{run.sha}/check-runs?check_name={quote(run.name, safe='')}"

        def known() -> Any:
            every = self._ask("GET", named)["check_runs"]
            return next((found for found in every if found["external_id"] == own), None)

        def create() -> Any:
            return self._ask("POST", "check-runs", input=body)

        return int(self._once("create the check run", _PERMISSION, create, known)["id"])

    def _add(self, number: int, run: CheckRun, annotations: Sequence[Any], already: int) -> None:
        place, sent = f"check-runs/{number}", {"output": _output(run, annotations)}
        self._once(
            "add to the check run",
            _PERMISSION,
            lambda: self._ask("PATCH", place, input=sent),
            lambda: self._ask("GET", place)["output"]["annotations_count"] > already or None,
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
