"""Writes the reports of a run: all of them or none."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from gatekeeper.errors import UsageError, WriteError
from gatekeeper.gate.result import GateResult
from gatekeeper.reports.formats import Format
from gatekeeper.reports.formats.badge import render_badge
from gatekeeper.reports.formats.code_quality import render_code_quality
from gatekeeper.reports.formats.csv_parquet import (
    FIXTURES,
    SAMPLES,
    csv_rows,
    render_parquet,
    require_parquet,
)
from gatekeeper.reports.formats.junit import render_junit
from gatekeeper.reports.formats.prometheus import render_prometheus
from gatekeeper.reports.formats.result_json import render_result
from gatekeeper.reports.formats.samples import sample_lines
from gatekeeper.reports.formats.sarif import render_sarif
from gatekeeper.reports.html import render_html
from gatekeeper.reports.markdown.comment import render_comment
from gatekeeper.reports.markdown.summary import render_summary
from gatekeeper.reports.redact import Redactor, environment_redactor

Content = str | bytes | Iterator[str]
_Render = Callable[[GateResult], Content]
_OWN_FOLDER = ".gatekeeper"  # nobody wants its content committed

# result.json comes last: if it exists, the others do.
_FORMATS: Mapping[str, _Render] = {
    "comment.md": render_comment,
    "summary.md": render_summary,
    "report.html": render_html,
    "junit.xml": render_junit,
    "samples.csv": partial(csv_rows, SAMPLES),
    "fixtures.csv": partial(csv_rows, FIXTURES),
    "samples.jsonl": sample_lines,
    "result.json": render_result,
}
# What one other system reads, for those who have it.
_ON_DEMAND: Mapping[Format, Mapping[str, _Render]] = {
    "badge": {"badge.json": render_badge},
    "codequality": {"gl-code-quality-report.json": render_code_quality},
    "parquet": {
        "samples.parquet": partial(render_parquet, SAMPLES),
        "fixtures.parquet": partial(render_parquet, FIXTURES),
    },
    "prometheus": {"metrics.prom": render_prometheus},
    "sarif": {"gatekeeper.sarif": render_sarif},
}
_ASKED_FOR = tuple(file for files in _ON_DEMAND.values() for file in files)


def require_formats(formats: Collection[Format]) -> None:
    """Raise UsageError, before any call is made, if a format cannot be written."""
    if "parquet" in formats:
        require_parquet()


def forget_reports(out: Path, named: str | None = None) -> None:
    """Remove what an earlier run left, so that a run which ends early is not taken for it.

    What cannot be removed is left: writing will say why. `named` is how the user named the
    folder. Raises UsageError if there is a file in its place.
    """
    with contextlib.suppress(OSError):
        if out.exists() and not out.is_dir():
            named = named or f"--out {out}"
            raise UsageError(f"{named}: a file has that name; give the name of a folder")
    for name in (*_FORMATS, *_ASKED_FOR):
        with contextlib.suppress(OSError):
            (out / name).unlink(missing_ok=True)


def require_writable(out: Path) -> None:
    """Raise WriteError if no file can be made in `out`, before the first call is paid for.

    Leaves nothing there: a folder that does not exist yet is not made, the one to hold it is tried.
    """
    folder = out.absolute()
    with _named(out):
        while not os.path.lexists(folder):
            folder = folder.parent
        if not stat.S_ISDIR(folder.stat().st_mode):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
        with tempfile.TemporaryFile(dir=folder):
            pass


def write_reports(
    result: GateResult,
    out: Path,
    formats: Collection[Format] = (),
    *,
    notices: Sequence[str] = (),
    redact: Redactor | None = None,
    comment: str | None = None,
) -> dict[str, Path]:
    """Write the reports of every run and the files of `formats`; return file name -> path.

    `result` comes without secrets; `redact` is for the requests to the models, which no other
    report shows, and for the finished texts. `notices` come from after the result. `comment` is
    the comment as it is posted. Raises WriteError if a file cannot be written.
    """
    redact = redact or environment_redactor()
    requested = [files for format_, files in _ON_DEMAND.items() if format_ in formats]
    renders = {name: render for files in (*requested, _FORMATS) for name, render in files.items()}
    renders["report.html"] = partial(render_html, notices=notices, clean=redact.text)
    renders |= {
        "comment.md": partial(render_comment, notices=notices),
        "summary.md": partial(render_summary, notices=notices),
        "result.json": partial(render_result, notices=notices),
    }
    contents: dict[str, Callable[[], Content]] = {
        name: partial(render, result) for name, render in renders.items()
    }
    if comment is not None:
        contents["comment.md"] = lambda: comment
    written = write_files(contents, out, redact=redact)
    for name in _ASKED_FOR:
        if name not in written:
            with contextlib.suppress(OSError):
                (out / name).unlink()  # of an earlier run that wrote it
    return written


def write_files(
    contents: Mapping[str, Callable[[], Content]], out: Path, *, redact: Redactor | None = None
) -> dict[str, Path]:
    """Write the files and return file name -> path; all of them are new, or none.

    Each content is made when it is written, so that one is in memory at a time. One that is made
    line by line is never in memory as a whole; no secret goes over the end of a line.

    The last file shows that the others exist. `redact` removes secrets from every text; by default,
    those of the environment. Raises WriteError, and leaves no file incomplete.
    """
    redact = redact or environment_redactor()
    with _named(out):
        out.mkdir(parents=True, exist_ok=True)
    paths = {name: out / name for name in contents}
    for path in paths.values():
        with _named(path):
            _refuse_folder(path)
    with contextlib.ExitStack() as unfinished:
        if out.parent.name == _OWN_FOLDER:
            with contextlib.suppress(WriteError, OSError):
                ignored = out.parent / ".gitignore"
                _write_beside(ignored, [b"*\n"], unfinished).replace(ignored)
        temporaries = {
            path: _write_beside(path, _chunks(contents[name](), redact), unfinished)
            for name, path in paths.items()
        }
        # From here to the end the folder holds files of two runs: none may look complete.
        last = list(paths.values())[-1]
        with _named(last):
            last.unlink(missing_ok=True)
        for path, temporary in temporaries.items():
            with _named(path):
                temporary.replace(path)
    return paths


@contextlib.contextmanager
def _named(path: Path) -> Iterator[None]:
    """Tell which file could not be written: the fault itself names a temporary one, or none."""
    try:
        yield
    except OSError as error:
        raise WriteError(path, error) from error


def _refuse_folder(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))


def _chunks(content: Content, redact: Redactor) -> Iterator[bytes]:
    if isinstance(content, bytes):
        # Each value in it was redacted on its own, and nothing cuts or escapes them.
        yield content
        return
    for text in [content] if isinstance(content, str) else content:
        yield redact.text(text).encode(errors="replace")


def _write_beside(path: Path, chunks: Iterable[bytes], unfinished: contextlib.ExitStack) -> Path:
    """Write a finished temporary file in the same folder, so that a rename puts it in place."""
    with _named(path):
        # The longest name of a file is short: that of the temporary one does not grow with it.
        descriptor, name = tempfile.mkstemp(prefix=".gatekeeper.", dir=path.parent)
        temporary = Path(name)
        unfinished.callback(_remove, temporary)
        with os.fdopen(descriptor, "wb") as file:
            file.writelines(chunks)
        # mkstemp makes files that only their owner reads; later steps may run as another user.
        temporary.chmod(0o644)
    return temporary


def _remove(temporary: Path) -> None:
    with contextlib.suppress(OSError):
        temporary.unlink()
