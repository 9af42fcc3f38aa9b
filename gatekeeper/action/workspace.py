"""The workspace of the job: paths that stay inside it, and whose its files are."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from pathlib import Path

from gatekeeper.errors import UsageError
from gatekeeper.reports.write import is_in_git_folder

PROPOSED_BY = "generate.answers.jsonl"
"""The answers of the model, in the folder of proposed contracts."""


def relative_path(name: str, text: str) -> Path:
    """Return a path below the workspace, because later steps of the job can read only that.

    Raises UsageError for one that leads out as it is written; `name` is the input's.
    """
    path = Path(text)
    if path.is_absolute() or ".." in path.parts:
        raise UsageError(
            f"input {name}: {text!r} is outside of the workspace; give a path relative to the "
            "workspace"
        )
    _require_outside_git(name, path)
    return path


def _require_outside_git(name: str, path: Path) -> None:
    if is_in_git_folder(path):
        raise UsageError(f"input {name}: {path} is inside of `.git`; choose another folder")


def out_folder(workspace: Path, out: Path) -> Path:
    """Return the folder for the reports. Raises UsageError if a link in the checkout leads it out
    of the workspace."""
    workspace = workspace.resolve()
    folder = (workspace / out).resolve()
    if not folder.is_relative_to(workspace) or folder == workspace:
        raise UsageError(
            f"input out: {out} is outside of the workspace; choose a folder inside the workspace"
        )
    _require_outside_git("out", folder)
    return folder


def proposals_folder(workspace: Path, out: Path) -> Path:
    """Return the folder for proposed contracts, below that of the reports. Raises UsageError as
    `out_folder` does."""
    return out_folder(workspace, out) / "proposals"


def forget_proposals(folder: Path) -> None:
    """Remove what an earlier run proposed, so that nobody takes it for this run's. A link in the
    checkout is removed, because it could lead anywhere; what is not a proposal is left."""
    with suppress(OSError):
        if folder.is_symlink():
            folder.unlink()
        elif (folder / PROPOSED_BY).is_file():
            shutil.rmtree(folder)


def cache_file(workspace: Path, cache: Path) -> Path:
    """Return the cache file. Raises UsageError if a link in the checkout leads its folder out of
    the workspace."""
    workspace = workspace.resolve()
    path = workspace / cache
    if not path.parent.resolve().is_relative_to(workspace):
        raise UsageError(
            f"input cache: {cache} is outside of the workspace; choose a path inside the workspace"
        )
    _require_outside_git("cache", path)
    return path


def give_to_owner(workspace: Path, *written: Path) -> None:
    """Give files and folders, and the folders above them, to the owner of the workspace: files of
    root's in it break the next job on a runner that is kept.

    `written` are paths below the workspace. Those of other places change hands without the folders
    above them.
    """
    try:
        owner = workspace.stat()
    except OSError:
        return
    if os.geteuid() != 0 or owner.st_uid == 0:
        return
    top = workspace.resolve()
    for path in (top / each for each in written):
        for made in (path, *(folder for folder in path.parents if top in folder.parents)):
            with suppress(OSError):
                os.chown(made, owner.st_uid, owner.st_gid, follow_symlinks=False)


def give_reports_to_owner(workspace: Path, out: Path) -> None:
    """Give the folder of the reports, everything in it, and the file that keeps it out of commits,
    to the owner of the workspace."""
    ignored = [folder / ".gitignore" for folder in out.parents if folder.parts]
    give_to_owner(workspace, *ignored, out, *(workspace.resolve() / out).rglob("*"))
