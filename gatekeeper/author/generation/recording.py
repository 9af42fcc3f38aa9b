"""The answers of a run of the author's tools, as lines of the form of `samples.jsonl`.

Each answer is in the file as soon as it is there, also if the run fails or the process is killed,
because it was paid for. A replay finds an answer by its request, and a later run can continue from
the answers of a failed one.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gatekeeper.contract.meaning.digests import request_digest
from gatekeeper.contract.values.trial import Completion, Request
from gatekeeper.errors import UsageError
from gatekeeper.providers import ModelRouter
from gatekeeper.reports.redact import environment_redactor
from gatekeeper.reports.write import write_files
from gatekeeper.runs.answers.cache import AroundModels
from gatekeeper.runs.answers.files import read_own_file, replace_file, write_line
from gatekeeper.sampling.completion_record import completion_record, read_answer_row, read_field

_Place = tuple[str, str, str, int]
"""A stage, a request by its digest, the model, and the repetition."""


class Recording:
    """The answers of one run. Without a path, no file is written. A run that resumes an earlier one
    has the answers of that run too; raises UsageError if they cannot be read."""

    def __init__(self, path: Path | None = None, *, resume: bool = False) -> None:
        self._path = path
        self._earlier = _read_earlier(path) if path and resume else {}
        self._known = {place[1:]: row for place, row in self._earlier.items()}
        self._rows: dict[_Place, Mapping[str, Any]] = {}
        self._file: int | None = None
        self._is_writable = path is not None

    @property
    def text(self) -> str:
        """The answers so far as JSON Lines, in an order that does not depend on their speed, with
        one answer to each request."""
        return _lines(self._rows)

    def recall(self, request: Request) -> Completion | None:
        """Return the answer that the earlier run got; None if there is none that can be used."""
        row = self._known.get(_asked(request))
        found = read_answer_row(row) if row else None
        return None if found is None or found.cut else found

    def forget(self, request: Request) -> None:
        """Have the model asked next time, because the earlier answer cannot be used."""
        self._known.pop(_asked(request), None)

    def add(self, request: Request, stage: str, answer: Completion | str) -> None:
        """Keep an answer, or why there is none, so that a replay goes on as the run did. It is in
        the file at once. If that fails, the run goes on, and `finish` says why."""
        digest, model, repetition = _asked(request)
        said: Mapping[str, Any]
        if isinstance(answer, str):
            said = {"output_raw": None, "error": environment_redactor().text(answer)}
        else:
            known = completion_record(answer)
            said = {"output_raw": known.pop("text"), **known}
        row = {
            "stage": stage,
            "model": model,
            "seed": request.seed,
            "request": digest,
            "repetition": repetition,
            **said,
        }
        self._rows[stage, digest, model, repetition] = row
        is_new = isinstance(answer, str) or not answer.replayed
        if self._path and self._is_writable and is_new:
            self._append(self._path, environment_redactor().text(_line(row)))

    def _append(self, path: Path, line: str) -> None:
        try:
            if self._file is None:
                replace_file(path, _lines(self._earlier).encode("utf-8", "replace"))
                self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW)
            write_line(self._file, line.encode("utf-8", "replace"))
        except OSError:
            self._is_writable = False

    def finish(self, *, failed: bool) -> None:
        """Replace the file by all answers, also the earlier ones if the run failed; without an
        answer the file stays as it is. Raises WriteError."""
        if self._file is not None:
            os.close(self._file)
            self._file = None
        text = _lines({**self._earlier, **self._rows} if failed else self._rows)
        if self._path and self._rows:
            write_files({self._path.name: lambda: text}, self._path.parent)


class Recalling(AroundModels):
    """Answers from the earlier run of a recording, and asks the models what it does not hold."""

    def __init__(self, recording: Recording, models: ModelRouter) -> None:
        super().__init__(models)
        self._recording = recording

    async def complete(self, request: Request) -> Completion:
        """Answer from the recording, else ask. Raises CallFailed."""
        return self._recording.recall(request) or await self._models.complete(request)


def _asked(request: Request) -> tuple[str, str, int]:
    digest = request_digest(request)
    return digest, request.model, request.repetition


def _line(row: Mapping[str, Any]) -> str:
    return f"{json.dumps(row, ensure_ascii=False)}\n"


def _lines(rows: Mapping[_Place, Mapping[str, Any]]) -> str:
    return "".join(_line(rows[place]) for place in sorted(rows))


def _read_earlier(path: Path) -> dict[_Place, Mapping[str, Any]]:
    """Return the answers of a file, each request once. A killed process may have left the last line
    without its end."""
    try:
        text = read_own_file(path).decode("utf-8", "replace")
        found: dict[_Place, Mapping[str, Any]] = {}
        lines = text.split("\n")
        if len(lines) > 1 and not _is_whole(lines[-1]):
            lines.pop()
        for line in filter(str.strip, lines):
            row = json.loads(line)
            read_answer_row(row)
            stage, digest, model = (read_field(row, key) for key in ("stage", "request", "model"))
            found[stage, digest, model, int(row["repetition"])] = row
    except OSError as error:
        raise UsageError(
            f"--resume: {path} cannot be read: {error.strerror or error}; run the command without "
            "--resume, or name the folder of the answers with --out"
        ) from error
    except (KeyError, OverflowError, TypeError, ValueError, RecursionError) as error:
        raise UsageError(
            f"--resume: {path} does not hold answers of this command; run the command without "
            "--resume"
        ) from error
    return found


def _is_whole(line: str) -> bool:
    """Return whether a line is JSON, and no part of it is missing."""
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True
