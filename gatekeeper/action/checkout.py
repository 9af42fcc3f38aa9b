"""Finds the commits of an event, and fetches them if they are missing.

| in the workspace | what is fetched |
| --- | --- |
| a checkout of the merge commit, depth 1 | the merge's first parent, which is the base |
| another checkout of the repository | the merge commit and its first parent |
| a stale merge commit, or none | base and head, and history until they part |
| no repository, or one that cannot deliver | all of it, into a folder that is deleted afterwards |

The job's token gives access to the remote, only for git's own processes and while they run. It is
not written anywhere, and nothing else is written to the workspace.
"""

from __future__ import annotations

import base64
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Self, TypeVar

from gatekeeper.action.events import CheckMergeGroup, CheckPullRequest
from gatekeeper.action.inputs import ActionInputs
from gatekeeper.contract.reading.read import UnreadableError, read_text
from gatekeeper.contract.values.change import Change, Revision
from gatekeeper.errors import GatekeeperError, MeasurementError, UsageError
from gatekeeper.git import NoRepositoryError, Repository
from gatekeeper.git.fetch import is_full_name
from gatekeeper.git.temporary import temporary_folder

if TYPE_CHECKING:
    from gatekeeper.git.data_branch import DataBranch


# Installs the packages that the workflow's input `requirements` names, before anything else.
#
# The list is the one on the branch to merge into. Every package in it has its version and hashes,
# and nothing is built: pip runs no code of a package.


_SECONDS = 600
_SHOWN = 500
# None of these is a secret of the job; addresses of an index may hold one, which is for pip.
_PASSED_ON = ("PATH", "LANG", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "SSL_CERT_FILE")
_OF_PIP = "PIP_"

_installed: set[str] = set()
"""The requirement files that this process has installed."""


def install_requirements(path: Path | None, trusted: Revision) -> None:
    """Install what the file at `path` of the trusted revision lists, and make it importable.

    Raises UsageError if there is no such file, and MeasurementError if it cannot be installed.
    """
    if path is None:
        return

    try:
        text = read_text(trusted, path.as_posix())
    except UnreadableError as error:
        raise UsageError(f"input `requirements`: {error} on the base branch; {error.fix}") from None
    if text in _installed:
        return
    folder = Path(tempfile.mkdtemp(prefix="gatekeeper-requirements-"))
    lock, target = folder / "requirements.txt", folder / "site-packages"
    lock.write_text(text, "utf-8")
    _install(lock, target, path)
    # At the end, so that no package takes the place of a module of gatekeeper.
    sys.path.append(str(target))
    _installed.add(text)


def _install(lock: Path, target: Path, path: Path) -> None:
    command = [
        *(_python_with_pip(), "-I", "-m", "pip", "install", "--quiet", "--no-input"),
        *("--disable-pip-version-check", "--no-cache-dir", "--require-hashes", "--no-deps"),
        *("--only-binary", ":all:", "--target", str(target), "--requirement", str(lock)),
    ]
    try:
        done = subprocess.run(  # noqa: S603
            command,
            cwd=lock.parent,
            env=dict(_environment()),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise MeasurementError(f"{path}: pip did not end within {_SECONDS} s") from None
    if done.returncode:
        said = " ".join(done.stderr.decode(errors="replace").split())
        raise MeasurementError(f"{path}: pip cannot install these packages: {said[:_SHOWN]}")


def _python_with_pip() -> str:
    """Return the interpreter that has pip: the image's own environment has none."""
    base = getattr(sys, "_base_executable", None)
    known = [name for name in (sys.executable, base) if name]
    for name in known:
        found = subprocess.run(  # noqa: S603
            [name, "-I", "-c", "import pip"], capture_output=True, check=False
        )
        if found.returncode == 0:
            return str(name)
    raise MeasurementError(
        "input `requirements`: the packages cannot be installed, because this Python has no pip"
    )


def _environment() -> Iterator[tuple[str, str]]:
    for name, value in os.environ.items():
        if name in _PASSED_ON or name.startswith(_OF_PIP):
            yield name, value


T = TypeVar("T")

_DEFAULT_BRANCH = ("HEAD",)


class Checkout:
    """The repository of the job. Use it in a `with` statement: revisions are read while it is open.
    Raises MeasurementError and UsageError, with advice, if a commit cannot be found."""

    def __init__(self, settings: ActionInputs) -> None:
        self._settings = settings
        self._secret = _credentials(settings)
        self._open = ExitStack()
        self._workspace: Repository | None = None
        self._own: Repository | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def change(self, activity: CheckPullRequest | CheckMergeGroup) -> Change:
        """Return the change of the pull request or merge group."""
        if isinstance(activity, CheckMergeGroup):
            return self._found(lambda repository: _between(repository, activity))
        return self._found(lambda repository: _pull_request_change(repository, activity))

    def revision(self, sha: str) -> Revision:
        """Return one commit."""

        def find(repository: Repository) -> Revision:
            repository.fetch_commit(sha, refs=_DEFAULT_BRANCH)
            return repository.revision(sha)

        return self._found(find)

    def pushed(self, before: str, after: str) -> Change | None:
        """Return the change of a push.

        None if the commit before it is not known: the branch is new (`before` is all zeros), or the
        commit was removed by a force push.
        """
        head = self.revision(after)
        if not before.strip("0"):
            return None

        def find(repository: Repository) -> Change:
            for sha in (after, before):
                repository.fetch_commit(sha, refs=_DEFAULT_BRANCH)
            return repository.between(before, head.sha)

        try:
            return self._found(find)
        except MeasurementError:
            return None

    def since(self, sha: str, head: str) -> Change | None:
        """Return what changed from an earlier commit of the default branch; None if the commit
        cannot be had."""
        return self.pushed(sha, head) if is_full_name(sha) else None

    def data_branch(self, name: str) -> DataBranch:
        """Return the remote's branch that keeps data; nothing is fetched before it is opened."""
        return self._found(lambda repository: repository.data_branch(name))

    def _found(self, find: Callable[[Repository], T]) -> T:
        """Return what the workspace has or can fetch, else what a temporary repository can
        fetch."""
        if self._own is not None:
            return find(self._own)
        try:
            return find(self._in_workspace())
        except NoRepositoryError:
            return find(self._of_our_own())
        except MeasurementError as error:
            try:
                return find(self._of_our_own())
            except GatekeeperError:
                # What it lacks it lacks for all that comes after; the workspace may have that.
                self._own = None
                # The workspace is also what the author can do something about.
                raise error from None

    def _in_workspace(self) -> Repository:
        if self._workspace is None:
            opened = Repository.open(self._settings.workspace, self._secret)
            self._workspace = self._open.enter_context(opened)
        return self._workspace

    def _of_our_own(self) -> Repository:
        if self._own is None:
            folder = self._open.enter_context(temporary_folder())
            created = Repository.create(folder, self._settings.home, self._secret)
            self._own = self._open.enter_context(created)
        return self._own


def _between(repository: Repository, group: CheckMergeGroup) -> Change:
    for sha in (group.head_sha, group.base_sha):
        repository.fetch_commit(sha, refs=_DEFAULT_BRANCH)
    return repository.between(group.base_sha, group.head_sha)


def _pull_request_change(repository: Repository, activity: CheckPullRequest) -> Change:
    return _merge_change(repository, activity) or _grown_change(repository, activity)


def _merge_change(repository: Repository, activity: CheckPullRequest) -> Change | None:
    """Return the change by the merge commit, which needs no history; None if that commit cannot be
    used."""
    if activity.merge_sha is None:
        return None
    refs = _refs(activity)
    try:
        # Both generations at once: its parents are wanted next.
        repository.fetch_commit(activity.merge_sha, depth=2, refs=refs)
    except MeasurementError:
        return None
    parents = repository.parents(activity.merge_sha)
    if len(parents) != 2 or parents[1] != activity.head_sha:
        return None
    repository.fetch_commit(parents[0], refs=refs)
    return repository.pull_request_change(activity.merge_sha)


def _grown_change(repository: Repository, activity: CheckPullRequest) -> Change:
    """Return the change since the common ancestor of base and head, after fetching the history that
    this needs."""
    tips = (activity.base_sha, activity.head_sha)
    refs = _refs(activity)
    for sha in tips:
        repository.fetch_commit(sha, refs=refs)
    repository.grow(tips, refs)
    return repository.change(*tips)


def _refs(activity: CheckPullRequest) -> tuple[str, ...]:
    """Return the refs that contain the commits, for a server that serves no commit by its name."""
    number = activity.number
    return (f"refs/pull/{number}/merge", f"refs/pull/{number}/head", *_DEFAULT_BRANCH)


def _credentials(settings: ActionInputs) -> tuple[tuple[str, str], ...]:
    if not settings.token:
        return ()
    token = base64.b64encode(f"x-access-token:{settings.token}".encode()).decode()
    name = f"http.{settings.server_url}/.extraheader"
    # The first, empty value takes back what actions/checkout has put into the repository's own
    # configuration: GitHub refuses a request with two Authorization headers.
    return ((name, ""), (name, f"AUTHORIZATION: basic {token}"))
