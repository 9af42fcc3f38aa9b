"""A repository: names of commits, fetching into shallow clones, and changes."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Self

from gatekeeper.contract.values.change import Change
from gatekeeper.errors import UsageError
from gatekeeper.git.command import GitCommand, Option
from gatekeeper.git.fetch import FETCH_ALL, Fetching, is_full_name
from gatekeeper.git.merged import merged_change
from gatekeeper.git.objects import CommitRevision, Objects, text
from gatekeeper.git.worktree import (
    WorktreeRevision,
    has_changes,
    read_worktree,
    with_renames,
    worktree_change,
)

if TYPE_CHECKING:
    from gatekeeper.git.data_branch import DataBranch

_BASES = (
    "refs/remotes/origin/HEAD",
    "refs/remotes/origin/main",
    "refs/heads/main",
    "refs/remotes/origin/master",
    "refs/heads/master",
)
_LEFT_OUT = "blob:limit=1m"
"""Larger files are fetched only when they are read, because they are seldom prompts."""
_SUBMODULE = b"160000"


class NoRepositoryError(UsageError):
    """There is no git repository in the folder, or no folder."""


class Repository(Fetching):
    """A git repository that is only read. Close it, or use it in a `with` statement.

    `root` is the top of the work tree; None in a bare repository. Not for several threads.
    """

    def __init__(self, root: Path | None, git: GitCommand, *, thin: bool = False) -> None:
        super().__init__(git, thin=thin)
        self.root = root
        self._objects = Objects(git)

    @classmethod
    def open(cls, path: Path, secret: Sequence[Option] = ()) -> Repository:
        """Open the repository that contains `path`.

        `secret` are options of git, such as a token, that are never written to a file. Raises
        NoRepositoryError, or UsageError if git cannot use it.
        """
        folder = path.resolve()
        if not folder.is_dir():
            raise NoRepositoryError(f"{path} is not a folder; give a folder of a git repository")
        git = GitCommand(folder, trusted=folder, secret=secret)
        status, output, error = git.attempt("rev-parse", "--is-inside-work-tree", "--show-cdup")
        if status:
            raise _not_usable(path, error)
        inside, upwards = text(output).split("\n")[:2]
        if inside == "false":
            return cls(None, git)
        root = (folder / upwards).resolve()
        return cls(root, GitCommand(root, trusted=folder, secret=secret))

    @classmethod
    def create(cls, folder: Path, address: str, secret: Sequence[Option] = ()) -> Repository:
        """Create a repository without a work tree in the empty `folder`, for what is fetched from
        `address`: the files of each commit, and only the requested history."""
        git = GitCommand(folder, trusted=folder, secret=secret)
        # Without a template there is no hook, and no option beyond those set here.
        git.run("init", "--quiet", "--bare", "--template=")
        git.run("remote", "add", "origin", address)
        git.run("config", "remote.origin.promisor", "true")
        git.run("config", "remote.origin.partialclonefilter", _LEFT_OUT)
        return cls(None, git, thin=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the git process that reads files. Reading again starts another."""
        self._git.close()

    # Names of commits

    def resolve(self, ref: str) -> str:
        """Return the full name of the commit that a branch, tag, remote branch or SHA stands
        for."""
        for candidate in _candidates(ref):
            status, output, _ = self._git.attempt(
                "rev-parse", "--verify", f"{candidate}^{{commit}}"
            )
            if not status:
                return text(output).strip()
        raise UsageError(self._why_unknown(ref))

    def default_base(self) -> str:
        """Return the branch that pull requests merge into, as far as the clone knows it."""
        known = self._known_bases()
        if known:
            return known[0]
        advice = f"; {FETCH_ALL}" if self.is_shallow() else ""
        raise UsageError(
            "no base to compare with: the clone has neither origin/HEAD nor a branch main or "
            "master; "
            f"choose the base with --base{advice}"
        )

    def default_branch(self) -> str:
        """Return the name of the branch that pull requests are merged into, without its remote;
        that of the present branch if the clone does not tell."""
        named = [ref.rsplit("/", 1)[1] for ref in self._known_bases() if ref != _BASES[0]]
        for ref in (_BASES[0], "HEAD"):
            status, output, _ = self._git.attempt("symbolic-ref", "--short", ref)
            if not status:
                return text(output).strip().removeprefix("origin/")
            if named:
                return named[0]
        return "main"

    def address_of_origin(self) -> str | None:
        """Return the address of the remote `origin`; None if there is no such remote."""
        status, output, _ = self._git.attempt("remote", "get-url", "origin")
        return None if status else text(output).strip()

    def version_tags(self) -> list[str]:
        """Return the tags such as `v1.2.3`, the highest version first."""
        options = ("--sort=-v:refname", "--format=%(refname:lstrip=2)")
        return self._git.run("for-each-ref", *options, "refs/tags/v[0-9]*").decode().split()

    def _known_bases(self) -> list[str]:
        known = self._git.run("for-each-ref", "--format=%(refname)", *_BASES).decode().split()
        return [ref for ref in _BASES if ref in known]

    def tracks(self, names: Iterable[str]) -> bool:
        """Return whether the index or HEAD has one of the paths from the root, or a submodule above
        it."""
        return any(self._tracks(PurePosixPath(name)) for name in names)

    def _tracks(self, path: PurePosixPath) -> bool:
        # Without regard to case: some file systems have none.
        places = [f":(top,literal,icase){place}" for place in (path, *path.parents) if place.name]
        in_index = self._git.run("ls-files", "--stage", "-z", "--", *places)
        in_head = self._git.attempt("ls-tree", "-r", "-z", "--full-tree", "HEAD")[1]
        wanted = str(path).casefold()
        above = {str(place).casefold() for place in path.parents}
        for record in (*in_index.split(b"\0"), *in_head.split(b"\0")):
            mode, _, name = record.partition(b"\t")
            found = text(name).casefold()
            if found == wanted or (mode.startswith(_SUBMODULE) and found in above):
                return True
        return False

    def parents(self, sha: str) -> tuple[str, ...]:
        """Return the names of the commit's parents, whether the clone has them or not."""
        header = self._git.run("cat-file", "commit", sha).split(b"\n\n", 1)[0]
        lines = text(header).split("\n")
        return tuple(line.split(" ")[1] for line in lines if line.startswith("parent "))

    # Data

    def data_branch(self, name: str, *, fetched: bool = False) -> DataBranch:
        """Return the branch of that name at the remote `origin`, or in this repository if it has no
        remote. With `fetched`, return it as it was when the user last fetched from the remote.
        Raises UsageError for a name that no branch can have."""
        from gatekeeper.git.data_branch import DataBranch, fetched_remote, remote_of

        if self._git.attempt("check-ref-format", f"refs/heads/{name}")[0]:
            raise UsageError(f"{name!r} cannot be the name of a branch")
        if fetched:
            return DataBranch(name, fetched_remote(self._git))
        return DataBranch(name, remote_of(self._git, self.root))

    # Changes

    def revision(self, ref: str) -> CommitRevision:
        """Return one commit as a value."""
        return CommitRevision(self.resolve(ref), self._objects)

    def worktree(self) -> WorktreeRevision:
        """Return the files of the work tree, committed or not; there need not be any commit. The
        renames are those since the branch left the default base, or since the last commit."""
        tree = read_worktree(self._git, self._objects, self._work_tree_root())
        return with_renames(self._git, tree, self._start_of_work)

    def _start_of_work(self) -> str | None:
        """Return the commit that the work began from, as far as the clone knows it."""
        try:
            head = self.resolve("HEAD")
        except UsageError:
            return None
        bases = self._known_bases()
        return (self.merge_base(self.resolve(bases[0]), head) if bases else None) or head

    def change(self, base_ref: str | None = None, head_ref: str | None = None) -> Change:
        """Return the change that merging head into base makes."""
        head = self.resolve(head_ref or "HEAD")
        base = self.resolve(base_ref or self.default_base())
        origin = self._grown_from(base, head)
        return self._merged(self._objects.between(origin, head), base)

    def between(self, base_ref: str, head_ref: str) -> Change:
        """Return head against base themselves, not against their merge base."""
        return self._objects.between(self.resolve(base_ref), self.resolve(head_ref))

    def since(self, sha: str, head: str) -> Change | None:
        """Return what changed from an earlier commit to head; None if the clone does not have
        it."""
        known = is_full_name(sha) and self.has_commit(sha)
        return self.between(sha, head) if known else None

    def pull_request_change(self, merge: str) -> Change:
        """Return the change of the merge commit that GitHub makes of a pull request.

        Its first parent is the base branch, so no merge base and no history is needed.
        """
        sha = self.resolve(merge)
        parents = self.parents(sha)
        if len(parents) < 2:
            raise UsageError(
                f"{merge} is not a merge commit; choose base and head with --base and --head"
            )
        if not self.has_commit(parents[0]):
            raise UsageError(f"the base {parents[0]} of {merge} is not in this clone; {FETCH_ALL}")
        return self._objects.between(parents[0], sha)

    def has_uncommitted_changes(self) -> bool:
        """Return whether the files of the work tree differ from the last commit."""
        return has_changes(self._git)

    def worktree_change(self, base_ref: str | None = None) -> Change:
        """Return the change that merging the work tree's files, committed or not, makes."""
        root = self._work_tree_root()
        base = self.resolve(base_ref or self.default_base())
        origin = self._grown_from(base, self.resolve("HEAD"))
        return self._merged(worktree_change(self._git, self._objects, root, origin), base)

    def _merged(self, change: Change, base: str) -> Change:
        if change.base.sha == base:
            return change
        return merged_change(self._git, change, self._objects.between(change.base.sha, base))

    def _work_tree_root(self) -> Path:
        if self.root is None:
            raise UsageError("a bare repository has no work tree; choose commits instead")
        return self.root

    def _grown_from(self, base: str, head: str) -> str:
        common = self.merge_base(base, head)
        if common is not None:
            return common
        if not self.is_shallow():
            raise UsageError(f"{base} and {head} have no common history; choose another --base")
        # A merge's first parent is the base branch only if the base branch made the merge: in
        # an author's own merge of it, that parent is the author's commit.
        if self.parents(head)[:1] == (base,):
            return base
        raise UsageError(
            f"this shallow clone does not reach the commit where {base} and {head} diverge; "
            f"{FETCH_ALL}"
        )

    def _why_unknown(self, ref: str) -> str:
        listing = self._git.run(
            "for-each-ref", "--format=%(refname:short)", "refs/heads", "refs/remotes", "refs/tags"
        )
        names = text(listing).split("\n")
        near = difflib.get_close_matches(ref, [name for name in names if name], n=3)
        if ref == "HEAD" and not self._git.attempt("symbolic-ref", "HEAD")[0]:
            return "the repository has no commit yet; commit something first"
        advice = f"did you mean {', '.join(near)}?" if near else "see `git branch --all`"
        if self.is_shallow():
            advice += f" The clone is shallow: {FETCH_ALL}"
        return f"no commit has the name {ref!r} in this clone; {advice}"


def _candidates(ref: str) -> tuple[str, ...]:
    # git takes an argument for an option when it starts so; none of its names can.
    if not ref or ref.startswith("-") or any(ord(character) < 32 for character in ref):
        raise UsageError(f"{ref!r} cannot be the name of a branch, tag or commit")
    if ref == "HEAD" or ref.startswith("refs/") or is_full_name(ref):
        return (ref,)
    # git itself prefers a tag to a branch of the same name; a pull request goes into a branch.
    return (f"refs/heads/{ref}", ref, f"refs/remotes/origin/{ref}")


def _not_usable(path: Path, error: str) -> UsageError:
    if "dubious ownership" in error:
        return UsageError(
            f"{path} lies in a git repository of another user, which git does not trust; "
            "run gatekeeper in the top folder of the repository, or run "
            "`git config --global --add safe.directory FOLDER` yourself"
        )
    if "not a git repository" in error.lower():
        return NoRepositoryError(
            f"{path} is not in a git repository; run gatekeeper in a clone of the repository"
        )
    return UsageError(f"git cannot use the repository at {path}: {error}")
