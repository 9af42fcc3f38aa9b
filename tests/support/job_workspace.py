"""The workspace of a job on GitHub: `check_out(origin, commit, tmp_path / "workspace")`.

It holds what `git fetch --depth=1` and `git checkout --detach` leave of a repository on this
machine, for a third of their time: the objects go from one repository to the other without a
server and a client of git.
"""

from __future__ import annotations

from pathlib import Path

from support.git_repository import GitRepository


def check_out(
    origin: GitRepository, commit: str, folder: Path, *, depth: int | None = 1
) -> GitRepository:
    """Check out a commit as actions/checkout does: HEAD is detached, and `origin` is the remote.

    Args:
        origin: The repository on the server.
        commit: Its full name.
        folder: Is created.
        depth: 1 for the commit without its history, None for all of it.
    """
    assert depth in (1, None), "only the first commit, or the whole history"
    made = GitRepository.create(folder)
    metadata = folder / ".git"
    with (metadata / "config").open("a") as options:
        remote = f"\turl = {origin.path.as_uri()}\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n"
        options.write(f'[remote "origin"]\n{remote}')
    wanted = f"{commit}\n" if depth is None else f"--shallow {commit}\n{commit}\n"
    pack = metadata / "objects/pack/pack"
    origin.git("pack-objects", "--quiet", "--revs", str(pack), input=wanted.encode())
    if depth is not None:
        (metadata / "shallow").write_text(f"{commit}\n")
    made.git("checkout", "--quiet", "--detach", commit)
    return made
