"""Reads a run's `samples.jsonl` as evaluated samples, with the data of its `result.json`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gatekeeper.contract.meaning.check_keys import LEAST_WEIGHT, MOST_WEIGHT
from gatekeeper.contract.values.definition import Message
from gatekeeper.contract.values.trial import (
    CheckResult,
    Completion,
    CutText,
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
from gatekeeper.sampling.completion_record import read_tool_calls

_ADVICE = "give the folder of a run's reports, or the `samples.jsonl` in that folder"
_LARGEST = 1e15
"""Of a cost, a latency or a score."""


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
            contract=_text(row, "contract"),
            fixture=_text(row, "fixture"),
            arm=row["arm"],
            repetition=int(row["repetition"]),
            # Two samples with the same input must be recognised; the input itself is not kept.
            request=Request(
                _text(row, "model"), (Message("user", _text(row, "request")),), {}, None, 0
            ),
            contract_from=row["contract_from"],
            cluster=None if row.get("cluster") is None else _text(row, "cluster"),
            confirms=row.get("confirms") is True,
        )
        checks = tuple(
            CheckResult(
                _text(c, "check"),
                _passed(c),
                _text(c, "message"),
                c["severity"],
                _share(c, "score"),
                tuple(map(_vote, c.get("votes", ()))),
                _weight(c),
                c.get("must_pass") is True,
                None if c.get("step") is None else _text(c, "step"),
            )
            for c in row["checks"]
        )
        pass_score = _share(row, "pass_score")
        completion = None if row["output_raw"] is None else _completion(row)
        sample = Sample(
            trial,
            completion,
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
    score, reason = _share(row, "score"), _text(row, "reason")
    return Vote(_text(row, "model"), _passed(row), score, reason, _text(row, "verdict"))


def _judge_answer(row: Mapping[str, Any]) -> JudgeAnswer:
    asked = QuestionId(_text(row, "model"), _text(row, "request"), int(row["repetition"]))
    completion = None if row["output_raw"] is None else _completion(row)
    return JudgeAnswer(asked, completion, row.get("error"))


def _completion(row: Mapping[str, Any]) -> Completion:
    return Completion(
        text=_text(row, "output_raw"),
        latency_ms=_number(row, "latency_ms"),
        prompt_tokens=row.get("prompt_tokens"),
        completion_tokens=row.get("completion_tokens"),
        cost_usd=_number(row, "cost_usd"),
        replayed=True,
        fingerprint=row.get("fingerprint"),
        finish_reason=row.get("finish_reason"),
        cut=_cut(row),
        ttft_ms=_number(row, "ttft_ms"),
        reasoning_tokens=row.get("reasoning_tokens"),
        tool_calls=read_tool_calls(row.get("tool_calls", [])),
    )


def _cut(row: Mapping[str, Any]) -> CutText | None:
    """Return the length and digest of an answer of which the row has only the beginning; else
    None."""
    if row.get("output_sha256") is None:
        return None
    return CutText(int(row["output_length"]), _text(row, "output_sha256"))


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


def _text(row: Mapping[str, Any], key: str) -> str:
    value = row[key]
    if not isinstance(value, str):
        raise TypeError(f"{key} is not text")
    return value


def _passed(row: Mapping[str, Any]) -> bool | None:
    value = row["passed"]
    if value not in (True, False, None):
        raise TypeError("`passed` must be true, false or null")
    return None if value is None else bool(value)


def _share(row: Mapping[str, Any], key: str) -> float | None:
    value = _number(row, key)
    if value is not None and not 0 <= value <= 1:
        raise TypeError(f"`{key}` must be from 0 to 1")
    return value


def _weight(row: Mapping[str, Any]) -> float:
    value = _number(row, "weight")
    if value is None:
        return 1.0
    if not LEAST_WEIGHT <= value <= MOST_WEIGHT:
        raise TypeError(f"`weight` must be from {LEAST_WEIGHT} to {MOST_WEIGHT}")
    return value


def _number(row: Mapping[str, Any], key: str) -> float | None:
    value = row.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{key} is not a number")
    if not abs(value) <= _LARGEST:
        raise ValueError(f"`{key}` must be a number up to {_LARGEST:g}")
    return float(value)
