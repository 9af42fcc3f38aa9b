"""Writes a command's result to the terminal, also if a file or a stream cannot be written."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, cast

from gatekeeper.errors import UsageError, WriteError

if TYPE_CHECKING:
    from gatekeeper.gate.results.result import GateResult
    from gatekeeper.reports.document import Block, Document
    from gatekeeper.reports.formats import Format


_WRITTEN = ("out", "cache", "history", "labels", "page", "log_requests")
"""The options that name what a command writes, in every command that has one of them."""


def report(
    result: GateResult, out: Path, formats: Sequence[Format] = (), *, verbose: bool = False
) -> int:
    """Write the reports to `out`, those of `formats` too; print the result, with each check of each
    fixture if it is `verbose`; return its exit code.

    If something cannot be written, print the error to standard error. The exit code is then 3
    unless the result blocks anyway.
    """
    from gatekeeper.reports.terminal.console import print_result
    from gatekeeper.reports.words.headline import headline_text
    from gatekeeper.reports.write import write_reports
    from gatekeeper.runs.answers.files import forget_unfinished

    files: dict[str, Path] = {}
    unwritten: list[WriteError] = []
    try:
        files = write_reports(result, out, formats)
    except WriteError as error:
        unwritten.append(error)
    try:
        with readers_may_leave():
            print_result(result, files, verbose=verbose)
    except WriteError as error:
        unwritten.append(error)
        print_error(f"gatekeeper: {result.verdict}: {headline_text(result)}")
    for fault in unwritten:
        print_error(f"gatekeeper: {fault}")
    if not unwritten:
        forget_unfinished(result.spent_answers)
    return result.exit_code or (unwritten[0].exit_code if unwritten else 0)


def print_json(document: object) -> None:
    """Print a JSON document without secrets, in which no text is a command to a workflow's
    runner."""
    from gatekeeper.reports.redact import environment_redactor

    # `##[name]` is one wherever it stands, and means the same to JSON when it is escaped.
    text = environment_redactor().text(json.dumps(document, indent=2))
    print(text.replace("##[", "##\\u005b"))  # noqa: T201


def print_answer(document: object, blocks: Iterable[Block], *, as_json: bool) -> None:
    """Print the document as JSON, or the blocks, which say the same to people."""
    from gatekeeper.reports.terminal.console import print_blocks

    with readers_may_leave():
        if as_json:
            print_json(document)
        else:
            print_blocks(blocks)


def print_lines(lines: Iterable[str]) -> None:
    """Print the lines to standard output.

    They may quote files of a change or a model: none is a command to a workflow's runner, and
    control and invisible characters are spelled out. Raises WriteError.
    """
    from gatekeeper.reports.escape import log_text

    shown = [f"{log_text(line)}\n" for line in lines]
    with readers_may_leave():
        sys.stdout.writelines(shown)


def write_and_show(
    contents: Mapping[str, Callable[[], str]], out: Path, show: Callable[[Mapping[str, Path]], None]
) -> None:
    """Write the files, and show the result with the paths of what was written.

    What is shown does not depend on the disk. Raises WriteError at the end if a file could not be
    written.
    """
    from gatekeeper.reports.write import write_files

    unwritten = None
    files: Mapping[str, Path] = {}
    try:
        files = write_files(contents, out)
    except WriteError as error:
        unwritten = error
    with readers_may_leave():
        show(files)
    if unwritten:
        raise unwritten


def write_document(
    name: str,
    document: Document,
    data: Mapping[str, Any],
    out: Path,
    others: Mapping[str, Callable[[], str]] | None = None,
) -> None:
    """Write a document as `NAME.html` and `NAME.md`, `others`, and its data as `NAME.json`; print
    the document. Raises WriteError at the end if a file could not be written."""
    from gatekeeper.reports.html.render import render_page
    from gatekeeper.reports.markdown.render import render_markdown
    from gatekeeper.reports.terminal.console import log_console
    from gatekeeper.reports.terminal.render import Screen

    contents: dict[str, Callable[[], str]] = {
        f"{name}.html": lambda: render_page(document),
        f"{name}.md": lambda: render_markdown(document),
        **(others or {}),
        f"{name}.json": lambda: f"{json.dumps(data, indent=2, ensure_ascii=False)}\n",
    }
    write_and_show(
        contents, out, lambda files: Screen(log_console()).show(document, files.values())
    )


@contextlib.contextmanager
def readers_may_leave() -> Iterator[None]:
    """Ignore a reader that closes the pipe: `gatekeeper check | head` ends with the verdict.

    Raises WriteError if standard output fails for another reason, such as a full disk.
    """
    try:
        yield
        sys.stdout.flush()
    except (BrokenPipeError, SystemExit):  # rich ends the process when its reader is gone
        discard(sys.stdout)
    except OSError as error:
        discard(sys.stdout)
        remedy = "write to a terminal, or to a file on a disk with free space"
        raise WriteError("standard output", error, remedy) from error


def print_error(text: str) -> None:
    """Print to standard error without secrets, because a provider's error may repeat the key.

    The text may quote files of a change. No line of it is a command to a runner, and control
    and invisible characters are spelled out. Do nothing if standard error cannot be written.
    """
    from gatekeeper.reports.escape import log_text
    from gatekeeper.reports.redact import environment_redactor

    try:
        shown = log_text(environment_redactor().text(text))
        print(shown, file=sys.stderr, flush=True)  # noqa: T201
    except OSError:
        discard(sys.stderr)


@contextlib.contextmanager
def no_secrets_in_errors() -> Iterator[None]:
    """Remove secrets from everything that this process writes to standard error.

    Libraries also write warnings and tracebacks there, and may quote a server's answer.
    """
    stream = sys.stderr
    sys.stderr = cast(TextIO, _Redacted(stream))
    try:
        yield
    finally:
        sys.stderr = stream


class _Redacted:
    """A stream that writes each text without secrets. Other attributes are the stream's own."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write the text, and return its length as it was given."""
        from gatekeeper.reports.redact import environment_redactor

        self._stream.write(environment_redactor().text(text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write each of the texts."""
        for line in lines:
            self.write(line)


def open_missing_streams() -> None:
    """Give the process the standard streams that it was started without.

    Python has None in their place, and the next file that is opened would take their number.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is not None:
            continue
        try:
            os.fstat(number)
        except OSError:
            null = os.open(os.devnull, os.O_RDWR)
            if null != number:
                os.dup2(null, number)
                os.close(null)
        mode = "w" if number else "r"
        setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115


def settle_streams(exit_code: int) -> int:
    """Flush standard output and standard error; return the exit code.

    Otherwise Python would flush them after this function, and end with its own code on an error.
    """
    try:
        with readers_may_leave():
            pass
    except WriteError as error:
        print_error(f"gatekeeper: {error}")
        exit_code = exit_code or error.exit_code
    try:
        sys.stderr.flush()
    except OSError:
        discard(sys.stderr)
    return exit_code


def discard(stream: TextIO) -> None:
    """Redirect the stream to the null device."""
    with contextlib.suppress(OSError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, stream.fileno())
        os.close(null)


def write_new_files(texts: Mapping[Path, str], *, make_folders: bool = False) -> None:
    """Write the files: all of them, or none if one exists already or cannot be written. Folders
    have to exist unless `make_folders`. Raises WriteError."""
    with ExitStack() as unfinished:
        for path, text in texts.items():
            try:
                if make_folders:
                    path.parent.mkdir(parents=True, exist_ok=True)
                with path.open("x", encoding="utf-8", errors="replace", newline="\n") as file:
                    unfinished.callback(partial(path.unlink, missing_ok=True))
                    file.write(text)
            except OSError as error:
                raise WriteError(path, error) from error
        unfinished.pop_all()


def refuse_folder_of_git(arguments: argparse.Namespace) -> None:
    """Raise UsageError if an option would have the command write into a folder `.git`, whose files
    git reads and runs."""
    written = {name: getattr(arguments, name, None) for name in _WRITTEN}
    if not any(written.values()):
        return  # without an import, which takes a tenth of a second
    from gatekeeper.reports.write import is_in_git_folder

    for name, place in written.items():
        if place is not None and _is_file(place) and is_in_git_folder(Path(place)):
            option = f"--{name.replace('_', '-')}"
            raise UsageError(f"{option} {place}: this is inside of `.git`; choose another place")


def _is_file(place: str | Path) -> bool:
    """Return whether the place is a file or folder, and not the address of a history."""
    if isinstance(place, Path):
        return True
    from gatekeeper.history.stores.open import is_file

    return is_file(place)
