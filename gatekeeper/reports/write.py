"""Writes the reports of a run: all of them or none."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import tempfile
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from gatekeeper.errors import UsageError, WriteError
from gatekeeper.gate.results.result import GateResult
from gatekeeper.reports.formats import Format
from gatekeeper.reports.redact import Redactor, environment_redactor

Content = str | bytes | Iterator[str]
_Render = Callable[..., Content]
_OWN_FOLDER = ".gatekeeper"  # nobody wants its content committed


def _report(module: str, name: str, table: str | None = None) -> _Render:
    """Return the function that makes a report. Its module is imported at the first call: those of
    reports that nobody asked for never, and the others while the models work."""

    def render(result: GateResult, **more: Any) -> Content:
        found = import_module(f"{__package__}.{module}")
        parts = (getattr(found, table), result) if table else (result,)
        made: Content = getattr(found, name)(*parts, **more)
        return made

    return render


# result.json comes last: if it exists, the others do.
_FORMATS: Mapping[str, _Render] = {
    "comment.md": _report("markdown.comment", "render_comment"),
    "summary.md": _report("markdown.comment", "render_summary"),
    "report.html": _report("html", "render_html"),
    "junit.xml": _report("formats.junit", "render_junit"),
    "samples.csv": _report("formats.csv_parquet", "csv_rows", "SAMPLES"),
    "fixtures.csv": _report("formats.csv_parquet", "csv_rows", "FIXTURES"),
    "samples.jsonl": _report("formats.samples", "sample_lines"),
    "result.json": _report("formats.result_json", "render_result"),
}
# What one other system reads, for those who have it.
_ON_DEMAND: Mapping[Format, Mapping[str, _Render]] = {
    "badge": {"badge.json": _report("formats.badge", "render_badge")},
    "codequality": {
        "gl-code-quality-report.json": _report("formats.code_quality", "render_code_quality")
    },
    "parquet": {
        "samples.parquet": _report("formats.csv_parquet", "render_parquet", "SAMPLES"),
        "fixtures.parquet": _report("formats.csv_parquet", "render_parquet", "FIXTURES"),
    },
    "prometheus": {"metrics.prom": _report("formats.prometheus", "render_prometheus")},
    "sarif": {"gatekeeper.sarif": _report("formats.sarif", "render_sarif")},
}
_ASKED_FOR = tuple(file for files in _ON_DEMAND.values() for file in files)


def require_formats(formats: Collection[Format]) -> None:
    """Raise UsageError, before any call is made, if a format cannot be written."""
    if "parquet" in formats:
        from gatekeeper.reports.formats.csv_parquet import require_parquet

        require_parquet()


def forget_reports(out: Path, named: str | None = None) -> None:
    """Remove what an earlier run left, so that a run which ends early is not taken for it.

    What cannot be removed is left: writing will say why. `named` is how the user named the
    folder. Raises UsageError if there is a file in its place, and WriteError if a link is.
    """
    require_own_place(out)
    with contextlib.suppress(OSError):
        if out.exists() and not out.is_dir():
            named = named or f"--out {out}"
            raise UsageError(f"{named}: this is a file; give the name of a folder")
    for name in (*_FORMATS, *_ASKED_FOR):
        with contextlib.suppress(OSError):
            (out / name).unlink(missing_ok=True)


def require_writable(out: Path) -> None:
    """Raise WriteError if no file can be made in `out`, before the first call is paid for.

    Leaves nothing there: a folder that does not exist yet is not made, the one to hold it is tried.
    """
    require_own_place(out)
    folder = out.absolute()
    with named(out):
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
    renders["report.html"] = partial(_FORMATS["report.html"], notices=notices, clean=redact.text)
    for name in ("comment.md", "summary.md", "result.json"):
        renders[name] = partial(_FORMATS[name], notices=notices)
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
    require_own_place(out)
    with named(out):
        out.mkdir(parents=True, exist_ok=True)
    paths = {name: out / name for name in contents}
    for path in paths.values():
        with named(path):
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
        with named(last):
            last.unlink(missing_ok=True)
        for path, temporary in temporaries.items():
            with named(path):
                temporary.replace(path)
    return paths


@contextlib.contextmanager
def named(path: Path) -> Iterator[None]:
    """Tell which file could not be written: the fault itself names a temporary one, or none."""
    try:
        yield
    except OSError as error:
        raise WriteError(path, error) from error


def require_own_place(out: Path) -> None:
    """Raise WriteError if a folder is inside of a `.git` folder, or is reached through a link that
    is this tool's own folder or inside of a repository: a pull request can commit one that leads to
    any folder of the person who tries it, whose files would be replaced."""
    if is_in_git_folder(out):
        error = OSError(errno.EPERM, "this folder belongs to git")
        raise WriteError(out, error, "choose a folder outside of `.git`")
    places = [out.absolute(), *out.absolute().parents]
    for at, folder in enumerate(places):
        if not os.path.islink(folder):  # noqa: PTH114
            continue
        is_own = _OWN_FOLDER in (folder.name, folder.parent.name)
        if is_own or any(os.path.lexists(above / ".git") for above in places[at + 1 :]):
            error = OSError(errno.ELOOP, "it is a symbolic link")
            raise WriteError(folder, error, "remove the link, or use another folder with --out")


def is_in_git_folder(path: Path) -> bool:
    """Return whether a path is a folder `.git` or inside of one, as it is written or through links,
    also in other letters that some file systems take for the same."""
    parts = {*path.absolute().parts, *Path(os.path.realpath(path)).parts}
    return any(_plain_name(part) in (".git", "git~1") for part in parts)


def _plain_name(part: str) -> str:
    shown = (char for char in part if unicodedata.category(char) != "Cf")
    return "".join(shown).casefold().rstrip(". ")


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
    with named(path):
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


def prepare_reports() -> None:
    """Import the libraries of the reports of every run, and compile the templates of the page.

    Without this it happens when they are written, and a person waits for it.
    """
    import markdown_it  # noqa: F401
    import rich.box
    import rich.table  # noqa: F401

    import gatekeeper.reports.described.result
    import gatekeeper.reports.formats.csv_parquet
    import gatekeeper.reports.formats.junit
    import gatekeeper.reports.formats.result_json
    import gatekeeper.reports.formats.samples
    import gatekeeper.reports.html.body
    import gatekeeper.reports.markdown.comment
    import gatekeeper.reports.terminal.console
    import gatekeeper.reports.terminal.render
    import gatekeeper.reports.write  # noqa: F401
    from gatekeeper.reports.html.markup import reader
    from gatekeeper.reports.html.page import templates

    reader()
    for name in ("body.html.j2", "samples.html.j2"):
        templates().get_template(name)
