"""The part of a small GitHub that keeps branches, trees and commits, and opens pull requests."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from support.github_objects import REPOSITORY, FakePull, Shapes

_NOT_ALLOWED = "GitHub Actions is not permitted to create or approve pull requests."


@dataclass
class FakeCommit:
    """A commit that was made by the API, or by a person who pushed."""

    tree: str
    parents: list[str]
    message: str
    author: str | None


@dataclass
class OpenedPull:
    """What a pull request was opened with."""

    number: int
    title: str
    body: str
    head: str
    base: str


@dataclass
class FakeTrees:
    """Files of each tree, by the tree's name."""

    files: dict[str, dict[str, str]] = field(default_factory=dict)

    def add(self, files: dict[str, str]) -> str:
        name = _name("tree", files)
        self.files[name] = files
        return name


class Branches(Shapes):
    """What belongs to branches; the server answers with it."""

    pulls: dict[int, FakePull]

    def forget_branches(self) -> None:
        self.branches: dict[str, str] = {}
        self.commits: dict[str, FakeCommit] = {}
        self.trees = FakeTrees()
        self.opened: list[OpenedPull] = []
        self.may_open = True

    def push(self, branch: str, author: str | None, message: str = "Mine") -> str:
        """Somebody pushes a commit to a branch."""
        before = self.branches.get(branch)
        tree = self.commits[before].tree if before else self.trees.add({})
        parents = [before] if before else []
        self.branches[branch] = self._commit(FakeCommit(tree, parents, message, author))
        return self.branches[branch]

    def files_on(self, branch: str) -> dict[str, str]:
        """The files that commits of the API put on a branch."""
        return self.trees.files[self.commits[self.branches[branch]].tree]

    def made_commit(self, sha: str) -> dict[str, Any]:
        """The fields of a commit that is known; none for another."""
        known = self.commits.get(sha)
        if known is None:
            return {}
        shape = self._commit_json(sha)
        tree = {"sha": known.tree, "url": shape["url"]}
        return {
            "author": self._user_json(known.author) if known.author else None,
            "parents": [{"sha": parent, "url": shape["url"]} for parent in known.parents],
            "commit": shape["commit"] | {"message": known.message, "tree": tree},
        }

    def branch_routes(self) -> list[tuple[str, str, Callable[..., Any]]]:
        git = f"/repos/{REPOSITORY}/git"
        return [
            ("GET", rf"{git}/ref/heads/(.+)", self._get_ref),
            ("POST", rf"{git}/trees", self._create_tree),
            ("POST", rf"{git}/commits", self._create_commit),
            ("POST", rf"{git}/refs", self._create_ref),
            ("PATCH", rf"{git}/refs/heads/(.+)", self._update_ref),
            ("POST", rf"/repos/{REPOSITORY}/pulls", self._create_pull),
        ]

    def _get_ref(self, branch: str, **_: Any) -> Any:
        sha = self.branches.get(branch)
        return (200, {}, self._ref_json(branch, sha)) if sha else (404, {}, _error("Not Found"))

    def _create_tree(self, body: Any, **_: Any) -> Any:
        below = self.trees.files.get(body["base_tree"], {})
        rows = body["tree"]
        if any(row["mode"] != "100644" or ".git" in row["path"].split("/") for row in rows):
            return 422, {}, _error("tree.path contains a malformed path component")
        new = {row["path"]: row["content"] for row in rows}
        return 201, {}, {"sha": self.trees.add({**below, **new})}

    def _create_commit(self, body: Any, **_: Any) -> Any:
        made = FakeCommit(body["tree"], body["parents"], body["message"], self._author())
        return 201, {}, {"sha": self._commit(made)}

    def _create_ref(self, body: Any, **_: Any) -> Any:
        branch = body["ref"].removeprefix("refs/heads/")
        if branch in self.branches:
            return 422, {}, _error("Reference already exists")
        self.branches[branch] = body["sha"]
        return 201, {}, self._ref_json(branch, body["sha"])

    def _update_ref(self, branch: str, body: Any, **_: Any) -> Any:
        if not body["force"] and self.branches[branch] not in self._history(body["sha"]):
            return 422, {}, _error("Update is not a fast forward")
        self.branches[branch] = body["sha"]
        return 200, {}, self._ref_json(branch, body["sha"])

    def _create_pull(self, body: Any, **_: Any) -> Any:
        if not self.may_open:
            return 403, {}, _error(_NOT_ALLOWED)
        number = 100 + len(self.opened)
        self.opened.append(OpenedPull(number, **body))
        head = self.branches[body["head"]]
        self.pulls[number] = FakePull(number, head, head_ref=body["head"], base_ref=body["base"])
        return 201, {}, self._pull_json(self.pulls[number])

    def _history(self, sha: str) -> set[str]:
        found, waiting = set(), [sha]
        while waiting:
            name = waiting.pop()
            found.add(name)
            waiting += self.commits[name].parents if name in self.commits else []
        return found

    def _commit(self, commit: FakeCommit) -> str:
        name = _name("commit", [*vars(commit).values()])
        self.commits[name] = commit
        return name

    def _ref_json(self, branch: str, sha: str) -> Mapping[str, Any]:
        return {"ref": f"refs/heads/{branch}", "object": {"type": "commit", "sha": sha}}


def _name(kind: str, content: Any) -> str:
    name = hashlib.sha1(f"{kind}{json.dumps(content)}".encode()).hexdigest()  # noqa: S324
    assert re.fullmatch("[0-9a-f]{40}", name)
    return name


def _error(message: str) -> dict[str, str]:
    return {"message": message, "documentation_url": "https://docs.example.invalid"}
