"""Lets a person label outputs: on a page in a browser, without a server, or at a terminal."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TextIO

from gatekeeper.errors import UsageError
from gatekeeper.gate.calibration.labels import Label, LabelTask, label_document
from gatekeeper.reports.escape import clip, log_text, plain
from gatekeeper.reports.formats.result_json import picked
from gatekeeper.reports.html.page import asset, page, render_template
from gatekeeper.reports.terminal.console import log_console

if TYPE_CHECKING:
    from rich.console import Console


def label_page(contract: str, tasks: Sequence[LabelTask], annotator: str, check: str | None) -> str:
    """Return the page. It loads nothing, keeps the verdicts in the browser, and gives them as a
    `labels.jsonl` to save."""
    data = {
        "contract": contract,
        "annotator": annotator,
        "check": check,
        "tasks": [picked(task, "fixture input expected output") for task in tasks],
    }
    # In Base64, no output can end the element that holds it.
    packed = base64.b64encode(json.dumps(data).encode()).decode()
    title = f"Label outputs of {contract}"
    return page(title, render_template("label", title=title, data=packed), asset("label.js"))


_KEYS = {"p": True, "pass": True, "f": False, "fail": False}
_QUESTION = (
    "Is the output good? p = pass, f = fail, p 0.8 = pass with a score, s = skip, q = quit: "
)
_SHOWN = 20_000
_WIDTH = 80
"""The columns of the line above each output; a console that is no terminal has no width."""


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
                given_answer = _ask(console, answers)
                if given_answer == "quit":
                    break
                if given_answer == "skip":
                    continue
                verdict, score = given_answer
                label = Label(task.fixture, task.output, verdict, annotator, check, score)
                kept.write(json.dumps(label_document(label), ensure_ascii=True) + "\n")
                kept.flush()
                given += 1
    except OSError as error:
        raise UsageError(f"{file}: cannot be written ({error})") from None
    return given


def _show(console: Console, task: LabelTask, place: str) -> None:
    from rich.rule import Rule
    from rich.text import Text

    heading = Text(f"{place} · {clip(plain(task.fixture), _WIDTH)}")
    console.print(Rule(heading), width=min(console.width, _WIDTH))
    for title, text in (
        ("Input", task.input),
        ("Expected", task.expected),
        ("Output", task.output or "(empty)"),
    ):
        if text is not None:
            console.print(Text(title, "bold"))
            console.print(Text(log_text(clip(text, _SHOWN))))


def _ask(console: Console, answers: TextIO) -> tuple[bool, float | None] | Literal["skip", "quit"]:
    """Return the verdict with its score, if the person gives one; the end of the input quits."""
    from rich.text import Text

    while True:
        console.print(Text(_QUESTION), end="")
        line = answers.readline()
        word, _, score = line.strip().lower().partition(" ")
        if not line or word in ("q", "quit"):
            return "quit"
        if word in ("s", "skip"):
            return "skip"
        if word in _KEYS and not score:
            return _KEYS[word], None
        found = _score(score)
        if word in _KEYS and found is not None:
            return _KEYS[word], found


def _score(text: str) -> float | None:
    """Return a score from 0 to 1; None for any other text."""
    try:
        score = float(text)
    except ValueError:
        return None
    return score if 0 <= score <= 1 else None
