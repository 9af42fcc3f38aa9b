"""Writes what a run leaves behind: all of it or nothing."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from gatekeeper.errors import UsageError
from gatekeeper.reports.comment import render_comment
from gatekeeper.reports.junit import render_junit
from gatekeeper.reports.machine import render_result
from gatekeeper.reports.samples import render_samples
from gatekeeper.reports.summary import render_summary
from gatekeeper.result import GateResult

_OWN_FOLDER = ".gatekeeper"  # nobody wants its content committed

# result.json comes last: where it is, the others are.
_FORMATS: Mapping[str, Callable[[GateResult], str]] = {
    "comment.md": render_comment,
    "summary.md": render_summary,
    "junit.xml": render_junit,
    "samples.jsonl": render_samples,
    "result.json": render_result,
}


def forget_reports(out: Path) -> None:
    """Remove what an earlier run left, so that a run which ends early is not taken for it.

    Raises UsageError where the folder cannot be one.
    """
    if out.exists() and not out.is_dir():
        raise UsageError(f"--out {out}: there is a file of that name; name a folder")
    for name in _FORMATS:
        (out / name).unlink(missing_ok=True)


def write_reports(result: GateResult, out: Path) -> dict[str, Path]:
    """File name -> path. Raises OSError where the folder cannot be written."""
    texts = {name: render(result) for name, render in _FORMATS.items()}
    out.mkdir(parents=True, exist_ok=True)
    if out.parent.name == _OWN_FOLDER:
        (out.parent / ".gitignore").write_text("*\n", "utf-8")
    with contextlib.ExitStack() as unfinished:
        written = {
            name: _write_beside(out / name, text, unfinished) for name, text in texts.items()
        }
        # From here to the end the folder holds files of two runs: none may look complete.
        (out / "result.json").unlink(missing_ok=True)
        for name, temporary in written.items():
            temporary.replace(out / name)
    return {name: out / name for name in texts}


def _write_beside(path: Path, text: str, unfinished: contextlib.ExitStack) -> Path:
    """A finished temporary file in the same folder, so that a rename puts it in place."""
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    temporary = Path(name)
    unfinished.callback(temporary.unlink, missing_ok=True)
    with os.fdopen(descriptor, "w", encoding="utf-8", errors="replace", newline="\n") as file:
        file.write(text)
    # mkstemp makes files that only their owner reads; later steps may run as another user.
    temporary.chmod(0o644)
    return temporary
