"""A branch of the remote that holds data and no code, read and written without a work tree.

All of it happens in a separate bare repository in a temporary folder: the user's clone gets no
object, ref or option, and is not made shallow. Only the branch's tip is fetched, whatever the
clone. A push names the tip that it replaces, and is refused if the branch has another.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Self

from gatekeeper.errors import MeasurementError
from gatekeeper.git.command import GitCommand, Option
from gatekeeper.git.fetch import without_credentials
from gatekeeper.git.objects import records, text
from gatekeeper.git.remote_command import RemoteCommand
from gatekeeper.git.temporary import temporary_folder

_AUTHOR = "Gatekeeper <gatekeeper@example.invalid>"
# What actions/checkout and people set to open a remote.
_ACCESS = r"^(http|credential)\.|^core\.(sshcommand|askpass)$|^remote\.origin\.proxy"
# `scheme://` and `host:path`.
_ELSEWHERE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://|[^/]+:")
_TIP = "refs/gatekeeper/tip"
_NEXT = "refs/gatekeeper/next"
# git's words, and GitHub's; git speaks English here because command.py sets LC_ALL.
_NO_BRANCH = "couldn't find remote ref"
_REFUSED = re.compile(
    r"\b40[13]\b|denied|declined|protected|not permitted|not allowed|authentication"
    r"|could not read username|permission|read.only",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Remote:
    """The remote's address, and the options of git that give access to it, which are never written
    to a file. `branches` is where it keeps its branches."""

    fetch: str
    push: str
    access: tuple[Option, ...] = ()
    branches: str = "refs/heads/"


class StoredFile(NamedTuple):
    """A file of a tip. `size` in bytes; None for an entry that is not a file (a link, another
    repository)."""

    object: str
    size: int | None


class PushRefusedError(MeasurementError):
    """The remote does not take the push, now or later."""


class DataBranch:
    """Use it in a `with` statement. `name` is checked to be one. Not for several threads."""

    def __init__(self, name: str, remote: Remote) -> None:
        self.name = name
        self._ref = f"{remote.branches}{name}"
        self._remote = remote
        self._open = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as opening:
            folder = opening.enter_context(temporary_folder())
            self._git = RemoteCommand(folder, trusted=folder, secret=self._remote.access)
            opening.callback(self._git.close)
            self._git.run("init", "--quiet", "--bare", "--template=")
            self._open = opening.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def fetch(self) -> str | None:
        """Fetch the branch's commit with its files and return its name; None if the remote has no
        such branch. Raises MeasurementError."""
        quiet = ("--quiet", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head")
        refs = f"+{self._ref}:{_TIP}"
        status, _, error = self._git.attempt(
            "fetch", *quiet, "--depth=1", "--", self._remote.fetch, refs
        )
        if status and _NO_BRANCH in error:
            return None
        if status:
            raise MeasurementError(f"the branch {self.name} could not be fetched ({_line(error)})")
        return text(self._git.run("rev-parse", "--verify", _TIP)).strip()

    def files(self, commit: str) -> dict[str, StoredFile]:
        """Return the commit's files, by path."""
        # `mode kind object size TAB path`; a size that there is none of is a dash.
        listing = records(self._git.run("ls-tree", "-r", "-l", "-z", "--full-tree", commit))
        found = {}
        for entry in listing:
            header, path = entry.split("\t", 1)
            mode, kind, name, size = header.split()
            regular = kind == "blob" and mode.startswith("100")
            found[path] = StoredFile(name, int(size) if regular else None)
        return found

    def contents(self, objects: Sequence[str]) -> Mapping[str, bytes]:
        """Return the content of each file, by its object."""
        return self._git.blobs(objects) if objects else {}

    def push(
        self, parent: str | None, put: Mapping[str, bytes], gone: Iterable[str], message: str
    ) -> bool:
        """Make a commit on `parent` that adds some files and removes others, and make it the
        branch's tip if that still is `parent` (None: if there is no branch). Return False if it was
        not, or if the answer was lost. Raises PushRefusedError."""
        commit = self._commit(parent, put, gone, message)
        status, output, error = self._git.attempt(
            "push",
            "--porcelain",
            f"--force-with-lease={self._ref}:{parent or ''}",
            "--",
            self._remote.push,
            f"{commit}:{self._ref}",
        )
        said = _line(f"{error}\n{text(output)}")
        if status and _REFUSED.search(said):
            raise PushRefusedError(
                f"branch {self.name}: the remote refuses the push ({said}); in a workflow, set "
                "`permissions: contents: write` for the job, or `history: off` for the action"
            )
        return not status

    def _commit(
        self, parent: str | None, put: Mapping[str, bytes], gone: Iterable[str], message: str
    ) -> str:
        """Return the commit that fast-import makes, which needs neither an index nor a work tree.
        https://git-scm.com/docs/git-fast-import"""
        said = message.encode()
        stream = [b"commit " + _NEXT.encode(), b"mark :1"]
        stream += [f"committer {_AUTHOR} now".encode(), b"data %d" % len(said), said]
        stream += [b"from " + parent.encode()] if parent else []
        stream += [b"D " + path.encode() for path in gone]
        for path, content in put.items():
            stream += [b"M 100644 inline " + path.encode(), b"data %d" % len(content), content]
        stream += [b"get-mark :1", b"done"]
        lines = (text(line) for line in stream)
        options = ("--quiet", "--force", "--done", "--date-format=now")
        status, output, error = self._git.attempt("fast-import", *options, lines=lines)
        if status:
            raise MeasurementError(
                f"branch {self.name}: git could not make a commit ({_line(error)})"
            )
        return text(output).strip()


def remote_of(git: GitCommand, root: Path | None) -> Remote:
    """Return the address of `origin` and its credentials, from the repository's own
    configuration."""
    status, output, _ = git.attempt("remote", "get-url", "origin")
    if status:
        return Remote(_own(git), _own(git))
    push = git.run("remote", "get-url", "--push", "origin")
    _, listing, _ = git.attempt("config", "--local", "--includes", "-z", "--get-regexp", _ACCESS)
    # `name LF value`, the name alone where it has no value, which stands for true.
    pairs = (entry.partition("\n") for entry in records(listing))
    access = tuple((name, value if sign else "true") for name, sign, value in pairs)
    fetch, to = (_absolute(text(address).removesuffix("\n"), root) for address in (output, push))
    return Remote(fetch, to, (*access, *git.secret))


def fetched_remote(git: GitCommand) -> Remote:
    """Return this repository as the remote: its copies of the branches of `origin`, or its own
    branches if it has no remote."""
    own = _own(git)
    if git.attempt("remote", "get-url", "origin")[0]:
        return Remote(own, own)
    return Remote(own, own, branches="refs/remotes/origin/")


def _own(git: GitCommand) -> str:
    return text(git.run("rev-parse", "--absolute-git-dir")).removesuffix("\n")


def _absolute(address: str, root: Path | None) -> str:
    """Return an absolute path: git reads a relative one from the top of the clone."""
    if root is None or _ELSEWHERE.match(address):
        return address
    return str(root / address)


def _line(error: str) -> str:
    return without_credentials(" ".join(error.split()))
