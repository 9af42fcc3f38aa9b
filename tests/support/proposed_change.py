"""A proposed change as commits of a real git repository, written by one process of git.

    change = propose(tmp_path / "origin", base={"prompts/a.md": "Hi."}, head={"prompts/a.md": "Yo"})
    change.base, change.head, change.merge      # full names of the commits

`main` is at the base, `change` at the head and is checked out, and `refs/pull/7/head` and
`refs/pull/7/merge` are what GitHub makes of the two. One `git fast-import` writes all of it, as one
pack: a new repository takes some 10 ms, where a call of git per step takes 150.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from support.git_repository import AUTHOR, EMAIL, FIRST_DATE, GitRepository

NUMBER = 7
"""Of the pull request."""

MAIN = "refs/heads/main"
CHANGE = "refs/heads/change"
PULL = f"refs/pull/{NUMBER}"


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
    check_out: str = "change",
) -> ProposedChange:
    """Make the repository in a new folder.

    Args:
        folder: Is created.
        base: The files of the branch that is merged into.
        head: What the pull request writes over them.
        since: What `main` gets after the pull request parted from it.
        work: Is called with the repository, the pull request checked out, before its commit:
            for what no mapping of files can say.
        check_out: The branch whose files lie in the work tree.
    """
    assert not set(since or ()) & set(head), "a file that both sides write cannot be merged here"
    origin = GitRepository.create(folder)
    with (folder / ".git/config").open("a") as options:
        options.write("[uploadpack]\n\tallowAnySHA1InWant = true\n")  # as GitHub has it
    stream = [one_commit(MAIN, 0, base), one_commit(CHANGE, 1, head, parent=MAIN)]
    if since is not None:
        stream.append(one_commit(MAIN, 2, since))
    # What both sides write is what head writes over main, unless head deletes a folder of main.
    simple = work is None and (since is None or None not in head.values())
    if simple:
        stream.append(
            one_commit(f"{PULL}/merge", 1, head, parent=MAIN, merged=CHANGE, title="merge")
        )
        stream.append(f"reset {PULL}/head\nfrom {CHANGE}\n\n".encode())
    import_commits(origin, stream)
    if not simple:
        origin.git("checkout", "--quiet", "change")
        if work is not None:
            work(origin)
            origin.git("add", "--all")
            origin.commits += 3
            origin.git("commit", "--quiet", "--amend", "--no-edit", "--no-verify", "--allow-empty")
        _merge(origin)
    if simple or check_out != "change":
        origin.git("checkout", "--quiet", check_out)
    names = (MAIN, CHANGE, f"{PULL}/merge")
    return ProposedChange(origin, *((folder / ".git" / name).read_text().strip() for name in names))


def import_commits(repository: GitRepository, commits: Iterable[bytes]) -> None:
    """Write the commits into a repository that has none, as one pack."""
    # One pack is one file to write, where loose objects are a file and a folder each.
    packed = ("-c", "fastimport.unpackLimit=0")
    stream = b"".join(commits)
    repository.git_bytes(*packed, "fast-import", "--quiet", "--force", input=stream)


def _merge(origin: GitRepository) -> None:
    """What GitHub makes of `main` and `change`, and the references under which it is found."""
    tree = origin.git("merge-tree", "--write-tree", "main", "change")
    origin.commits += 1
    merge = origin.git("commit-tree", tree, "-p", "main", "-p", "change", "-m", "merge")
    lines = f"update {PULL}/head {CHANGE}\nupdate {PULL}/merge {merge}\n"
    origin.git("update-ref", "--stdin", input=lines.encode())


def one_commit(
    branch: str,
    seconds: int,
    files: Files,
    *,
    parent: str | None = None,
    merged: str | None = None,
    title: str | None = None,
) -> bytes:
    """One commit in the language of `git fast-import`.

    Args:
        branch: The whole name of the reference that moves to the commit.
        seconds: After the first date.
        files: What it writes over its parent.
        parent: Without one the branch goes on.
        merged: The second parent.
        title: The message; without one it is the branch's name.
    """
    author = f"{AUTHOR} <{EMAIL}> {FIRST_DATE + seconds} +0000"
    message = branch if title is None else f"{title}\n"
    lines = [f"commit {branch}\ncommitter {author}\n".encode(), _data(message.encode())]
    if parent is not None:
        lines.append(f"from {parent}\n".encode())
    if merged is not None:
        lines.append(f"merge {merged}\n".encode())
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
