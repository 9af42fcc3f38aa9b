"""Commits files to a branch of the gate's own, and opens a pull request with it.

The branch only ever moves forward, and only if its latest commit is the gate's own: what a person
pushes to it is never lost, and GitHub refuses an update that would lose it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gatekeeper.action.github.client import PullRequestApi, tried_again

NO_CHECKS = (
    "GitHub does not start checks for a pull request that GitHub Actions opens. To start the "
    "checks, close the pull request and open the pull request again."
)
"""What to say in a pull request that is opened here."""
_CONTENTS = "contents: write"
_PULLS = "pull-requests: write"
_FILE = {"mode": "100644", "type": "blob"}


@dataclass(frozen=True, slots=True)
class Branch:
    """A branch: its name, its latest commit with the tree of files, whether the gate's own account
    made that commit, and its message."""

    name: str
    sha: str
    tree: str
    own: bool
    message: str


class GithubProposalApi(PullRequestApi):
    """The calls to GitHub that a proposal needs, by PyGithub. Every method raises PublishError with
    advice."""

    @tried_again("read the branch {name}", "contents: read")
    def find_branch(self, name: str) -> Branch | None:
        """Return the branch; None if there is none."""
        sha = self._tip(name)
        if sha is None:
            return None
        found = self._repo().get_commit(sha)
        own = self._is_own_account(found.author)
        return Branch(name, sha, found.commit.tree.sha, own, found.commit.message)

    def commit_files(
        self, name: str, known: Branch | None, head_sha: str, files: Mapping[str, str], message: str
    ) -> str:
        """Commit files on top of a commit, to a branch that has nothing else. Returns the branch's
        latest commit.

        Args:
            name: Of the branch.
            known: The branch as it is; None to create it. If it moved since, GitHub refuses.
            head_sha: The commit whose files, with these, are in the branch then.
            files: Texts by their path.
            message: The commit's message.
        """
        sha = self._commit(known, head_sha, files, message)
        if known is None:
            self._create(name, sha)
        elif sha != known.sha:
            self._update(name, sha)
        return sha

    @tried_again("commit the files", _CONTENTS)
    def _commit(
        self, known: Branch | None, head_sha: str, files: Mapping[str, str], message: str
    ) -> str:
        below = self._repo().get_commit(head_sha).commit.tree.sha
        rows = [{"path": path, "content": text, **_FILE} for path, text in files.items()]
        tree = self._send("POST", "git/trees", base_tree=below, tree=rows)["sha"]
        if known is not None and known.tree == tree:
            return known.sha
        parents = [head_sha] if known is None else [known.sha, head_sha]
        made = self._send("POST", "git/commits", message=message, tree=tree, parents=parents)
        return str(made["sha"])

    @tried_again("update the branch {name}", _CONTENTS)
    def _update(self, name: str, sha: str) -> None:
        self._send("PATCH", f"git/refs/heads/{name}", sha=sha, force=False)

    @tried_again("open the pull request", _PULLS)
    def open_pull_request(self, name: str, base: str, title: str, body: str) -> tuple[str, bool]:
        """Return the address of the open pull request from the branch, and whether it was opened
        now: only once even if an answer of GitHub is lost."""
        for address in self._open_from(name):
            return address, False
        made = self._send("POST", "pulls", title=title, body=body, head=name, base=base)
        return str(made["html_url"]), True

    def _open_from(self, name: str) -> Sequence[str]:
        owner = self._repository_name.partition("/")[0]
        found = self._repo().get_pulls(state="open", head=f"{owner}:{name}")
        return [
            pull.html_url
            for pull in found
            # GitHub ignores a filter that it cannot make sense of.
            if pull.head.ref == name
            and getattr(pull.head.repo, "full_name", None) == self._repository_name
        ]

    @tried_again("create the branch {name}", _CONTENTS)
    def _create(self, name: str, sha: str) -> None:
        from github import GithubException

        try:
            self._send("POST", "git/refs", ref=f"refs/heads/{name}", sha=sha)
        except GithubException as refused:
            # After a lost answer the branch is there already.
            if refused.status != 422 or self._tip(name) != sha:
                raise

    def _tip(self, name: str) -> str | None:
        from github import GithubException

        try:
            return str(self._send("GET", f"git/ref/heads/{name}")["object"]["sha"])
        except GithubException as refused:
            if refused.status == 404:
                return None
            raise

    def _send(self, verb: str, path: str, **body: Any) -> Any:
        return self._ask(verb, path, input=body or None)
