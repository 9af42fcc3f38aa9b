"""Asks a person for labels at a terminal, and adds each to the file at once."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from gatekeeper.errors import UsageError
from gatekeeper.gate.calibration.label_tasks import LabelTask
from gatekeeper.gate.calibration.labels import Label, label_document
from gatekeeper.reports.escape import clip, log_text, plain
from gatekeeper.reports.terminal.console import log_console

if TYPE_CHECKING:
    from rich.console import Console

_KEYS = {"p": True, "pass": True, "f": False, "fail": False}
_SHOWN = 20_000


def ask_for_labels(
    tasks: Sequence[LabelTask],
    annotator: str,
    check: str | None,
    file: Path,
    answers: TextIO,
    console: Console | None = None,
) -> int:
    """Ask for a verdict on each output until the person quits; return how many were given.

    Each verdict is in the file before the next question, so nothing is lost. Raises UsageError if
    the file cannot be written.
    """
    console = console or log_console()
    given = 0
    try:
        with file.open("a", encoding="utf-8") as kept:
            for number, task in enumerate(tasks, start=1):
                _show(console, task, f"{number} of {len(tasks)}")
                verdict = _ask(console, answers)
                if verdict == "quit":
                    break
                if verdict == "skip":
                    continue
                label = Label(task.fixture, task.output, verdict == "pass", annotator, check)
                kept.write(json.dumps(label_document(label), ensure_ascii=True) + "\n")
                kept.flush()
                given += 1
    except OSError as error:
        raise UsageError(f"{file}: cannot be written ({error})") from None
    return given


def _show(console: Console, task: LabelTask, place: str) -> None:
    from rich.text import Text

    console.rule(Text(f"{place} · {clip(plain(task.fixture), 80)}"))
    for title, text in (
        ("Input", task.input),
        ("Expected", task.expected),
        ("Output", task.output or "(empty)"),
    ):
        if text is not None:
            console.print(Text(title, "bold"))
            console.print(Text(log_text(clip(text, _SHOWN))))


def _ask(console: Console, answers: TextIO) -> str:
    """Return `pass`, `fail`, `skip` or `quit`; the end of the input quits."""
    from rich.text import Text

    while True:
        console.print(Text("Is the output good? p pass, f fail, s skip, q quit: "), end="")
        line = answers.readline()
        word = line.strip().lower()
        if not line or word in ("q", "quit"):
            return "quit"
        if word in ("s", "skip"):
            return "skip"
        if word in _KEYS:
            return "pass" if _KEYS[word] else "fail"
