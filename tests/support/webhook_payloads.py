"""Event payloads by GitHub's documented field names, cut down to what could matter.

https://docs.github.com/en/webhooks/webhook-events-and-payloads
"""

from __future__ import annotations

from typing import Any

BASE, HEAD, MERGE = "b" * 40, "a" * 40, "c" * 40
REPOSITORY = {"full_name": "o/r", "default_branch": "main"}


def pull_request(action: str = "opened", head_repository: str | None = "o/r") -> dict[str, Any]:
    return {
        "action": action,
        "number": 7,
        "repository": REPOSITORY,
        "pull_request": {
            "number": 7,
            "merge_commit_sha": "d" * 40,
            "base": {"sha": BASE, "ref": "main", "repo": {"full_name": "o/r"}},
            "head": {
                "sha": HEAD,
                "ref": "x; rm -rf /",
                "repo": {"full_name": head_repository} if head_repository else None,
            },
        },
    }


def push(ref: str = "refs/heads/main", before: str = BASE, after: str = HEAD) -> dict[str, Any]:
    return {
        "ref": ref,
        "before": before,
        "after": after,
        "created": set(before) == {"0"},
        "deleted": set(after) == {"0"},
        "forced": False,
        "repository": REPOSITORY,
        "commits": [],
    }


def workflow_run(**fields: Any) -> dict[str, Any]:
    run = {
        "id": 1,
        "event": "pull_request",
        "conclusion": "failure",
        "head_sha": HEAD,
        "head_branch": "change",
        "head_repository": {"full_name": "fork/r", "owner": {"login": "fork"}},
        "actor": {"login": "octocat"},
        # Empty for forks, and never to be relied on.
        "pull_requests": [],
    }
    return {"action": "completed", "workflow_run": run | fields, "repository": REPOSITORY}


def dispatch(**inputs: Any) -> dict[str, Any]:
    typed = {name.replace("_", "-"): value for name, value in inputs.items()}
    return {"inputs": typed, "ref": "refs/heads/main", "repository": REPOSITORY}


def issue_comment(text: str | None, action: str = "created", **fields: Any) -> dict[str, Any]:
    comment = {
        "id": 11,
        "body": text,
        "created_at": "2026-01-02T03:04:05Z",
        "user": {"login": "octocat", "type": "User"},
        "author_association": "MEMBER",
    }
    return {
        "action": action,
        "issue": {"number": 7, "state": "open", "pull_request": {"url": "https://example"}},
        "comment": comment | fields,
        "repository": REPOSITORY,
    }
