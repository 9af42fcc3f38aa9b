"""Answers from a recording: the `samples.jsonl` of an earlier run instead of a model.

Every run writes such a file. `recorded/PATH` as a contract's model replays the file at PATH from
the repository root; a ReplayClient with a fixed path answers for any model (`--replay FILE`). A
sample is found by its request (messages and parameters) and its repetition, so a prompt that was
changed since has no recording, and the error says so.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gatekeeper.contract.files.references import recording_path
from gatekeeper.contract.meaning.digests import request_digest
from gatekeeper.contract.values.change import Revision
from gatekeeper.contract.values.trial import Completion, Outcome, Request
from gatekeeper.errors import CallFailed, NotRecorded
from gatekeeper.sampling.completion_record import read_answer_row, read_field

PREFIX = "recorded/"

Answered = tuple[str, int]
"""What a recording answers: a request by its digest, and a repetition."""

Reader = Callable[[str], bytes]


@dataclass(frozen=True, slots=True)
class _Recorded:
    completion: Completion | None
    error: str | None
    cut_at: int | None = None
    """The length in characters of an answer of which only the beginning was kept."""


# By request and repetition, then by the model that was asked. An answer of a conversation or a
# chain is also found by the digest of the whole before its own: others may begin with the same
# request and go on from another answer.
_Recording = Mapping[Answered, Mapping[str, _Recorded]]


class ReplayClient:
    """Replays recordings. `read` takes a path from the repository root.

    With `path` every request is answered from that file, by the model it was recorded from;
    without, the request's model names the file: `recorded/PATH`.
    """

    def __init__(self, read: Reader, path: str | None = None) -> None:
        self._read = read
        self._path = path
        self._recordings: dict[str, _Recording] = {}

    async def complete(self, request: Request) -> Completion:
        path = self._path or request.model.removeprefix(PREFIX)
        if path not in self._recordings:
            self._recordings[path] = _parse(path, self._content(path))
        key = request_digest(request), request.repetition
        part = _part(*(request.whole or ("", 0)), key[0]), key[1]
        by_model = self._recordings[path].get(part) or self._recordings[path].get(key)
        if by_model is None:
            raise NotRecorded(_not_recorded(self._recordings[path], key, path), path)
        recorded = self._choose(by_model, request.model, path)
        if recorded.cut_at is not None:
            raise NotRecorded(
                f"{path} holds only the first {recorded.cut_at:,} characters of this "
                "answer, and gatekeeper cannot evaluate a part of an answer",
                path,
            )
        if recorded.completion is None:
            raise CallFailed(
                f"this call failed when {path} was recorded: {recorded.error or 'no reason given'}"
            )
        return recorded.completion

    async def aclose(self) -> None:
        self._recordings.clear()

    def _choose(self, by_model: Mapping[str, _Recorded], model: str, path: str) -> _Recorded:
        if model in by_model:
            return by_model[model]
        if self._path is not None:
            others = ", ".join(sorted(by_model))
            raise NotRecorded(
                f"the request is not recorded in {path} for {model}, only for {others}", path
            )
        if len(by_model) > 1:
            raise CallFailed(
                f"{path} has answers of several models "
                f"({', '.join(sorted(by_model))}) to the same request; keep only the "
                "lines of one model, or replay the whole run with --replay",
                fatal=True,
                author=True,
            )
        return next(iter(by_model.values()))

    def _content(self, path: str) -> str:
        try:
            return self._read(path).decode("utf-8")
        except FileNotFoundError:
            reason = (
                "the file does not exist; to get a recording, run a contract and use the "
                "samples.jsonl of that run"
            )
        except OSError as error:
            reason = f"the file cannot be read: {error.strerror or error}"
        except UnicodeDecodeError:
            reason = "the file is not UTF-8 text"
        raise CallFailed(f"recording {path}: {reason}", fatal=True, author=True)


def answered_in(path: str, content: bytes) -> frozenset[Answered]:
    """Return the recording's answers. Raises CallFailed if it is not a recording."""
    recording = _parse(path, content.decode("utf-8"))
    return frozenset(
        key
        for key, by_model in recording.items()
        if any(recorded.completion is not None for recorded in by_model.values())
    )


def _not_recorded(recording: _Recording, key: tuple[str, int], path: str) -> str:
    digest, repetition = key
    repetitions = sum(recorded == digest for recorded, _ in recording)
    if repetitions:
        found = (
            f"the file has {repetitions} samples of this request, but not sample number "
            f"{repetition + 1}"
        )
    else:
        found = "no sample has these messages and parameters"
    return f"the request is not recorded in {path}: {found}"


def _parse(path: str, content: str) -> _Recording:
    recording: dict[tuple[str, int], dict[str, _Recorded]] = {}
    for number, line in enumerate(content.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            found = [_entry(row), *map(_entry, row.get("judge_answers", ()))]
            found += map(_entry, row.get("users", ()))
            turns = enumerate(row.get("turns", ()))
            found += [_entry(each) for place in turns for each in _of_row(*place, row)]
        except (
            AttributeError,
            ValueError,
            TypeError,
            KeyError,
            OverflowError,
            RecursionError,
        ) as error:
            wrong = f"no {error}" if isinstance(error, KeyError) else str(error)
            raise CallFailed(
                f"recording {path}:{number}: not a line of samples.jsonl ({wrong}); "
                "remove the line, or record the answers again",
                fatal=True,
                author=True,
            ) from error
        for key, model, recorded in found:
            known = recording.setdefault(key, {}).get(model)
            # Two fixtures may ask the same: the first answer stands for both, a failure for none.
            if known is None or known.completion is None:
                recording[key][model] = recorded
    return recording


def _entry(row: Mapping[str, Any]) -> tuple[Answered, str, _Recorded]:
    """Read an answer of a model or a judge, with its request and its model."""
    key = read_field(row, "request"), int(row["repetition"])
    return key, read_field(row, "model"), _recorded(row)


def _of_row(
    number: int, turn: Mapping[str, Any], row: Mapping[str, Any]
) -> Iterator[Mapping[str, Any]]:
    """Yield a turn of a conversation or a chain as a line of its own, by its request alone and as a
    part of the whole."""
    alone = {**turn, "repetition": row["repetition"], "model": row["model"]}
    part = _part(read_field(row, "request"), number, read_field(turn, "request"))
    yield from (alone, {**alone, "request": part})


def _part(whole: str, number: int, request: str) -> str:
    return f"{whole} {number} {request}"


def _recorded(row: Mapping[str, Any]) -> _Recorded:
    error = None if row.get("error") is None else read_field(row, "error")
    completion = read_answer_row(row)
    if completion is not None and completion.cut is not None:
        return _Recorded(None, None, completion.cut.length)
    return _Recorded(completion, error)


# Answers from recordings that a pull request brings: text that its author wrote or recorded, and
# that no run of this repository has measured.


def unmeasured_notices(outcomes: Iterable[Outcome], base: Revision, head: Revision) -> list[str]:
    """Name each recording that head adds or changes, with how many answers of the outcomes are
    not in it at base. An answer that base has recorded is base's."""
    used: dict[str, set[Answered]] = defaultdict(set)
    for outcome in outcomes:
        request = outcome.sample.trial.request
        path = recording_path(request.model)
        if path is not None and outcome.sample.completion is not None:
            digest = request_digest(request)
            used[path].add((digest, request.repetition))
    return [
        _notice(path, count)
        for path, answers in sorted(used.items())
        if not _is_known(path, base, head) and (count := len(answers - _recorded_in(base, path)))
    ]


def _is_known(path: str, base: Revision, head: Revision) -> bool:
    """Return whether base has the same bytes, under any name."""
    entry = head.entries.get(path)
    if entry is None or entry == base.entries.get(path):
        return True
    return entry in base.entries.values()


def _recorded_in(revision: Revision, path: str) -> frozenset[Answered]:
    entry = revision.entries.get(path)
    if entry is None or entry.kind != "file":
        return frozenset()
    return answered_in(path, revision.read(path))


def _notice(path: str, count: int) -> str:
    answers = "1 answer" if count == 1 else f"{count:,} answers"
    return (
        f"The result uses {answers} that this change adds to the recording {path}. Gatekeeper did "
        "not call a model for this part of the result. To get real answers, run the model instead "
        "of the recording."
    )
