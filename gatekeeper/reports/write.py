"""Writes what a run leaves behind: all of it or nothing."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Callable, Collection, Mapping
from functools import partial
from pathlib import Path

from gatekeeper.errors import UsageError
from gatekeeper.reports.badge import render_badge
from gatekeeper.reports.comment import render_comment
from gatekeeper.reports.html import render_html
from gatekeeper.reports.junit import render_junit
from gatekeeper.reports.machine import render_result
from gatekeeper.reports.prometheus import render_prometheus
from gatekeeper.reports.samples import render_samples
from gatekeeper.reports.sarif import render_sarif
from gatekeeper.reports.summary import render_summary
from gatekeeper.reports.tabular import (
    FIXTURES,
    SAMPLES,
    render_csv,
    render_parquet,
    require_parquet,
)
from gatekeeper.result import GateResult
from gatekeeper.settings import Format

_Render = Callable[[GateResult], str | bytes]
BINARY = ".parquet"
"""The ending of the files that are not text."""
_OWN_FOLDER = ".gatekeeper"  # nobody wants its content committed

# result.json comes last: where it is, the others are.
_FORMATS: Mapping[str, _Render] = {
    "comment.md": render_comment,
    "summary.md": render_summary,
    "report.html": render_html,
    "junit.xml": render_junit,
    "samples.csv": partial(render_csv, SAMPLES),
    "fixtures.csv": partial(render_csv, FIXTURES),
    "samples.jsonl": render_samples,
    "result.json": render_result,
}
# What one other system reads, for those who have it.
_ON_DEMAND: Mapping[Format, Mapping[str, _Render]] = {
    "badge": {"badge.json": render_badge},
    "parquet": {
        "samples.parquet": partial(render_parquet, SAMPLES),
        "fixtures.parquet": partial(render_parquet, FIXTURES),
    },
    "prometheus": {"metrics.prom": render_prometheus},
    "sarif": {"gatekeeper.sarif": render_sarif},
}
_ASKED_FOR = tuple(file for files in _ON_DEMAND.values() for file in files)


def require_formats(formats: Collection[Format]) -> None:
    """Before the first call is paid for, not after the last. Raises UsageError."""
    if "parquet" in formats:
        require_parquet()


def forget_reports(out: Path) -> None:
    """Remove what an earlier run left, so that a run which ends early is not taken for it.

    Raises UsageError where the folder cannot be one.
    """
    if out.exists() and not out.is_dir():
        raise UsageError(f"--out {out}: there is a file of that name; name a folder")
    for name in (*_FORMATS, *_ASKED_FOR):
        (out / name).unlink(missing_ok=True)


def write_reports(
    result: GateResult,
    out: Path,
    formats: Collection[Format] = (),
    *,
    clean: Callable[[str], str] = str,
) -> dict[str, Path]:
    """File name -> path: what every run leaves, and the files of `formats` beside it.

    `clean` takes secrets out of what was asked of the models,
    which is compressed in the page and cannot be searched there any more.
    Raises OSError where the folder cannot be written.
    """
    asked = [files for format_, files in _ON_DEMAND.items() if format_ in formats]
    renders = {name: render for files in (*asked, _FORMATS) for name, render in files.items()}
    renders["report.html"] = partial(render_html, clean=clean)
    written = write_files({name: render(result) for name, render in renders.items()}, out)
    for name in _ASKED_FOR:
        if name not in written:
            (out / name).unlink(missing_ok=True)  # of an earlier run that was asked for it
    return written


def write_files(contents: Mapping[str, str | bytes], out: Path) -> dict[str, Path]:
    """File name -> path, all of them new or none. The last is the one that says that the others
    are there. Raises OSError where the folder cannot be written."""
    out.mkdir(parents=True, exist_ok=True)
    if out.parent.name == _OWN_FOLDER:
        (out.parent / ".gitignore").write_text("*\n", "utf-8")
    with contextlib.ExitStack() as unfinished:
        written = {
            name: _write_beside(out / name, content, unfinished)
            for name, content in contents.items()
        }
        # From here to the end the folder holds files of two runs: none may look complete.
        (out / list(contents)[-1]).unlink(missing_ok=True)
        for name, temporary in written.items():
            temporary.replace(out / name)
    return {name: out / name for name in contents}


def _write_beside(path: Path, content: str | bytes, unfinished: contextlib.ExitStack) -> Path:
    """A finished temporary file in the same folder, so that a rename puts it in place."""
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    temporary = Path(name)
    unfinished.callback(temporary.unlink, missing_ok=True)
    data = content.encode(errors="replace") if isinstance(content, str) else content
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
    # mkstemp makes files that only their owner reads; later steps may run as another user.
    temporary.chmod(0o644)
    return temporary
