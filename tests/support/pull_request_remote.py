"""A repository on a server that speaks git's own protocol, its pull request 7, and the workspaces
that a job may have of it.

    with GitServer(folder, TOKEN) as server:
        remote = Remote.make(folder, server)
        remote.propose(break_prompt)
        CHECKOUTS["merge, depth 1"](remote)
        remote.affected()           # as the action finds it
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from support.git_repository import GitRepository
from support.git_server import GitServer
from support.pull_request import BROKEN, FILES, PROMPT

from gatekeeper.action.checkout import Checkout
from gatekeeper.action.events import CheckMergeGroup, CheckPullRequest
from gatekeeper.action.inputs import ActionInputs
from gatekeeper.checks.registry import SHAPES
from gatekeeper.contract.changes.affected import Affected, find_affected
from gatekeeper.contract.policies.policy import Policy

TOKEN = "ghs_0123456789"
Edit = Callable[[GitRepository], None]


@dataclass
class Remote:
    """The repository on the server, its pull request 7, and jobs that check it out."""

    origin: GitRepository
    server: GitServer
    folder: Path
    base: str = ""
    head: str = ""
    merge: str = ""

    def propose(self, edit: Edit, more: Mapping[str, str | bytes] | None = None) -> None:
        """Base with the usual files, a pull request by `edit`, and base moving on."""
        self.origin.commit("start", {**FILES, **(more or {})})
        self.origin.branch("change")
        edit(self.origin)
        self.head = self.origin.commit("change")
        self.origin.switch("main")
        self.base = self.origin.commit("base has moved on", {"CHANGES.md": "One thing.\n"})
        self.merged()

    def merged(self) -> None:
        """GitHub makes the merge commit."""
        self.origin.git("checkout", "--quiet", "--detach", "main")
        self.merge = self.origin.merge("change")
        self.origin.git("update-ref", "refs/pull/7/merge", self.merge)
        self.origin.git("update-ref", "refs/pull/7/head", self.head)
        self.origin.switch("main")

    @classmethod
    def make(cls, folder: Path, server: GitServer) -> Remote:
        """The server's one repository, empty; it gives what GitHub gives."""
        origin = GitRepository.create(folder / "served/octo/prompts")
        origin.config("uploadpack.allowAnySHA1InWant", "true")
        origin.config("uploadpack.allowFilter", "true")
        return cls(origin, server, folder)

    @property
    def address(self) -> str:
        return f"{self.server.url}/octo/prompts"

    def fetch(self, what: str, *options: str) -> GitRepository:
        """A workspace with the commit and without any file."""
        made = GitRepository.create(self.folder / "workspace")
        made.git("remote", "add", "origin", self.address)
        token = f"http.extraheader=AUTHORIZATION: basic {_basic()}"
        made.git("-c", token, "fetch", "-q", "--no-tags", *options, "origin", what)
        made.git("update-ref", "--no-deref", "HEAD", "FETCH_HEAD")
        return made

    def checkout(self, what: str, *options: str) -> GitRepository:
        """A workspace as actions/checkout leaves it, without credentials."""
        made = self.fetch(what, *options)
        token = f"http.extraheader=AUTHORIZATION: basic {_basic()}"
        made.git("-c", token, "checkout", "-q", "--detach", "--force", "HEAD")
        return made

    def settings(self, workspace: Path | None = None) -> ActionInputs:
        folder = workspace or self.folder / "workspace"
        folder.mkdir(exist_ok=True)
        return ActionInputs(
            event_name="pull_request",
            event_path=self.folder / "event.json",
            workspace=folder,
            repository="octo/prompts",
            token=TOKEN,
            server_url=self.server.url,
        )

    def pull_request(self, **changed: str | None) -> CheckPullRequest:
        given = {"base_sha": self.base, "head_sha": self.head, "merge_sha": self.merge}
        return CheckPullRequest(7, same_repository=True, **{**given, **changed})  # type: ignore[arg-type]

    def affected(self, activity: CheckPullRequest | CheckMergeGroup | None = None) -> Affected:
        with Checkout(self.settings()) as checkout:
            change = checkout.change(activity or self.pull_request())
            return find_affected(change, Policy(), SHAPES)


def _basic() -> str:
    return base64.b64encode(f"x-access-token:{TOKEN}".encode()).decode()


def break_prompt(made: GitRepository) -> None:
    made.write(PROMPT, BROKEN)


def causes(affected: Affected) -> dict[str, list[tuple[str, str]]]:
    return {c.name: [(by.path, by.change) for by in c.affected_by] for c in affected.contracts}


CHECKOUTS: Mapping[str, Callable[[Remote], object]] = {
    "merge, depth 1": lambda remote: remote.checkout(remote.merge, "--depth=1"),
    "merge, depth 2": lambda remote: remote.checkout(remote.merge, "--depth=2"),
    "merge, whole": lambda remote: remote.checkout(remote.merge),
    "merge, no contents": lambda remote: remote.checkout(
        remote.merge, "--depth=1", "--filter=blob:none"
    ),
    "head, depth 1": lambda remote: remote.checkout(remote.head, "--depth=1"),
    "base, depth 1": lambda remote: remote.checkout(remote.base, "--depth=1"),
    "nothing": lambda remote: None,
    "files of no repository": lambda remote: (remote.folder / "workspace/prompts").mkdir(
        parents=True
    ),
    "an empty repository": lambda remote: GitRepository.create(remote.folder / "workspace"),
    "another repository": lambda remote: GitRepository.create(remote.folder / "workspace").commit(
        "other", {"a": "a"}
    ),
}
