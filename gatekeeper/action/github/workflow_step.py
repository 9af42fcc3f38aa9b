"""Writes for GitHub's runner: outputs, the job's summary, annotations in the log.

Texts are already escaped. Only the outputs are for programs: a job that passes without them ends
with exit code 3.
"""

from __future__ import annotations

import errno
import os
import secrets
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from gatekeeper.action.github.comments import CUT_NOTE, cut
from gatekeeper.errors import WriteError

Level = Literal["error", "warning", "notice"]
SUMMARY_LIMIT = 1024 * 1024
"""The most bytes of a summary; the runner drops a larger one completely."""
ANNOTATIONS_A_LEVEL = 10
"""How many annotations of each level the runner shows; it drops the others silently."""
ANNOTATION_LIMIT = 4_096


@dataclass(frozen=True, slots=True)
class Annotation:
    """A finding on a line of a changed file, or on several up to `end_line`; on the run if it has
    no file."""

    level: Level
    title: str
    message: str
    path: str | None = None
    line: int | None = None
    end_line: int | None = None


def write_outputs(path: Path | None, outputs: Mapping[str, str]) -> None:
    """Append the step's outputs, all of them or none. The delimiter is random, so that no value
    can end itself. Raises WriteError."""
    if path is None:
        return
    lines = []
    for name, value in outputs.items():
        delimiter = f"gatekeeper_{secrets.token_hex(16)}"
        lines.append(f"{name}<<{delimiter}\n{value}\n{delimiter}\n")
    _append(path, "".join(lines).encode(errors="replace"))


def write_summary(path: Path | None, text: str) -> None:
    """Append to the job's summary, within the size above which the runner drops all of it.
    Raises WriteError."""
    if path is None:
        return
    try:
        written = path.stat().st_size if path.exists() else 0
    except OSError as error:
        raise WriteError(path, error) from error
    left = SUMMARY_LIMIT - written - 1
    content = text.encode()
    if len(content) > left:
        end = CUT_NOTE.encode()
        content = content[: max(0, left - len(end))].decode(errors="ignore").encode() + end
    if len(content) <= left:
        _append(path, content)


def _append(path: Path, content: bytes) -> None:
    """Append to a file; remove the appended part if not all of it fits."""
    try:
        with path.open("ab", buffering=0) as file:
            before = file.seek(0, os.SEEK_END)
            try:
                if file.write(content) != len(content):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            except OSError:
                with suppress(OSError):
                    file.truncate(before)
                raise
    except OSError as error:
        raise WriteError(path, error) from error


def annotation_commands(annotations: Sequence[Annotation]) -> tuple[str, ...]:
    """Return workflow commands, the worst first and at most as many of a level as the runner shows.

    Ranked by level and, within a level, in the order given.
    """
    lines: list[str] = []
    for level in ("error", "warning", "notice"):
        found = [a for a in annotations if a.level == level]
        lines += [_command(a) for a in found[:ANNOTATIONS_A_LEVEL]]
    return tuple(lines)


def warning_command(message: str) -> str:
    """Return the workflow command of a warning."""
    return _command(Annotation("warning", "Gatekeeper", message))


def _command(annotation: Annotation) -> str:
    properties = {"title": annotation.title}
    if annotation.path is not None:
        properties = {"file": annotation.path, **properties}
    if annotation.path is not None and annotation.line is not None:
        properties["line"] = str(annotation.line)
        if annotation.end_line is not None:
            properties["endLine"] = str(annotation.end_line)
    joined = ",".join(f"{name}={_escape_property(value)}" for name, value in properties.items())
    return (
        f"::{annotation.level} {joined}::{_escape(cut(annotation.message, ANNOTATION_LIMIT, '…'))}"
    )


def _escape(text: str) -> str:
    """Escape a command's text, as
    https://github.com/actions/toolkit/blob/main/packages/core/src/command.ts does."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _escape_property(text: str) -> str:
    return _escape(text).replace(":", "%3A").replace(",", "%2C")
