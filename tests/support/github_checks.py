"""The part of a small GitHub that keeps check runs, with its limits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from support.github_objects import REPOSITORY, TIME, Shapes

_MOST = 50
_NEEDED = {"path", "start_line", "end_line", "annotation_level", "message"}


@dataclass
class FakeCheckRun:
    """A check run as it stands."""

    id: int
    name: str
    head_sha: str
    external_id: str
    conclusion: str
    details_url: str | None
    output: dict[str, Any] = field(default_factory=dict)
    annotations: list[dict[str, Any]] = field(default_factory=list)


class Checks(Shapes):
    """What belongs to check runs; the server answers with it."""

    def forget_checks(self) -> None:
        self.check_runs: list[FakeCheckRun] = []

    def check_routes(self) -> list[tuple[str, str, Callable[..., Any]]]:
        runs = f"/repos/{REPOSITORY}/check-runs"
        return [
            ("POST", runs, self._create_check),
            ("GET", rf"{runs}/(\d+)", self._get_check),
            ("PATCH", rf"{runs}/(\d+)", self._update_check),
            ("GET", rf"/repos/{REPOSITORY}/commits/([0-9a-f]+)/check-runs", self._list_checks),
        ]

    def _create_check(self, body: Any, **_: Any) -> Any:
        if problem := _problem(body["output"]):
            return 422, {}, {"message": problem, "documentation_url": ""}
        assert body["status"] == "completed"
        made = FakeCheckRun(
            id=len(self.check_runs) + 1,
            name=body["name"],
            head_sha=body["head_sha"],
            external_id=body["external_id"],
            conclusion=body["conclusion"],
            details_url=body.get("details_url"),
        )
        self.check_runs.append(made)
        return 201, {}, self._take(made, body["output"])

    def _update_check(self, number: str, body: Any, **_: Any) -> Any:
        if problem := _problem(body["output"]):
            return 422, {}, {"message": problem, "documentation_url": ""}
        return 200, {}, self._take(self.check_runs[int(number) - 1], body["output"])

    def _get_check(self, number: str, **_: Any) -> Any:
        return 200, {}, self._check_json(self.check_runs[int(number) - 1])

    def _list_checks(self, sha: str, query: Mapping[str, list[str]], **_: Any) -> Any:
        (name,) = query["check_name"]
        found = [run for run in self.check_runs if (run.head_sha, run.name) == (sha, name)]
        listed = [self._check_json(run) for run in reversed(found)]
        return 200, {}, {"total_count": len(listed), "check_runs": listed}

    def _take(self, run: FakeCheckRun, output: dict[str, Any]) -> dict[str, Any]:
        """An update replaces the text and appends the annotations."""
        run.annotations += output["annotations"]
        run.output = {name: text for name, text in output.items() if name != "annotations"}
        return self._check_json(run)

    def _check_json(self, run: FakeCheckRun) -> dict[str, Any]:
        address = f"{self.public_url}/repos/{REPOSITORY}/check-runs/{run.id}"
        counted = {"annotations_count": len(run.annotations), "text": None}
        counted |= {"annotations_url": f"{address}/annotations"}
        known = {k: v for k, v in vars(run).items() if k not in ("annotations", "output")}
        return (
            known
            | {"status": "completed", "output": run.output | counted, "url": address}
            | {"node_id": f"CR_{run.id}", "html_url": f"{self.public_url}/runs/{run.id}"}
            | {"started_at": TIME, "completed_at": TIME, "check_suite": {"id": 1}}
            | {"app": None, "pull_requests": []}
        )


def _problem(output: Mapping[str, Any]) -> str | None:
    """What GitHub refuses."""
    annotations = output["annotations"]
    if len(annotations) > _MOST:
        return "No more than 50 items are allowed"
    if len(output["title"]) > 255 or len(output["summary"]) > 65_535:
        return "Only 65535 characters are allowed"
    if any(not set(a) >= _NEEDED or len(a["message"].encode()) > 65_536 for a in annotations):
        return "annotations are invalid"
    levels = {a["annotation_level"] for a in annotations}
    return None if levels <= {"notice", "warning", "failure"} else "annotation_level is invalid"
