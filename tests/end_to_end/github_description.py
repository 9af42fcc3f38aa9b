"""GitHub's own description of its API, cut down to the calls that the gate makes.

The whole of it lies where the tools for containers have put it; checking against all of it would
take the proxy half a minute to start.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

_R = "/repos/{owner}/{repo}"
CALLS = (
    _R,
    f"{_R}/pulls",
    f"{_R}/pulls/{{pull_number}}",
    f"{_R}/pulls/{{pull_number}}/comments",
    f"{_R}/pulls/{{pull_number}}/files",
    f"{_R}/pulls/comments/{{comment_id}}",
    f"{_R}/issues/{{issue_number}}",
    f"{_R}/issues/{{issue_number}}/comments",
    f"{_R}/issues/comments/{{comment_id}}",
    f"{_R}/issues/comments/{{comment_id}}/reactions",
    f"{_R}/collaborators/{{username}}/permission",
    f"{_R}/commits/{{ref}}",
    f"{_R}/commits/{{ref}}/statuses",
    f"{_R}/commits/{{ref}}/check-runs",
    f"{_R}/check-runs",
    f"{_R}/check-runs/{{check_run_id}}",
    f"{_R}/commits/{{commit_sha}}/pulls",
    f"{_R}/statuses/{{sha}}",
    f"{_R}/actions/runs",
    f"{_R}/actions/runs/{{run_id}}",
    f"{_R}/actions/runs/{{run_id}}/rerun",
    f"{_R}/actions/runs/{{run_id}}/rerun-failed-jobs",
    "/user",
)


def excerpt(lab: Path, target: Path) -> Path:
    """Writes the description of CALLS, with all that they refer to."""
    whole = json.loads((lab / "npm/package/generated/api.github.com.json").read_text())
    paths = {path: whole["paths"][path] for path in CALLS}
    cut = {key: whole[key] for key in ("openapi", "info", "servers")} | {"paths": paths}
    cut["components"] = _components(paths, whole["components"])
    target.write_text(json.dumps(cut))
    return target


def _components(used: Any, known: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    waiting = [used]
    while waiting:
        node = waiting.pop()
        if isinstance(node, list):
            waiting += node
            continue
        if not isinstance(node, dict):
            continue
        waiting += node.values()
        reference = node.get("$ref")
        if not isinstance(reference, str):
            continue
        _, _, kind, name = reference.split("/", 3)
        if name not in found.setdefault(kind, {}):
            found[kind][name] = known[kind][name]
            waiting.append(known[kind][name])
    return found
