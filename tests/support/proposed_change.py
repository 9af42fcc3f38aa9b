"""A proposed change as commits of a real git repository, written by one process of git.

    change = propose(tmp_path / "origin", base={"prompts/a.md": "Hi."}, head={"prompts/a.md": "Yo"})
    change.base, change.head, change.merge      # full names of the commits

`main` is at the base, `change` at the head and is checked out, and `refs/pull/7/head` and
`refs/pull/7/merge` are what GitHub makes of the two. `git fast-import` writes all of it: a new
repository takes some 20 ms, where a call of git per step takes 150.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from support.git_repository import AUTHOR, EMAIL, FIRST_DATE, GitRepository

NUMBER = 7
"""Of the pull request."""


@dataclass(frozen=True)
class Link:
    """A symbolic link in a commit."""

    target: str


@dataclass(frozen=True)
class Submodule:
    """A commit of another repository in the place of a folder."""

    commit: str = "5" * 40


Content = str | bytes | Link | Submodule | None
"""What a commit writes at a path; None deletes the file or folder."""

Files = Mapping[str, Content]


@dataclass(frozen=True)
class ProposedChange:
    """The repository, and the full names of its commits."""

    origin: GitRepository
    base: str
    """The tip of `main`."""
    head: str
    merge: str


def propose(
    folder: Path,
    base: Files,
    head: Files,
    *,
    since: Files | None = None,
    work: Callable[[GitRepository], object] | None = None,
) -> ProposedChange:
    """Make the repository in a new folder.

    Args:
        folder: Is created.
        base: The files of the branch that is merged into.
        head: What the pull request writes over them.
        since: What `main` gets after the pull request parted from it.
        work: Is called with the repository, the pull request checked out, before its commit:
            for what no mapping of files can say.
    """
    assert not set(since or ()) & set(head), "a file that both sides write cannot be merged here"
    origin = GitRepository.create(folder)
    origin.config("uploadpack.allowAnySHA1InWant", "true")  # as GitHub has it
    stream = [_commit("refs/heads/main", 0, base)]
    stream.append(_commit("refs/heads/change", 1, head, parent="refs/heads/main"))
    if since is not None:
        stream.append(_commit("refs/heads/main", 2, since))
    origin.git_bytes("fast-import", "--quiet", "--force", input=b"".join(stream))
    origin.git("checkout", "--quiet", "change")
    if work is not None:
        work(origin)
        origin.git("add", "--all")
        origin.commits += 3
        origin.git("commit", "--quiet", "--amend", "--no-edit", "--no-verify", "--allow-empty")
    merge = _merge(origin)
    heads = origin.git("rev-parse", "main", "change").split()
    return ProposedChange(origin, *heads, merge)


def _merge(origin: GitRepository) -> str:
    """What GitHub makes of `main` and `change`, and the references under which it is found."""
    tree = origin.git("merge-tree", "--write-tree", "main", "change")
    origin.commits += 1
    merge = origin.git("commit-tree", tree, "-p", "main", "-p", "change", "-m", "merge")
    moves = (("head", "refs/heads/change"), ("merge", merge))
    lines = "".join(f"update refs/pull/{NUMBER}/{name} {to}\n" for name, to in moves)
    origin.git("update-ref", "--stdin", input=lines.encode())
    return merge


def _commit(branch: str, seconds: int, files: Files, parent: str | None = None) -> bytes:
    """One commit in the language of `git fast-import`; without a parent, the branch goes on."""
    author = f"{AUTHOR} <{EMAIL}> {FIRST_DATE + seconds} +0000"
    lines = [f"commit {branch}\ncommitter {author}\n".encode(), _data(branch.encode())]
    if parent is not None:
        lines.append(f"from {parent}\n".encode())
    # What goes, goes first: a folder may become a file, or a file a folder.
    order = sorted(files.items(), key=lambda item: item[1] is not None)
    return b"".join([*lines, *(_change(path, content) for path, content in order), b"\n"])


def _change(path: str, content: Content) -> bytes:
    name = _quoted(path)
    if content is None:
        return b"D %s\n" % name
    if isinstance(content, Submodule):
        return b"M 160000 %s %s\n" % (content.commit.encode(), name)
    if isinstance(content, Link):
        return b"M 120000 inline %s\n" % name + _data(content.target.encode())
    data = content.encode() if isinstance(content, str) else content
    return b"M 100644 inline %s\n" % name + _data(data)


def _data(content: bytes) -> bytes:
    return b"data %d\n%s\n" % (len(content), content)


def _quoted(path: str) -> bytes:
    """The path as git quotes one; every byte that is not a plain character is an octal number."""
    plain = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-"
    quoted = (b"%c" % byte if byte in plain else b"\\%03o" % byte for byte in path.encode())
    return b'"' + b"".join(quoted) + b'"'
