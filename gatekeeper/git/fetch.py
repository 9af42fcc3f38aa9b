"""Fetches commits that a shallow clone left out, with as little history as the remote allows.

No ref, branch or option of the repository changes: fetching adds objects, and moves the limit of a
shallow history.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from gatekeeper.errors import MeasurementError, UsageError
from gatekeeper.git.command import GitCommand
from gatekeeper.git.objects import text

DEEPEN_BY = (50, 200, 1000)
"""How many more commits are fetched, step by step, to find where two branches part."""

FETCH_ALL = "in a workflow, set `fetch-depth: 0` for actions/checkout"

_FULL_NAME = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_CREDENTIALS = re.compile(r"://[^/@\s]+@")
# What git says where a server gives what its refs point to and nothing else.
_TIPS_ONLY = "unadvertised object"


class Fetching:
    """A repository that fetches commits by name. `thin`: one of our own, of which nothing is to be
    whole."""

    def __init__(self, git: GitCommand, *, thin: bool = False) -> None:
        self._git = git
        self._thin = thin

    def is_shallow(self) -> bool:
        """Return whether the clone is shallow."""
        return self._git.run("rev-parse", "--is-shallow-repository").strip() == b"true"

    def has_commit(self, sha: str) -> bool:
        """Return whether the clone has the commit itself, not only its name in a child of it."""
        # In a partial clone `cat-file -e` would fetch it, and all of its history with it.
        options = ("--missing=allow-any", "--no-walk", "--ignore-missing")
        status, output, _ = self._git.attempt("rev-list", *options, sha)
        return not status and text(output).strip() == sha

    def merge_base(self, base: str, head: str) -> str | None:
        """Return the common ancestor of both commits; None if the clone does not contain one."""
        status, output, error = self._git.attempt("merge-base", base, head)
        if status > 1:
            raise MeasurementError(f"git merge-base {base} {head} failed: {error}")
        return text(output).strip() or None

    def fetch_commit(
        self, sha: str, remote: str = "origin", depth: int = 1, refs: Sequence[str] = ()
    ) -> None:
        """Fetch one commit and `depth - 1` generations before it, without changing a ref or branch.

        A server may refuse to give a commit by its name. Then the history of those of `refs`
        that the remote has is fetched until the commit is in it. Raises MeasurementError.
        """
        if self.has_commit(_full_name(sha)):
            return
        # In a complete clone --depth would cut history off.
        cut = self._thin or self.is_shallow()
        error = self._attempt(remote, sha, *([f"--depth={depth}"] if cut else []))
        if error is None:
            return
        if _TIPS_ONLY not in error or not self._reached(sha, remote, refs, cut=cut):
            raise _failed(sha, remote, error)

    def grow(self, tips: Sequence[str], refs: Sequence[str] = ()) -> None:
        """Fetch as much history as is needed to find the common ancestor of the two tips."""
        for by in DEEPEN_BY:
            if not self.is_shallow() or self.merge_base(*tips) is not None:
                return
            for sha in tips:
                self.deepen(sha, by=by, refs=refs)

    def deepen(
        self, sha: str, remote: str = "origin", by: int = 50, refs: Sequence[str] = ()
    ) -> None:
        """Fetch `by` more generations of the history that ends in `sha`."""
        if not self.is_shallow():
            return
        error = self._attempt(remote, _full_name(sha), f"--deepen={by}")
        if error is not None and _TIPS_ONLY in error:
            for ref in refs:
                self._attempt(remote, ref, f"--deepen={by}")
        elif error is not None:
            raise _failed(sha, remote, error)

    def _reached(self, sha: str, remote: str, refs: Sequence[str], *, cut: bool) -> bool:
        # The tips first: what is missing is most often the parent of one of them.
        steps = ["--depth=2" if self._thin else "--deepen=1"]
        steps += [f"--deepen={by}" for by in DEEPEN_BY]
        for step in steps if cut else [None]:
            for ref in refs:
                self._attempt(remote, ref, *([step] if step else []))
                if self.has_commit(sha):
                    return True
        return False

    def _attempt(self, remote: str, what: str, *options: str) -> str | None:
        """Fetch, and return git's message if it failed."""
        quiet = ("--quiet", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head")
        known = self._known()
        status, _, error = self._git.attempt("fetch", *quiet, *known, *options, "--", remote, what)
        return error if status else None

    def _known(self) -> tuple[str, ...]:
        # git tells the remote what its refs point to. A HEAD that none of them points to, as
        # actions/checkout leaves it for a commit, is not among that: all files would come again.
        unborn, _, _ = self._git.attempt("rev-parse", "--quiet", "--verify", "HEAD^{commit}")
        return () if unborn else ("--negotiation-tip=HEAD",)


def _failed(sha: str, remote: str, error: str) -> MeasurementError:
    words = without_credentials(error).replace("\n", "; ")
    return MeasurementError(f"could not fetch {sha} from {remote} ({words}); {FETCH_ALL}")


def without_credentials(words: str) -> str:
    """Return git's message without the user and password of an address."""
    return _CREDENTIALS.sub("://***@", words)


def is_full_name(name: str) -> bool:
    """Return whether this is a commit's full name, and no branch, range or option."""
    return _FULL_NAME.fullmatch(name) is not None


def _full_name(sha: str) -> str:
    if not is_full_name(sha):
        raise UsageError(f"{sha!r} is not the full SHA of a commit")
    return sha
