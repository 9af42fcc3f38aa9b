"""Reads a run's `samples.jsonl` as evaluated samples, with the data of its `result.json`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gatekeeper.contract.meaning.schemas import LEAST_WEIGHT, MOST_WEIGHT
from gatekeeper.contract.values.definition import Message
from gatekeeper.contract.values.trial import (
    CheckResult,
    JudgeAnswer,
    Outcome,
    QuestionId,
    Request,
    Sample,
    Trial,
    Vote,
)
from gatekeeper.errors import UsageError
from gatekeeper.reports.redact import environment_redactor
from gatekeeper.sampling.completion_record import read_answer_row, read_field, read_number

_ADVICE = "give the folder of a run's reports, or the `samples.jsonl` in that folder"


@dataclass(frozen=True, slots=True)
class SavedRun:
    """The evaluated samples of a run, their commit, and each contract's prompt file."""

    outcomes: tuple[Outcome, ...]
    sha: str | None
    prompts: Mapping[str, str]


def find_samples(path: Path) -> Path | None:
    """Return the file of samples for the path: the path itself, or a file next to it or in it; None
    if there is none."""
    candidates = (path,) if path.suffix == ".jsonl" else (path / _NAME, path.parent / _NAME)
    if path.is_dir():
        candidates = (path / _NAME,)
    return next((c for c in candidates if path.exists() and c.is_file()), None)


_NAME = "samples.jsonl"


def read_run(path: Path) -> SavedRun:
    """Read the run, without the secrets of this process's environment: an older version of
    gatekeeper may have left them in its files. Raises UsageError that names the file, the line and
    the mistake."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: cannot be read ({error}); {_ADVICE}") from None
    outcomes = [
        _outcome(line, f"{path}:{number}")
        for number, line in enumerate(text.split("\n"), start=1)
        if line.strip()
    ]
    if not outcomes:
        raise UsageError(f"{path}: holds no sample; {_ADVICE}")
    # Fresh samples were taken of the worst fixtures, so they are no evidence of the others.
    planned = tuple(outcome for outcome in outcomes if not outcome.sample.trial.confirms)
    found = SavedRun(planned, *_described(path.with_name("result.json")))
    return environment_redactor().value(found)


def _outcome(line: str, place: str) -> Outcome:
    try:
        row = json.loads(line)
        trial = Trial(
            contract=read_field(row, "contract"),
            fixture=read_field(row, "fixture"),
            arm=row["arm"],
            repetition=int(row["repetition"]),
            # Two samples with the same input must be recognised; the input itself is not kept.
            request=Request(
                read_field(row, "model"),
                (Message("user", read_field(row, "request")),),
                {},
                None,
                0,
            ),
            contract_from=row["contract_from"],
            cluster=None if row.get("cluster") is None else read_field(row, "cluster"),
            confirms=row.get("confirms") is True,
        )
        checks = tuple(
            CheckResult(
                read_field(c, "check"),
                _passed(c),
                read_field(c, "message"),
                c["severity"],
                _share(c, "score"),
                tuple(map(_vote, c.get("votes", ()))),
                _weight(c),
                c.get("must_pass") is True,
                None if c.get("step") is None else read_field(c, "step"),
            )
            for c in row["checks"]
        )
        pass_score = _share(row, "pass_score")
        sample = Sample(
            trial,
            read_answer_row(row),
            error=row.get("error"),
            output=row["output"] or "",
            repairs=tuple(row["repairs"]),
            judge_answers=tuple(map(_judge_answer, row.get("judge_answers", ()))),
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        what = f"no {error}" if isinstance(error, KeyError) else str(error)
        raise UsageError(f"{place}: not a line of samples.jsonl ({what}); {_ADVICE}") from None
    return Outcome(sample, checks, pass_score)


def _vote(row: Mapping[str, Any]) -> Vote:
    score, reason = _share(row, "score"), read_field(row, "reason")
    return Vote(read_field(row, "model"), _passed(row), score, reason, read_field(row, "verdict"))


def _judge_answer(row: Mapping[str, Any]) -> JudgeAnswer:
    asked = QuestionId(read_field(row, "model"), read_field(row, "request"), int(row["repetition"]))
    return JudgeAnswer(asked, read_answer_row(row), row.get("error"))


def _described(path: Path) -> tuple[str | None, Mapping[str, str]]:
    """Return the commit and the prompts of the result next to the file, if there is one."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        prompts = {
            contract["name"]: contract["head"]["prompt"]
            for contract in document["contracts"]
            if contract["head"]
        }
        return document["head"]["sha"], prompts
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None, {}


def _passed(row: Mapping[str, Any]) -> bool | None:
    value = row["passed"]
    if value not in (True, False, None):
        raise TypeError("`passed` must be true, false or null")
    return None if value is None else bool(value)


def _share(row: Mapping[str, Any], key: str) -> float | None:
    value = read_number(row, key)
    if value is not None and not 0 <= value <= 1:
        raise TypeError(f"`{key}` must be from 0 to 1")
    return value


def _weight(row: Mapping[str, Any]) -> float:
    value = read_number(row, "weight")
    if value is None:
        return 1.0
    if not LEAST_WEIGHT <= value <= MOST_WEIGHT:
        raise TypeError(f"`weight` must be from {LEAST_WEIGHT} to {MOST_WEIGHT}")
    return value
